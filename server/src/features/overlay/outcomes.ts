import { ApiError } from '../../errors.ts';
import { type Clock, toTimestamp } from '../../platform/clock.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import type { EventLog, Place } from '../events/index.ts';
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
export interface OutcomesParts {
  readonly db: Database;
  readonly events: EventLog;
  readonly tips: Tips;
  readonly clock: Clock;
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

  function announce(creatorId: string, places: readonly (Place | undefined)[]): void {
    const newest = places.findLast((place) => place !== undefined);
    if (newest) events.announce(creatorId, newest.sequence);
  }

  function append(tx: Tx, creatorId: string, type: 'alert.shown' | 'alert.skipped', data: Partial<OutcomeData>) {
    const whole: OutcomeData = { tip_id: null, alert_id: null, shown_at: null, reason: null, ...data };
    return events.append(tx, { creatorId, type, data: () => JSON.stringify(whole) });
  }

  /** Settles one alert unless it is; answers the event that tells of it. */
  async function settle(
    tx: Tx,
    creatorId: string,
    event: AlertEvent,
    outcome: Acknowledgement['outcome'],
    now: number,
  ) {
    if (outcome === 'dropped') return undefined;
    const { tip, alert } = event.data;
    const status = outcome === 'below_minimum' ? 'skipped' : outcome;
    const shownAt = status === 'shown' ? now : null;
    if (event.type === 'tip.created' && tip) {
      if (!(await tips.settleAlert(tx, creatorId, tip.id, status, shownAt))) return undefined;
    } else if (event.type === 'alert.test' && alert) {
      if (!(await repo.settleAlert(tx, creatorId, alert.id, now))) return undefined;
    } else return undefined;
    if (status === 'expired') return undefined;
    const subject = { tip_id: tip?.id ?? null, alert_id: alert?.id ?? null };
    return status === 'shown'
      ? append(tx, creatorId, 'alert.shown', { ...subject, shown_at: toTimestamp(now) })
      : append(tx, creatorId, 'alert.skipped', { ...subject, reason: 'below_minimum' });
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
        repo.instanceNote(db, creatorId, instance),
        tips.newestBefore(creatorId, before),
        events.oldest(creatorId),
        events.head(creatorId),
        connected(creatorId),
      ]);
      if (open === 0 && overlay.expired_until < before)
        await db.write(async (tx) => {
          await tips.expireAlerts(tx, creatorId, overlay.expired_until, before);
          await repo.noteExpired(tx, creatorId, before);
        });
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
      const now = clock();
      const places = await db.write(async (tx) => {
        await repo.noteProgress(tx, creatorId, instance, newest.sequence, now);
        const places: (Place | undefined)[] = [];
        for (const { event, outcome } of believed) places.push(await settle(tx, creatorId, event, outcome, now));
        return places;
      });
      announce(creatorId, places);
    },

    /** The creator does not want to see this one. Answers whether it was still waiting. */
    async skip(creatorId: string, tipId: string): Promise<boolean> {
      const place = await db.write(async (tx) =>
        (await tips.settleAlert(tx, creatorId, tipId, 'skipped', null))
          ? append(tx, creatorId, 'alert.skipped', { tip_id: tipId, reason: 'by_creator' })
          : undefined,
      );
      announce(creatorId, [place]);
      return place !== undefined;
    },

    /** The creator wants to see the alert of this event again; no status changes. */
    async replay(creatorId: string, sequence: number): Promise<void> {
      const event = await eventAt(creatorId, sequence);
      if (event?.type !== 'tip.created' && event?.type !== 'alert.test') throw new ApiError('not_found');
      const record = event.data.tip ? { tip: await tips.byId(creatorId, event.data.tip.id) } : event.data;
      const data = () => JSON.stringify(record);
      const place = await db.write((tx) =>
        events.append(tx, { creatorId, type: 'alert.replayed', test: event.test, replay: true, data }),
      );
      announce(creatorId, [place]);
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

interface OutcomeData {
  readonly tip_id: string | null;
  readonly alert_id: string | null;
  readonly shown_at: string | null;
  readonly reason: 'by_creator' | 'below_minimum' | null;
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
