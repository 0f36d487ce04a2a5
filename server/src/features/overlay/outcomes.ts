/**
 * The outcome of an alert after its event is in the log. Invariants:
 *
 * - An alert is `queued` until a page acknowledges its outcome. Every other status is final: one conditional update
 *   decides which acknowledgement counts, and the event that reports the outcome commits with it.
 * - The position of each page (an instance) and of the overlay as a whole are stored and never go back.
 * - A page resumes after its own position. A page without one resumes after the overlay's position. No page resumes
 *   before the creator's age limit.
 * - Queued alerts beyond the age limit expire when a page begins while no other is open. An open page may still have
 *   them in its queue and show them, so they must not get the final status `expired` before.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { ApiError } from '../../errors.ts';
import { StorageUnavailable } from '../../platform/db/database.ts';
import type { Platform } from '../../platform/platform.ts';
import type { EventLog, ScreenedAlert, SkipReason } from '../events/index.ts';
import { nameKey } from '../screening/index.ts';
import type { Tips } from '../tips/index.ts';
import type { Outcome } from './browser/protocol.ts';
import * as repo from './outcome-repo.ts';
import type { OverlayRow } from './repo.ts';
import { ageLimit, readSettings } from './settings.ts';

export interface OutcomesParts extends Pick<Platform, 'db' | 'clock'> {
  readonly events: EventLog;
  readonly tips: Tips;
  readonly row: (creatorId: string) => Promise<OverlayRow>;
  readonly connected: (creatorId: string) => Promise<number>;
  /** What is playing may have changed. */
  readonly onPlaying: (creatorId: string) => void;
}

/** What a page did with the event of this sequence. */
export interface Acknowledgement {
  readonly sequence: number;
  readonly outcome: Outcome;
  /** How long a shown alert stays on the screen. */
  readonly ms?: number | undefined;
}

const expiryStepMs = 60_000;
/** Tips in one write: others write between two of them. A first overlay may find years of tips. */
const expiryBatch = 500;

/** Alerts that one write settles, each by several statements: others write between two writes, and each has its time. */
const settledAtOnce = 10;

/** A tip that nobody approved or rejected for so long is skipped. */
const maxHeldMs = 24 * 3_600_000;
const heldBatch = 100;

export function createOutcomes({ db, events, tips, clock, row, connected, onPlaying }: OutcomesParts) {
  /** The latest acknowledgement of each overlay that is in progress. */
  const acknowledging = new Map<string, Promise<void>>();

  async function eventAt(creatorId: string, sequence: number) {
    const [event] = await events.after(creatorId, sequence - 1, 1);
    return event?.sequence === sequence ? { ...JSON.parse(event.body), screened: event.screened } : undefined;
  }

  function announce(creatorId: string, sequence: number | null): void {
    if (sequence !== null) events.announce(creatorId, sequence);
  }

  async function queuedAlerts(creatorId: string, rows: readonly repo.AcknowledgedRow[]): Promise<QueuedAlert[]> {
    const alerts = rows.flatMap(toAlert);
    const tests = alerts.flatMap(({ alertId }) => alertId ?? []);
    const approved = alerts.flatMap(({ tipId, approved }) => (approved && tipId) || []);
    const [settled, queued] = await Promise.all([
      repo.settledTestAlerts(db, creatorId, tests),
      repo.stillQueued(db, creatorId, approved),
    ]);
    return alerts.filter(({ alertId, tipId, approved }) =>
      alertId === null ? !approved || queued.has(tipId ?? '') : !settled.has(alertId),
    );
  }

  /** Reads a short span first, so that a page that begins again and again does not write each time. */
  const mustExpire = async (creatorId: string, from: number, before: number): Promise<boolean> =>
    before - from > expiryStepMs || (before > from && (await tips.anyQueued(creatorId, from, before)));

  function outcomeOf(
    creatorId: string,
    { tipId, alertId }: Pick<repo.AlertOutcome, 'tipId' | 'alertId'>,
    outcome: 'shown' | 'expired' | SkipReason,
  ): repo.AlertOutcome {
    const from = outcome === 'rejected' || outcome === 'held_too_long' ? 'held' : 'queued';
    if (outcome === 'expired') return { tipId, alertId, from, status: outcome, reason: null, event: null };
    const type = outcome === 'shown' ? 'alert.shown' : 'alert.skipped';
    const event = events.prepare({ creatorId, type, subjectId: tipId ?? alertId ?? undefined });
    return outcome === 'shown'
      ? { tipId, alertId, from, status: outcome, reason: null, event }
      : { tipId, alertId, from, status: 'skipped', reason: outcome, event };
  }

  /** Skips the alert of a tip. Returns whether it was still waiting. */
  async function skipFor(creatorId: string, tipId: string, reason: SkipReason): Promise<boolean> {
    const skipped = outcomeOf(creatorId, { tipId, alertId: null }, reason);
    const sequence = await db.write(repo.writes.recordOutcomes, creatorId, [skipped], clock());
    announce(creatorId, sequence);
    return sequence !== null;
  }

  /** The creator replays the alert of a tip. Held, rejected, blocked and voided tips are not replayed. */
  async function replayTip(creatorId: string, tipId: string): Promise<void> {
    const event = events.prepare({ creatorId, type: 'alert.replayed', replay: true, subjectId: tipId });
    const sequence = await db.write(repo.writes.replay, event, tipId);
    if (sequence === null) throw new ApiError('not_found', { message: 'The alert of this tip is not shown.' });
    announce(creatorId, sequence);
  }

  async function acknowledgeNow(creatorId: string, instance: string, acks: readonly Acknowledgement[]): Promise<void> {
    const reported = new Map(acks.toReversed().map(({ sequence, outcome }) => [sequence, outcome]));
    const known = await repo.eventsToAcknowledge(db, creatorId, [...reported.keys()]);
    const newest = known.at(-1)?.sequence;
    if (newest === undefined) return;
    const [overlay, page, queued] = await Promise.all([
      row(creatorId),
      repo.instancePosition(db, creatorId, instance),
      queuedAlerts(creatorId, known),
    ]);
    const { minimumMinor, seconds } = readSettings(overlay.settings);
    const alertOutcomes = queued.flatMap(({ sequence, amountMinor, ...subject }) => {
      const outcome = reported.get(sequence);
      const isValid = outcome !== 'below_minimum' || amountMinor < minimumMinor;
      return outcome && outcome !== 'dropped' && isValid ? [outcomeOf(creatorId, subject, outcome)] : [];
    });
    const advances = newest > Math.min(page?.sequence ?? 0, overlay.last_sequence);
    if (!advances && alertOutcomes.length === 0) return;
    const now = clock();
    const shown = acks.findLast(({ outcome }) => outcome === 'shown');
    const playing = shown ? { sequence: shown.sequence, until: now + (shown.ms ?? seconds * 1000) } : null;
    const { recordOutcomes, acknowledge } = repo.writes;
    while (alertOutcomes.length > settledAtOnce)
      announce(creatorId, await db.write(recordOutcomes, creatorId, alertOutcomes.splice(0, settledAtOnce), now));
    announce(creatorId, await db.write(acknowledge, creatorId, instance, newest, alertOutcomes, playing, now));
    onPlaying(creatorId);
  }

  return {
    /**
     * Returns the position where a page resumes. `reported` is the position that the page itself has saved. Positions
     * beyond the head are ignored: the database was restored from a backup. Expires queued alerts that are too old, unless
     * another page is open.
     */
    async begin(creatorId: string, instance: string, reported: number | undefined): Promise<number> {
      const overlay = await row(creatorId);
      const before = ageLimit(overlay, clock());
      const [own, tooOld, oldest, head, open] = await Promise.all([
        repo.instancePosition(db, creatorId, instance),
        tips.newestBefore(creatorId, before),
        events.oldest(creatorId),
        events.head(creatorId),
        connected(creatorId),
      ]);
      if (open === 0 && (await mustExpire(creatorId, overlay.expired_until, before)))
        for (let from = overlay.expired_until; from < before; )
          from = await db.write(repo.writes.expire, creatorId, from, before, expiryBatch, clock());
      const known = [own?.sequence, reported].filter((at) => at !== undefined && at <= (head?.sequence ?? 0));
      const last = known.length > 0 ? Math.max(...known.map(Number)) : overlay.last_sequence;
      return Math.max(last, tooOld, (oldest ?? 1) - 1);
    },

    /** Tips that a page must not show, although it may receive their events. */
    async skipped(creatorId: string): Promise<string[]> {
      return tips.skippedSince(creatorId, ageLimit(await row(creatorId), clock()));
    },

    /** Tips that a page must not even show again: voided, or without words. */
    async voided(creatorId: string): Promise<string[]> {
      return tips.takenBackSince(creatorId, ageLimit(await row(creatorId), clock()));
    },

    /**
     * Records the outcomes that a page reports; of two outcomes of one alert, the first counts. Unknown and pruned
     * sequences are ignored. So is `below_minimum` for an amount that is not below the creator's minimum, because apps
     * receive that reason. Reads decide whether there is anything to write, so that a page that repeats what is stored
     * does not keep the database busy. Requests of one overlay run in sequence: in parallel, each would find the alerts
     * queued and write. If storage fails, those that wait fail with it, so that none waits for several deadlines.
     */
    async acknowledge(creatorId: string, instance: string, acks: readonly Acknowledgement[]): Promise<void> {
      // Each in an iteration of its own: on SQLite a request whose alerts are all settled yields to nobody.
      const before = acknowledging
        .get(creatorId)
        ?.catch(unlessStorageFailed)
        .then(() => nextIteration());
      const own = Promise.resolve(before).then(() => acknowledgeNow(creatorId, instance, acks));
      acknowledging.set(creatorId, own);
      try {
        await own;
      } finally {
        if (acknowledging.get(creatorId) === own) acknowledging.delete(creatorId);
      }
    },

    /** The creator skips an alert. Returns whether it was still queued. */
    skip: (creatorId: string, tipId: string): Promise<boolean> => skipFor(creatorId, tipId, 'by_creator'),

    /** A held tip is shown now. Returns whether it was still held. */
    async approve(creatorId: string, tipId: string): Promise<boolean> {
      const event = events.prepare({ creatorId, type: 'alert.approved', subjectId: tipId });
      const { display_name, name } = await tips.byId(creatorId, tipId);
      const sequence = await db.write(repo.writes.approve, event, tipId, nameKey(display_name ?? name));
      announce(creatorId, sequence);
      return sequence !== null;
    },

    /** A held tip is never shown. Returns whether it was still held. */
    reject: (creatorId: string, tipId: string): Promise<boolean> => skipFor(creatorId, tipId, 'rejected'),

    /** Skips the tips that nobody approved or rejected in time. */
    async skipHeld(): Promise<void> {
      for (let more = true; more; ) {
        const held = await tips.heldBefore(clock() - maxHeldMs, heldBatch);
        for (const { creator_id, id } of held) await skipFor(creator_id, id, 'held_too_long');
        more = held.length === heldBatch;
      }
    },

    /** The creator replays the alert of this event. No status changes. */
    async replay(creatorId: string, sequence: number): Promise<void> {
      const event = await eventAt(creatorId, sequence);
      if (event?.type !== 'tip.created' && event?.type !== 'alert.test') throw new ApiError('not_found');
      if (event.data.tip) return replayTip(creatorId, event.data.tip.id);
      const screened: ScreenedAlert | null = JSON.parse(event.screened ?? 'null');
      if (screened?.held) throw new ApiError('not_found', { message: 'This alert is not shown.' });
      const replayed = { creatorId, type: 'alert.replayed', test: event.test, replay: true, screened } as const;
      await events.append({ ...replayed, subjectId: event.data.alert.id }, event.data);
    },

    replayTip,
  };
}

function unlessStorageFailed(error: unknown): void {
  if (error instanceof StorageUnavailable) throw error;
}

/** An alert that is not settled. One of the two ids is set. */
interface QueuedAlert {
  readonly sequence: number;
  readonly tipId: string | null;
  readonly alertId: string | null;
  readonly amountMinor: number;
  /** The event is the approval of a tip that was held, and settles it. */
  readonly approved: boolean;
}

/** Empty for an event that is not an alert, and for a tip whose alert is settled or was approved by a later event. */
function toAlert({ sequence, body, ...row }: repo.AcknowledgedRow): QueuedAlert[] {
  if (body !== null) {
    const { alert, tip } = JSON.parse(body).data;
    if (tip) return [{ sequence, tipId: tip.id, alertId: null, amountMinor: tip.amount_minor, approved: true }];
    return [{ sequence, tipId: null, alertId: alert.id, amountMinor: alert.amount_minor, approved: false }];
  }
  const { tip_id: tipId, amount_minor: amountMinor, alert_status, approved_at } = row;
  if (tipId === null || amountMinor === null || alert_status !== 'queued' || approved_at !== null) return [];
  return [{ sequence, tipId, alertId: null, amountMinor, approved: false }];
}
