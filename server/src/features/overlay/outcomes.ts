import { ApiError } from '../../errors.ts';
import type { Platform } from '../../platform/platform.ts';
import type { EventLog } from '../events/index.ts';
import type { AlertStatus, Tips } from '../tips/index.ts';
import * as repo from './repo.ts';
import { readSettings } from './settings.ts';

/**
 * What becomes of an alert after its event is in the log.
 *
 * - An alert waits as `queued` until the first page says what became of it; every other status is final, and one
 *   conditional update decides who was first. The event that tells of it commits with it.
 * - How far a page has come is noted for that page (an instance) and for the overlay as a whole, and never goes back.
 * - A page begins after its own note; one that has none, after what any page acknowledged. Never with what is older
 *   than the creator's limit.
 * - What has become too old expires when a page begins while no other is open. One that is open may hold it in its
 *   queue, paused or long, and will still play it; every other status being final, it must not be called expired.
 */
export interface OutcomesParts extends Pick<Platform, 'db' | 'clock'> {
  readonly events: EventLog;
  readonly tips: Tips;
  readonly row: (creatorId: string) => Promise<repo.OverlayRow>;
  readonly connected: (creatorId: string) => Promise<number>;
}

export const outcomes = ['shown', 'below_minimum', 'expired', 'dropped'] as const;

/** What a page did with the event of this sequence; `dropped` is one that was already settled otherwise. */
export interface Acknowledgement {
  readonly sequence: number;
  readonly outcome: (typeof outcomes)[number];
}

/** An event that was, or will be, an alert. */
export interface RecentAlert {
  readonly sequence: number;
  readonly createdAt: string;
  readonly name: string;
  readonly amountMinor: number;
  /** Nothing for a test alert. */
  readonly tip: { readonly id: string; readonly status: AlertStatus } | undefined;
}

/** How many of the newest events are looked through for alerts. */
const recentEvents = 100;

export function createOutcomes({ db, events, tips, clock, row, connected }: OutcomesParts) {
  const tooOldBefore = ({ settings }: repo.OverlayRow): number =>
    clock() - readSettings(settings).maxAgeMinutes * 60_000;

  async function eventAt(creatorId: string, sequence: number) {
    const [event] = await events.after(creatorId, sequence - 1, 1);
    return event?.sequence === sequence ? JSON.parse(event.body) : undefined;
  }

  function announce(creatorId: string, sequence: number | null): void {
    if (sequence !== null) events.announce(creatorId, sequence);
  }

  /** What to write for an acknowledgement; nothing for an event that is no alert or was settled otherwise. */
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
     * Where a page goes on. `noted`: how far it says to have come; a note from before the store was set back counts
     * for nothing. Ends the wait of what has become too old, unless another page may still play it.
     */
    async begin(creatorId: string, instance: string, noted: number | undefined): Promise<number> {
      const overlay = await row(creatorId);
      const before = tooOldBefore(overlay);
      const [own, tooOld, oldest, head, open] = await Promise.all([
        repo.instancePosition(db, creatorId, instance),
        tips.newestBefore(creatorId, before),
        events.oldest(creatorId),
        events.head(creatorId),
        connected(creatorId),
      ]);
      if (open === 0 && overlay.expired_until < before)
        await db.write(repo.writes.expire, creatorId, overlay.expired_until, before);
      const notes = [own?.sequence, noted].filter((note) => note !== undefined && note <= (head?.sequence ?? 0));
      const last = notes.length > 0 ? Math.max(...notes.map(Number)) : overlay.last_sequence;
      return Math.max(last, tooOld, (oldest ?? 1) - 1);
    },

    /** Tips that a page must not play though their events may come. */
    async skipped(creatorId: string): Promise<string[]> {
      return tips.skippedSince(creatorId, tooOldBefore(await row(creatorId)));
    },

    /**
     * A page tells what became of alerts. Sequences that are unknown (or forgotten) are passed over, and so is the word
     * that an amount is too small if it is not: apps are told that reason, so it holds by the creator's own setting.
     */
    async acknowledge(creatorId: string, instance: string, acks: readonly Acknowledgement[]): Promise<void> {
      const found = await Promise.all(
        acks.map(async ({ sequence, outcome }) => ({ sequence, outcome, event: await eventAt(creatorId, sequence) })),
      );
      const known = found.filter(({ event }) => event).sort((a, b) => a.sequence - b.sequence);
      const newest = known.at(-1);
      if (!newest) return;
      const { minimumMinor } = readSettings((await row(creatorId)).settings);
      const believed = known.filter(
        ({ event, outcome }) => outcome !== 'below_minimum' || amountOf(event) < minimumMinor,
      );
      const settlements = believed.flatMap(({ event, outcome }) => settlementOf(creatorId, event, outcome));
      announce(
        creatorId,
        await db.write(repo.writes.acknowledge, creatorId, instance, newest.sequence, settlements, clock()),
      );
    },

    /** The creator does not want to see this one. Answers whether it was still waiting. */
    async skip(creatorId: string, tipId: string): Promise<boolean> {
      const skipped = settlement(creatorId, { tipId, alertId: null }, 'by_creator');
      const sequence = await db.write(repo.writes.settle, creatorId, skipped, clock());
      announce(creatorId, sequence);
      return sequence !== null;
    },

    /** The creator wants to see the alert of this event again; no status changes. */
    async replay(creatorId: string, sequence: number): Promise<void> {
      const event = await eventAt(creatorId, sequence);
      if (event?.type !== 'tip.created' && event?.type !== 'alert.test') throw new ApiError('not_found');
      const data = event.data.tip ? { tip: await tips.byId(creatorId, event.data.tip.id) } : event.data;
      await events.append({ creatorId, type: 'alert.replayed', test: event.test, replay: true }, data);
    },

    /** The newest alerts and what became of them, newest first. */
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

/** Nothing that is not an alert is too small. */
const amountOf = ({ data: { tip, alert } }: AlertEvent): number => (tip ?? alert)?.amount_minor ?? Infinity;
