import { ApiError, validationFailed } from '../../../errors.ts';
import { toTimestamp, toTimestampOrNull } from '../../../platform/clock.ts';
import { afterAllIds, firstId, timeOfId } from '../../../platform/ids.ts';
import { createPauses } from '../../../platform/pauses.ts';
import type { Platform } from '../../../platform/platform.ts';
import { createWorkQueue } from '../../../platform/work-queue.ts';
import type { DeliveryStatus } from '../delivery/repo.ts';
import * as repo from './delivery-log-repo.ts';
import type { EndpointRow } from './repo.ts';
import type { Delivery, Replay } from './schemas.ts';

export interface DeliveriesParts extends Pick<Platform, 'db' | 'clock' | 'newId'> {
  /** A delivery of this endpoint is due. */
  readonly announce: (endpointId: string) => void;
  /** Throws a 404 if the app, or the creator, has no such endpoint. */
  readonly endpoint: (ownerId: string, id: string) => Promise<Pick<EndpointRow, 'enabled'>>;
}

/** In one write: others write between two of them. One replay writes at a time, in turn between apps. */
const replayBatch = 100;
export const maxReplayed = 10_000;
/** An endpoint may have millions of deliveries, and none of the status that is looked for. */
const maxSearched = 1_000;
/** Of the attempts of one page: a hundred deliveries with long answers would take 14 ms to write, and as long to read. */
const maxPageBytes = 64 * 1024;

/** The delivery log of an endpoint. Every operation checks first that the endpoint belongs to the app or creator. */
export function createDeliveries({ db, clock, newId, announce, endpoint }: DeliveriesParts) {
  async function delivery(endpointId: string, id: string): Promise<repo.DeliveryRow> {
    const row = await repo.deliveryById(db, endpointId, id);
    if (!row) throw new ApiError('not_found', { message: 'There is no delivery with this id.' });
    return row;
  }

  /**
   * Even a page that ends early is long, so pages are read one after the other, in turn between apps. SQLite answers in the
   * same iteration of the event loop, so each page waits for an iteration of its own.
   */
  const pageReads = createWorkQueue({ atOnce: 1, maxWaiting: Number.POSITIVE_INFINITY });
  const replays = createWorkQueue({ atOnce: 1, maxWaiting: Number.POSITIVE_INFINITY });

  async function requireEnabled(ownerId: string, id: string): Promise<void> {
    const { enabled } = await endpoint(ownerId, id);
    if (!enabled) throw validationFailed({ field: null, message: 'must be sent to a webhook that is enabled' });
  }

  return {
    async ping(ownerId: string, id: string): Promise<Delivery> {
      const { enabled } = await endpoint(ownerId, id);
      const notice: repo.Notice = {
        eventId: newId('evt'),
        type: 'webhook.ping',
        creatorId: null,
        data: {},
        now: clock(),
      };
      const row = await db.write(repo.writes.insertNotice, { id, enabled }, notice, newId('dlv'));
      announce(id);
      return toDelivery(row);
    },

    /**
     * One page, newest first, and the id where the next one begins. With a status a page ends after `maxSearched`
     * deliveries, however few of them have it. A page with long answers ends sooner.
     */
    async page(
      ownerId: string,
      id: string,
      { before, status, limit }: { before: string | null; status: DeliveryStatus | null; limit: number },
    ): Promise<{ deliveries: Delivery[]; next: string | null }> {
      await endpoint(ownerId, id);
      const start = before ?? afterAllIds;
      const end = status === null ? undefined : await repo.deliveryBefore(db, id, start, maxSearched);
      const wanted = { before: start, from: end ?? '', status, limit: limit + 1, maxBytes: maxPageBytes };
      const rows = await pageReads.run(ownerId, async () => {
        await createPauses(ownerId)();
        return repo.deliveriesPage(db, id, wanted);
      });
      const page = fitting(rows.slice(0, limit));
      return {
        deliveries: page.map(toDelivery),
        next: (rows.length > page.length ? page.at(-1)?.id : end) ?? null,
      };
    },

    /** A delivery and its body; `null` for the body if the app may not see it any more. */
    async withBody(ownerId: string, id: string, deliveryId: string) {
      await endpoint(ownerId, id);
      const row = await delivery(id, deliveryId);
      return { delivery: toDelivery(row), body: await repo.shownBody(db, id, deliveryId) };
    },

    /** Makes the delivery due now, with all attempts of the schedule again. */
    async retry(ownerId: string, id: string, deliveryId: string): Promise<Delivery> {
      await requireEnabled(ownerId, id);
      await delivery(id, deliveryId);
      if (!(await db.write(repo.writes.retryDelivery, id, deliveryId, clock())))
        throw validationFailed({
          field: null,
          message:
            'must be a delivery whose event is still kept, whose tip is not voided, and whose creator still lets the app receive events',
        });
      announce(id);
      return toDelivery(await delivery(id, deliveryId));
    },

    /** Makes the deliveries of a time span due again, up to a number. Returns how many, and where the rest begins. */
    async replay(ownerId: string, id: string, span: { from: number; to: number }): Promise<Replay> {
      await requireEnabled(ownerId, id);
      let after = firstId('dlv', span.from);
      const next = await repo.deliveryAt(db, id, { after, before: firstId('dlv', span.to + 1) }, maxReplayed);
      // Up to an instant, not into it, so that the next replay sends none of them twice.
      const rest = next && Math.max(timeOfId(next.id), span.from + 1);
      const before = firstId('dlv', rest ?? span.to + 1);
      for (let total = 0; ; ) {
        const part = { after, before, now: clock(), limit: replayBatch };
        const { queued, last } = await replays.runAdmitted(ownerId, () =>
          db.write(repo.writes.replayDeliveries, id, part),
        );
        total += queued;
        announce(id);
        if (last === undefined) return { queued: total, next_from: toTimestampOrNull(rest ?? null) };
        after = last;
      }
    },
  };
}

/** As many as a page has room for, at least one. */
function fitting(rows: readonly repo.DeliveryRow[]): readonly repo.DeliveryRow[] {
  let bytes = 0;
  const end = rows.findIndex(({ attempts }, index) => {
    bytes += Buffer.byteLength(attempts);
    return index > 0 && bytes > maxPageBytes;
  });
  return end < 0 ? rows : rows.slice(0, end);
}

function toDelivery(row: repo.DeliveryRow): Delivery {
  return {
    id: row.id,
    event_id: row.event_id,
    event_type: row.event_type,
    status: row.status,
    attempts: JSON.parse(row.attempts),
    next_attempt_at: toTimestampOrNull(row.due_at),
    created_at: toTimestamp(row.created_at),
  };
}
