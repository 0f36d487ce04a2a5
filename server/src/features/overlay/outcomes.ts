import { ApiError } from '../../errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { displayName } from '../../platform/web/browser/text.ts';
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

const expiryStepMs = 60_000;

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

  /** Of these events, the alerts that still wait. */
  async function waitingAlerts(creatorId: string, rows: readonly repo.AcknowledgedRow[]): Promise<WaitingAlert[]> {
    const alerts = rows.flatMap(toAlert);
    const tests = alerts.flatMap(({ alertId }) => alertId ?? []);
    const settled = await repo.settledTestAlerts(db, creatorId, tests);
    return alerts.filter(({ alertId }) => alertId === null || !settled.has(alertId));
  }

  /** A short span is read first, so that a page which begins again and again does not write each time. */
  const mustExpire = async (creatorId: string, from: number, before: number): Promise<boolean> =>
    before - from > expiryStepMs || (before > from && (await tips.anyWaiting(creatorId, from, before)));

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
      if (open === 0 && (await mustExpire(creatorId, overlay.expired_until, before)))
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
     * A page tells what became of alerts; of two words about one, the first counts. Sequences that are unknown (or
     * forgotten) are passed over, and so is the word that an amount is too small if it is not: apps are told that
     * reason, so it holds by the creator's own setting. Reads decide whether there is anything to write: whoever says
     * what is known already must not keep the store busy.
     */
    async acknowledge(creatorId: string, instance: string, acks: readonly Acknowledgement[]): Promise<void> {
      const said = new Map(acks.toReversed().map(({ sequence, outcome }) => [sequence, outcome]));
      const known = await repo.eventsToAcknowledge(db, creatorId, [...said.keys()]);
      const newest = known.at(-1)?.sequence;
      if (newest === undefined) return;
      const [overlay, page, waiting] = await Promise.all([
        row(creatorId),
        repo.instancePosition(db, creatorId, instance),
        waitingAlerts(creatorId, known),
      ]);
      const { minimumMinor } = readSettings(overlay.settings);
      const settlements = waiting.flatMap(({ sequence, amountMinor, ...subject }) => {
        const outcome = said.get(sequence);
        const isBelieved = outcome !== 'below_minimum' || amountMinor < minimumMinor;
        return outcome && outcome !== 'dropped' && isBelieved ? [settlement(creatorId, subject, outcome)] : [];
      });
      const movesOn = newest > Math.min(page?.sequence ?? 0, overlay.last_sequence);
      if (!movesOn && settlements.length === 0) return;
      announce(creatorId, await db.write(repo.writes.acknowledge, creatorId, instance, newest, settlements, clock()));
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
          return { sequence, createdAt, name: displayName(display_name, name), amountMinor, tip };
        });
    },
  };
}

/** An alert that no page has settled. One of the two ids is set. */
interface WaitingAlert {
  readonly sequence: number;
  readonly tipId: string | null;
  readonly alertId: string | null;
  readonly amountMinor: number;
}

/** Nothing for an event that is no alert, or the alert of a tip that is settled. */
function toAlert({ sequence, body, tip_id, amount_minor, alert_status }: repo.AcknowledgedRow): WaitingAlert[] {
  if (body !== null) {
    const { id, amount_minor: amountMinor } = JSON.parse(body).data.alert;
    return [{ sequence, tipId: null, alertId: id, amountMinor }];
  }
  if (tip_id === null || amount_minor === null || alert_status !== 'queued') return [];
  return [{ sequence, tipId: tip_id, alertId: null, amountMinor: amount_minor }];
}
