import { ApiError, validationFailed } from '../../errors.ts';
import { type Clock, toTimestamp, toTimestampOrNull } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import { firstId, type NewId } from '../../platform/ids.ts';
import * as repo from './deliveries-repo.ts';
import type { EndpointRow } from './endpoints-repo.ts';
import { notice } from './grant-listener.ts';
import type { Delivery } from './schemas.ts';

export interface DeliveriesParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Something of this endpoint is due. */
  readonly announce: (endpointId: string) => void;
  /** The app's own endpoint, or a 404. */
  readonly endpoint: (clientId: string, id: string) => Promise<EndpointRow>;
}

const bite = 500;

/** The delivery log of an endpoint, and sending again. Whatever is asked, the app comes first. */
export function createDeliveries({ db, clock, newId, announce, endpoint }: DeliveriesParts) {
  async function delivery(endpointId: string, id: string): Promise<repo.DeliveryRow> {
    const row = await repo.deliveryById(db, endpointId, id);
    if (!row) throw new ApiError('not_found', { message: 'There is no delivery with this id.' });
    return row;
  }

  async function sendable(clientId: string, id: string): Promise<void> {
    const { enabled } = await endpoint(clientId, id);
    if (!enabled) throw validationFailed({ field: null, message: 'must be sent to a webhook that is enabled' });
  }

  return {
    async ping(clientId: string, id: string): Promise<Delivery> {
      const to = await endpoint(clientId, id);
      const row = notice({ clock, newId }, to, {
        id: newId('evt'),
        type: 'webhook.ping',
        creatorId: null,
        data: {},
      });
      await db.write((tx) => repo.insertNotice(tx, row));
      announce(id);
      return toDelivery(row);
    },

    /** One page, newest first, and the id where the next one begins. */
    async page(
      clientId: string,
      id: string,
      { before, status, limit }: { before: string | null; status: repo.DeliveryStatus | null; limit: number },
    ): Promise<{ deliveries: Delivery[]; next: string | null }> {
      await endpoint(clientId, id);
      const rows = await repo.deliveriesPage(db, id, { before: before ?? afterAll, status, limit: limit + 1 });
      return {
        deliveries: rows.slice(0, limit).map(toDelivery),
        next: rows.length > limit ? rows[limit - 1]!.id : null,
      };
    },

    /** One delivery with what was sent; `null` if it is not, or no longer, the app's to see. */
    async withBody(clientId: string, id: string, deliveryId: string) {
      await endpoint(clientId, id);
      const row = await delivery(id, deliveryId);
      return { delivery: toDelivery(row), body: await repo.shownBody(db, id, deliveryId) };
    },

    /** Sends it now, with the whole schedule before it. */
    async retry(clientId: string, id: string, deliveryId: string): Promise<Delivery> {
      await sendable(clientId, id);
      await delivery(id, deliveryId);
      if ((await db.write((tx) => repo.queueAgain(tx, id, deliveryId, clock()))) === 0)
        throw validationFailed({
          field: null,
          message: 'must be a delivery whose event is still kept and whose creator still lets the app receive events',
        });
      announce(id);
      return toDelivery(await delivery(id, deliveryId));
    },

    /** Sends everything of a span of time again; answers how many. */
    async replay(clientId: string, id: string, span: { from: number; to: number }): Promise<number> {
      await sendable(clientId, id);
      const before = firstId('dlv', span.to + 1);
      let after = firstId('dlv', span.from);
      for (let total = 0; ; ) {
        const { queued, last } = await db.write((tx) =>
          repo.queueSpan(tx, id, { after, before, now: clock(), limit: bite }),
        );
        total += queued;
        announce(id);
        if (last === undefined) return total;
        after = last;
      }
    },
  };
}

/** Sorts behind every id. */
const afterAll = '~';

function toDelivery(row: Pick<repo.DeliveryRow, keyof repo.NewNotice | 'attempts'>): Delivery {
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
