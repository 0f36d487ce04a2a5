import type { Database } from '../../../platform/db/database.ts';
import type { DeliveryStatus } from '../delivery/repo.ts';
import { lagOf } from '../dispatch/repo.ts';
import * as repo from './receivers-repo.ts';

/** Where the events of a creator are sent. */
export interface Receiver {
  readonly id: string;
  readonly kind: string;
  /** The name of the app, or what the creator calls the connection. */
  readonly name: string | null;
  /** Null for a listener and a connection. */
  readonly url: string | null;
  /** Null is all. */
  readonly types: readonly string[] | null;
  /** Since when it is switched off, if it is. */
  readonly disabledAt: number | null;
  readonly createdAt: number;
  /** When the creator let the app receive events; null if the app may not now. */
  readonly grantedAt: number | null;
  /** Of a connection: smaller tips are not sent. Null for the endpoints of apps. */
  readonly minAmountMinor: number | null;
}

/** The delivery of an event to one receiver. */
export interface EventDelivery {
  readonly endpointId: string;
  readonly eventId: string;
  readonly id: string;
  readonly status: DeliveryStatus;
  readonly attempts: readonly {
    readonly at: string;
    readonly status_code: number | null;
    readonly duration_ms: number;
    readonly error: string | null;
  }[];
  readonly nextAttemptAt: number | null;
  /** When the grant that the delivery is for has ended. */
  readonly grantEndedAt: number | null;
  readonly createdAt: number;
}

/** A creator connects far fewer apps. */
const maxReceivers = 200;
/** Of one trace: a new tip and its approval, to every receiver. What follows them is told as far as there is room. */
const maxDeliveries = 2 * maxReceivers;

/** Who gets the events of a creator, and what became of them. With a `clientId`, of that app alone. */
export const createReceivers = (db: Database) => ({
  async receivers(creatorId: string, clientId: string | null): Promise<Receiver[]> {
    const rows = await repo.receiversOf(db, creatorId, clientId, maxReceivers);
    return rows.map((row) => ({
      id: row.id,
      kind: row.kind,
      name: row.name,
      url: row.url === '' ? null : row.url,
      types: row.types === null ? null : JSON.parse(row.types),
      disabledAt: row.enabled ? null : row.disabled_at,
      createdAt: row.created_at,
      grantedAt: row.granted_at,
      minAmountMinor: row.min_amount_minor,
    }));
  },

  async deliveriesOf(
    creatorId: string,
    receivers: readonly Receiver[],
    eventIds: readonly string[],
  ): Promise<EventDelivery[]> {
    const ids = receivers.map(({ id }) => id);
    if (ids.length === 0 || eventIds.length === 0) return [];
    const rows = await repo.deliveriesOfEvents(db, creatorId, ids, eventIds, maxDeliveries);
    return rows.map((row) => ({
      endpointId: row.endpoint_id,
      eventId: row.event_id,
      id: row.id,
      status: row.status,
      attempts: JSON.parse(row.attempts),
      nextAttemptAt: row.due_at,
      grantEndedAt: row.ended_at,
      createdAt: row.created_at,
    }));
  },

  /** The last event of a creator that has become deliveries. */
  dispatchedUpTo: async (creatorId: string): Promise<number> => (await lagOf(db, creatorId))?.position ?? 0,
});
