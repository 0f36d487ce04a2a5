/**
 * Rehearsals: a past span played again on the creator's overlays. Invariants:
 *
 * - A rehearsal changes its own two tables and nothing else: no status, no total, no history, and no event of a real
 *   creator. Apps never see one, and their sequences have no gaps. Of a sandbox creator each alert is also appended to the
 *   log as `alert.replayed`, in the write that plays it.
 * - A creator has one at a time. The row decides: one conditional write starts, takes, steps and ends it, so no alert is
 *   played after a stop has committed.
 * - One node plays it (worker.ts) and renews its lease. When the lease has run out any node marks the rehearsal as ended.
 * - Each node reads what was played from the database for its overlay connections (viewers.ts), in order, whichever node
 *   plays it.
 * - A tip is shown as it is now: one that was voided or erased since is not shown, or without its words.
 */
import { setNewest } from '../../platform/lru-map.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Accounts } from '../accounts/index.ts';
import type { Evening } from '../tips/index.ts';
import * as repo from './repo.ts';
import { longestMs, maxAlerts, maxSandboxAlerts, oldestMs, type Span, type SpanProblem, spanProblem } from './span.ts';
import { progressTopic, rehearsalTopic, waitingTopic } from './topics.ts';
import { createViewers, type ViewersParts } from './viewers.ts';

export interface RehearsalsParts
  extends ViewersParts,
    Pick<Platform, 'db' | 'hub' | 'clock' | 'newId' | 'log' | 'limiter'> {
  readonly accounts: Pick<Accounts, 'sandboxOf'>;
}

export type Rehearsals = ReturnType<typeof createRehearsals>;

/** A rehearsal that no node has begun to play after this time is over. */
const waitingMs = 15_000;
const silenceMs = 3 * 3_600_000;
const maxEvenings = 7;
/** Evenings are looked for once in this time, and those of so many creators are remembered. */
const eveningsMs = 30_000;
const maxRemembered = 500;

/** The alerts that all sandbox creators of a developer may rehearse: by what they cost, not by the rehearsal. */
const sandboxLimit = { limit: 5_000, windowMs: 10 * 60_000 };

export type StartProblem = SpanProblem | 'none' | 'too_many' | 'too_many_sandbox' | 'too_often' | 'another';

export function createRehearsals({
  db,
  hub,
  clock,
  newId,
  log,
  limiter,
  tips,
  accounts,
  encodeFrame,
}: RehearsalsParts) {
  const remembered = new Map<string, { readonly at: number; readonly evenings: Promise<Evening[]> }>();

  function announce(creatorId: string): void {
    hub.publish(rehearsalTopic(creatorId), '');
    hub.publish(progressTopic(creatorId), '');
  }

  return {
    viewers: createViewers({ db, hub, log, tips, encodeFrame }),
    announce,
    current: (creatorId: string) => repo.rehearsalOf(db, creatorId),

    /** Stretches of alerts of the last 30 days, the newest first. */
    async evenings(creatorId: string): Promise<Evening[]> {
      const now = clock();
      const known = remembered.get(creatorId);
      if (known && now - known.at < eveningsMs && now >= known.at) return known.evenings;
      const options = { since: now - oldestMs, before: now, silenceMs, longestMs, limit: maxEvenings };
      const evenings = tips.evenings(creatorId, options);
      setNewest(remembered, creatorId, { at: now, evenings }, maxRemembered);
      evenings.catch(() => remembered.delete(creatorId));
      return evenings;
    },

    /** Asks the nodes to play a span. `pace` is a whole number from 1 to 100. */
    async start(creatorId: string, span: Span, pace: number): Promise<repo.NewRehearsal | StartProblem> {
      const now = clock();
      const problem = spanProblem(span, now);
      if (problem) return problem;
      const total = await tips.countShowable(creatorId, span, maxAlerts + 1);
      if (total === 0) return 'none';
      if (total > maxAlerts) return 'too_many';
      const developerId = await accounts.sandboxOf(creatorId);
      if (developerId !== null) {
        if (total > maxSandboxAlerts) return 'too_many_sandbox';
        if (!(await limiter.take(`rehearsal-events:${developerId}`, sandboxLimit, total)).allowed) return 'too_often';
      }
      const id = newId('rhs');
      const row = { creator_id: creatorId, id, from_at: span.from, to_at: span.to, pace, total, created_at: now };
      if (!(await db.write(repo.writes.insertRehearsal, row, now + waitingMs))) return 'another';
      hub.publish(waitingTopic, creatorId);
      announce(creatorId);
      return row;
    },

    /** The rehearsals of all creators that are not over. Those whose lease has run out are ended first. */
    async active(): Promise<repo.RehearsalRow[]> {
      const now = clock();
      const rows = await repo.activeRehearsals(db);
      const expired = rows.filter(({ lease_until }) => lease_until < now);
      if (expired.length > 0) for (const creatorId of await db.write(repo.writes.endExpired, now)) announce(creatorId);
      return rows.filter((row) => !expired.includes(row));
    },

    /** Returns whether there was one to stop. */
    async stop(creatorId: string): Promise<boolean> {
      const row = await repo.rehearsalOf(db, creatorId);
      if (!row || repo.isOver(row)) return false;
      const stopped = await db.write(repo.writes.end, { creatorId, id: row.id, nodeId: null }, 'stopped', clock());
      announce(creatorId);
      return stopped;
    },
  };
}
