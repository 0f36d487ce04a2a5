import { ApiError } from '../../errors.ts';
import type { Platform } from '../../platform/platform.ts';
import type { EventLog } from '../events/index.ts';
import type { AlertStatus, Tips } from '../tips/index.ts';
import * as repo from './repo.ts';
import { readSettings } from './settings.ts';

/**
 * The outcome of an alert after its event is in the log.
 *
 * - An alert is `queued` until a page acknowledges its outcome. Every other status is final: one conditional update
 *   decides which acknowledgement counts, and the event that reports the outcome commits with it.
 * - The position of each page (an instance) and of the overlay as a whole are stored and never go back.
 * - A page resumes after its own position. A page without one resumes after the overlay's position. No page resumes
 *   before the creator's age limit.
 * - Queued alerts beyond the age limit expire when a page begins while no other is open. An open page may still have
 *   them in its queue and show them, so they must not get the final status `expired` before.
 */
export interface OutcomesParts extends Pick<Platform, 'db' | 'clock'> {
  readonly events: EventLog;
  readonly tips: Tips;
  readonly row: (creatorId: string) => Promise<repo.OverlayRow>;
  readonly connected: (creatorId: string) => Promise<number>;
}

export const outcomes = ['shown', 'below_minimum', 'expired', 'dropped'] as const;

/** What a page did with the event of this sequence. `dropped`: the alert had been skipped before. */
export interface Acknowledgement {
  readonly sequence: number;
  readonly outcome: (typeof outcomes)[number];
}

export interface RecentAlert {
  readonly sequence: number;
  readonly createdAt: string;
  readonly name: string;
  readonly amountMinor: number;
  /** Undefined for a test alert. */
  readonly tip: { readonly id: string; readonly status: AlertStatus } | undefined;
}

/** How many of the newest events are searched for alerts. */
const recentEvents = 100;

export function createOutcomes({ db, events, tips, clock, row, connected }: OutcomesParts) {
  const ageLimit = ({ settings }: repo.OverlayRow): number => clock() - readSettings(settings).maxAgeMinutes * 60_000;

  async function eventAt(creatorId: string, sequence: number) {
    const [event] = await events.after(creatorId, sequence - 1, 1);
    return event?.sequence === sequence ? JSON.parse(event.body) : undefined;
  }

  function announce(creatorId: string, sequence: number | null): void {
    if (sequence !== null) events.announce(creatorId, sequence);
  }

  /** The settlement of an acknowledgement; none for a dropped alert and for other events. */
  function settlementOf(creatorId: string, event: AlertEvent, outcome: Acknowledgement['outcome']) {
    const { tip, alert } = event.data;
    const settles = (event.type === 'tip.created' && tip) || (event.type === 'alert.test' && alert);
    if (!settles || outcome === 'dropped') return [];
    const subject = { tipId: tip?.id ?? null, alertId: alert?.id ?? null };
    return [settlement(creatorId, subject, outcome)];
  }

  function settlement(
    creatorId: string,
    subject: Pick<repo.Settlement, 'tipId' | 'alertId'>,
    outcome: 'shown' | 'expired' | NonNullable<repo.Settlement['reason']>,
  ): repo.Settlement {
    if (outcome === 'expired') return { ...subject, status: outcome, reason: null, event: null };
    const type = outcome === 'shown' ? 'alert.shown' : 'alert.skipped';
    const event = events.prepare({ creatorId, type });
    return outcome === 'shown'
      ? { ...subject, status: outcome, reason: null, event }
      : { ...subject, status: 'skipped', reason: outcome, event };
  }

  return {
    /**
     * Returns the position where a page resumes. `reported` is the position that the page itself has saved. Positions
     * beyond the head are ignored: the database was restored from a backup. Expires queued alerts that are too old, unless
     * another page is open.
     */
    async begin(creatorId: string, instance: string, reported: number | undefined): Promise<number> {
      const overlay = await row(creatorId);
      const before = ageLimit(overlay);
      const [own, tooOld, oldest, head, open] = await Promise.all([
        repo.instancePosition(db, creatorId, instance),
        tips.newestBefore(creatorId, before),
        events.oldest(creatorId),
        events.head(creatorId),
        connected(creatorId),
      ]);
      if (open === 0 && overlay.expired_until < before)
        await db.write(repo.writes.expire, creatorId, overlay.expired_until, before);
      const known = [own?.sequence, reported].filter((at) => at !== undefined && at <= (head?.sequence ?? 0));
      const last = known.length > 0 ? Math.max(...known.map(Number)) : overlay.last_sequence;
      return Math.max(last, tooOld, (oldest ?? 1) - 1);
    },

    /** Tips that a page must not show, although it may receive their events. */
    async skipped(creatorId: string): Promise<string[]> {
      return tips.skippedSince(creatorId, ageLimit(await row(creatorId)));
    },

    /**
     * Records the outcomes that a page reports. Unknown and pruned sequences are ignored. So is `below_minimum` for an
     * amount that is not below the creator's minimum, because apps receive that reason.
     */
    async acknowledge(creatorId: string, instance: string, acks: readonly Acknowledgement[]): Promise<void> {
      const found = await Promise.all(
        acks.map(async ({ sequence, outcome }) => ({ sequence, outcome, event: await eventAt(creatorId, sequence) })),
      );
      const known = found.filter(({ event }) => event).sort((a, b) => a.sequence - b.sequence);
      const newest = known.at(-1);
      if (!newest) return;
      const { minimumMinor } = readSettings((await row(creatorId)).settings);
      const valid = known.filter(({ event, outcome }) => outcome !== 'below_minimum' || amountOf(event) < minimumMinor);
      const settlements = valid.flatMap(({ event, outcome }) => settlementOf(creatorId, event, outcome));
      announce(
        creatorId,
        await db.write(repo.writes.acknowledge, creatorId, instance, newest.sequence, settlements, clock()),
      );
    },

    /** The creator skips an alert. Returns whether it was still queued. */
    async skip(creatorId: string, tipId: string): Promise<boolean> {
      const skipped = settlement(creatorId, { tipId, alertId: null }, 'by_creator');
      const sequence = await db.write(repo.writes.settle, creatorId, skipped, clock());
      announce(creatorId, sequence);
      return sequence !== null;
    },

    /** The creator replays the alert of this event. No status changes. */
    async replay(creatorId: string, sequence: number): Promise<void> {
      const event = await eventAt(creatorId, sequence);
      if (event?.type !== 'tip.created' && event?.type !== 'alert.test') throw new ApiError('not_found');
      const data = event.data.tip ? { tip: await tips.byId(creatorId, event.data.tip.id) } : event.data;
      await events.append({ creatorId, type: 'alert.replayed', test: event.test, replay: true }, data);
    },

    /** Newest first. */
    async recent(creatorId: string, limit: number): Promise<RecentAlert[]> {
      const head = await events.head(creatorId);
      const [stored, { tips: newest }] = await Promise.all([
        events.after(creatorId, Math.max(0, (head?.sequence ?? 0) - recentEvents), recentEvents),
        tips.page(creatorId, { from: null, to: null }, null, limit),
      ]);
      const statuses = new Map(newest.map(({ id, alert }) => [id, alert.status]));
      return stored
        .filter(({ type }) => type === 'tip.created' || type === 'alert.test')
        .slice(-limit)
        .reverse()
        .map(({ sequence, body }) => {
          const { created_at: createdAt, data } = JSON.parse(body);
          const { id, name, display_name, amount_minor: amountMinor } = data.tip ?? data.alert;
          const tip = data.tip && { id, status: statuses.get(id) ?? 'queued' };
          return { sequence, createdAt, name: display_name ?? name, amountMinor, tip };
        });
    },
  };
}

interface AlertEvent {
  readonly type: string;
  readonly data: { readonly tip?: AlertRecord; readonly alert?: AlertRecord };
}

interface AlertRecord {
  readonly id: string;
  readonly amount_minor: number;
}

/** Infinite for an event that is not an alert, so that it is never below the minimum. */
const amountOf = ({ data: { tip, alert } }: AlertEvent): number => (tip ?? alert)?.amount_minor ?? Infinity;
