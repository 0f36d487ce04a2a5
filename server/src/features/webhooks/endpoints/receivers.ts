import type { Database } from '../../../platform/db/database.ts';
import { createPauses } from '../../../platform/pauses.ts';
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
  /** How many attempts are kept. */
  readonly attemptCount: number;
  /** The newest of them, in order. */
  readonly attempts: readonly {
    /** From 1, of those that are kept. */
    readonly number: number;
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
/** In one trace: those of a new tip and of its approval to every receiver. Those of later events get what room is left. */
const maxDeliveries = 2 * maxReceivers;
/** In one trace: ten webhooks make so many for three events. If there are more, the trace has the newest of each delivery. */
const maxAttempts = 300;
/** What is read in one step, so that it takes about a millisecond: a delivery has up to 20 KB of attempts. */
const atOnce = { keys: 50, deliveries: 25 };

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

  /** Oldest first. What is read depends on what is told, not on how often deliveries were tried. */
  async deliveriesOf(
    creatorId: string,
    receivers: readonly Receiver[],
    eventIds: readonly string[],
  ): Promise<EventDelivery[]> {
    const pause = createPauses(creatorId);
    const rows: repo.EventDeliveryRow[] = [];
    const keys = eventIds.flatMap((eventId) => receivers.map(({ id }) => ({ endpointId: id, eventId })));
    for (let at = 0; at < keys.length && rows.length < maxDeliveries; at += atOnce.keys) {
      await pause();
      rows.push(...(await repo.deliveriesOf(db, creatorId, keys.slice(at, at + atOnce.keys))));
    }
    const deliveries = rows.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, maxDeliveries);

    const made = deliveries.reduce((sum, { attempts }) => sum + attempts, 0);
    const ofEach = made > maxAttempts ? Math.ceil(maxAttempts / deliveries.length) : maxAttempts;
    const tried = deliveries.filter(({ attempts }) => attempts > 0);
    const newest = new Map<string, repo.AttemptRow[]>();
    for (let at = 0; at < tried.length; at += atOnce.deliveries) {
      await pause();
      const some = tried.slice(at, at + atOnce.deliveries).map(({ endpoint_id, event_id, attempts }) => ({
        ...{ endpointId: endpoint_id, eventId: event_id },
        after: Math.max(0, attempts - ofEach),
      }));
      for (const attempt of await repo.attemptsOf(db, creatorId, some)) {
        const own = newest.get(attempt.delivery_id);
        if (own) own.push(attempt);
        else newest.set(attempt.delivery_id, [attempt]);
      }
    }
    return deliveries.map((row) => ({
      endpointId: row.endpoint_id,
      eventId: row.event_id,
      id: row.id,
      status: row.status,
      attemptCount: row.attempts,
      // One that was made since is left out, because the status does not know of it.
      attempts: newest.get(row.id)?.filter(({ number }) => number <= row.attempts) ?? [],
      nextAttemptAt: row.due_at,
      grantEndedAt: row.ended_at,
      createdAt: row.created_at,
    }));
  },

  /** The last event of a creator that has become deliveries. */
  dispatchedUpTo: async (creatorId: string): Promise<number> => (await lagOf(db, creatorId))?.position ?? 0,
});
