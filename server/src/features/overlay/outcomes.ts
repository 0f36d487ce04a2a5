import { ApiError } from '../../errors.ts';
import { StorageUnavailable } from '../../platform/db/database.ts';
import type { Platform } from '../../platform/platform.ts';
import { displayName } from '../../platform/web/browser/text.ts';
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

const expiryStepMs = 60_000;
/** Tips in one write: others write between two of them. A first overlay may find years of tips. */
const expiryBatch = 500;

/** How many of the newest events are searched for alerts. */
const recentEvents = 100;

export function createOutcomes({ db, events, tips, clock, row, connected }: OutcomesParts) {
  /** The latest acknowledgement of each overlay that is in progress. */
  const acknowledging = new Map<string, Promise<void>>();

  const ageLimit = ({ settings }: repo.OverlayRow): number => clock() - readSettings(settings).maxAgeMinutes * 60_000;

  async function eventAt(creatorId: string, sequence: number) {
    const [event] = await events.after(creatorId, sequence - 1, 1);
    return event?.sequence === sequence ? JSON.parse(event.body) : undefined;
  }

  function announce(creatorId: string, sequence: number | null): void {
    if (sequence !== null) events.announce(creatorId, sequence);
  }

  async function queuedAlerts(creatorId: string, rows: readonly repo.AcknowledgedRow[]): Promise<QueuedAlert[]> {
    const alerts = rows.flatMap(toAlert);
    const tests = alerts.flatMap(({ alertId }) => alertId ?? []);
    const settled = await repo.settledTestAlerts(db, creatorId, tests);
    return alerts.filter(({ alertId }) => alertId === null || !settled.has(alertId));
  }

  /** Reads a short span first, so that a page that begins again and again does not write each time. */
  const mustExpire = async (creatorId: string, from: number, before: number): Promise<boolean> =>
    before - from > expiryStepMs || (before > from && (await tips.anyQueued(creatorId, from, before)));

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
    const { minimumMinor } = readSettings(overlay.settings);
    const settlements = queued.flatMap(({ sequence, amountMinor, ...subject }) => {
      const outcome = reported.get(sequence);
      const isValid = outcome !== 'below_minimum' || amountMinor < minimumMinor;
      return outcome && outcome !== 'dropped' && isValid ? [settlement(creatorId, subject, outcome)] : [];
    });
    const advances = newest > Math.min(page?.sequence ?? 0, overlay.last_sequence);
    if (!advances && settlements.length === 0) return;
    announce(creatorId, await db.write(repo.writes.acknowledge, creatorId, instance, newest, settlements, clock()));
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
      if (open === 0 && (await mustExpire(creatorId, overlay.expired_until, before)))
        for (let from = overlay.expired_until; from < before; )
          from = await db.write(repo.writes.expire, creatorId, from, before, expiryBatch);
      const known = [own?.sequence, reported].filter((at) => at !== undefined && at <= (head?.sequence ?? 0));
      const last = known.length > 0 ? Math.max(...known.map(Number)) : overlay.last_sequence;
      return Math.max(last, tooOld, (oldest ?? 1) - 1);
    },

    /** Tips that a page must not show, although it may receive their events. */
    async skipped(creatorId: string): Promise<string[]> {
      return tips.skippedSince(creatorId, ageLimit(await row(creatorId)));
    },

    /**
     * Records the outcomes that a page reports; of two outcomes of one alert, the first counts. Unknown and pruned
     * sequences are ignored. So is `below_minimum` for an amount that is not below the creator's minimum, because apps
     * receive that reason. Reads decide whether there is anything to write, so that a page that repeats what is stored
     * does not keep the database busy. Requests of one overlay run in sequence: in parallel, each would find the alerts
     * queued and write. If storage fails, those that wait fail with it, so that none waits for several deadlines.
     */
    async acknowledge(creatorId: string, instance: string, acks: readonly Acknowledgement[]): Promise<void> {
      const before = acknowledging.get(creatorId) ?? Promise.resolve();
      const own = before.catch(unlessStorageFailed).then(() => acknowledgeNow(creatorId, instance, acks));
      acknowledging.set(creatorId, own);
      try {
        await own;
      } finally {
        if (acknowledging.get(creatorId) === own) acknowledging.delete(creatorId);
      }
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
          return { sequence, createdAt, name: displayName(display_name, name), amountMinor, tip };
        });
    },
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
}

/** Empty for an event that is not an alert, and for a tip whose alert is settled. */
function toAlert({ sequence, body, tip_id, amount_minor, alert_status }: repo.AcknowledgedRow): QueuedAlert[] {
  if (body !== null) {
    const { id, amount_minor: amountMinor } = JSON.parse(body).data.alert;
    return [{ sequence, tipId: null, alertId: id, amountMinor }];
  }
  if (tip_id === null || amount_minor === null || alert_status !== 'queued') return [];
  return [{ sequence, tipId: tip_id, alertId: null, amountMinor: amount_minor }];
}
