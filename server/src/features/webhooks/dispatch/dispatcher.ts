/**
 * Creates deliveries from the event log: one for each endpoint that an event matches.
 *
 * - A creator's position and the deliveries up to it commit together, and the update compares the position with the one
 *   that was read. So of several dispatchers one creates the deliveries, and a crash neither repeats nor loses any.
 * - While the queues of all endpoints of a creator are full, the events stay in the log, so that a delivery can be created
 *   and leased in one write. Slow queues are never full.
 * - Hints give low latency. The sweep finds what a lost hint missed.
 * - Creators without subscribers cost a tip nothing: the sweep advances their positions, many in one write.
 */
import type { Database } from '../../../platform/db/database.ts';
import { createWorkQueue } from '../../../platform/work-queue.ts';
import type { EndpointQueue } from '../delivery/endpoint-queue.ts';
import type { Leases } from '../delivery/leases.ts';
import type { ConnectionKinds } from '../delivery/transport.ts';
import * as repo from './repo.ts';

export interface DispatcherParts {
  readonly db: Database;
  readonly leases: Leases;
  readonly connections: { readonly kinds: ConnectionKinds };
  readonly queueOf: (endpointId: string) => Pick<EndpointQueue, 'isFull' | 'room' | 'hasRoom' | 'add' | 'wake'>;
  /** The session of a listener whose socket is open at this node. */
  readonly sessionOf: (endpointId: string) => string | null;
  /** Deliveries of this endpoint are due, and another node has to send them. */
  readonly announce: (endpointId: string) => void;
  readonly onError: (error: unknown) => void;
}

/** Bounds of one write, because other writes wait for it. */
const max = { events: 400, deliveries: 400 };
/** With more subscribers an event makes so many deliveries that the creator's writes take turns with those of others. */
const manySubscribers = 10;
const creatorsAtOnce = 32;
const sweepPage = 500;

export function createDispatcher({ db, leases, connections, ...parts }: DispatcherParts) {
  const { queueOf, sessionOf, announce, onError } = parts;
  const connectionTypes = Object.fromEntries(
    Object.entries(connections.kinds).map(([kind, { types }]) => [kind, types]),
  );
  let hinted = new Set<string>();
  /** Creators who wait until one of their queues is not full. */
  const waitingForRoom = new Set<string>();
  const writeQueue = createWorkQueue({ atOnce: 1, maxWaiting: Number.POSITIVE_INFINITY });
  let running: Promise<void> | undefined;
  let stopped = false;

  /** One write; the rest of the log comes in turn with other creators. Returns whether the creator has subscribers. */
  async function dispatch(creatorId: string): Promise<boolean> {
    const lag = await repo.lagOf(db, creatorId);
    if (!lag || lag.head <= lag.position) return true;
    const subscribers = await repo.subscribedEndpoints(db, creatorId);
    if (subscribers.length === 0) return false;
    const queues = subscribers.map(({ id }) => queueOf(id));
    if (queues.every(({ isFull }) => isFull))
      waitForRoom(creatorId, Promise.race(queues.map((queue) => queue.hasRoom())));
    else {
      const create = (): Promise<void> => createDeliveries(lag, subscribers);
      await (subscribers.length > manySubscribers ? writeQueue.runAdmitted(creatorId, create) : create());
      hint(creatorId);
    }
    return true;
  }

  function waitForRoom(creatorId: string, hasRoom: Promise<void>): void {
    if (waitingForRoom.has(creatorId)) return;
    waitingForRoom.add(creatorId);
    void hasRoom.then(() => {
      waitingForRoom.delete(creatorId);
      hint(creatorId);
    });
  }

  async function createDeliveries(lag: repo.Lag, subscribers: readonly repo.SubscribedEndpoint[]): Promise<void> {
    const lease = leases.create();
    const room = Object.fromEntries(subscribers.map(({ id }) => [id, queueOf(id).room]));
    const mostRoom = Math.max(...Object.values(room)) || max.events;
    const creation: repo.Creation = {
      ...lag,
      since: Math.min(...subscribers.map(({ since }) => since)),
      limit: Math.max(1, Math.min(max.events, mostRoom, Math.floor(max.deliveries / subscribers.length))),
      room,
      sessions: Object.fromEntries(subscribers.map(({ id }) => [id, sessionOf(id)])),
      connectionTypes,
    };
    const { events, endpoints } = await db.write(repo.writes.createDeliveries, creation, lease);
    for (const { endpoint, ids, more, elsewhere } of endpoints) {
      const deliveries = events.flatMap(({ id: event_id, ...event }, index) => {
        const id = ids[index];
        return id ? [{ creator_id: lag.creator_id, id, event_id, ...event, attempts: '[]', tries: 0 }] : [];
      });
      const queue = queueOf(endpoint.id);
      try {
        if (deliveries.length > 0) queue.add(endpoint, deliveries, lease);
      } catch (error) {
        // Its secret cannot be opened. Its deliveries are due again when their lease ends.
        onError(error);
      }
      if (more) queue.wake();
      if (elsewhere) announce(endpoint.id);
    }
  }

  async function run(): Promise<void> {
    try {
      while (hinted.size > 0) {
        const creators = [...hinted].slice(0, creatorsAtOnce);
        for (const creatorId of creators) hinted.delete(creatorId);
        if (!(await repo.anyEndpoint(db))) hinted = new Set();
        else await Promise.all(creators.map(dispatch));
      }
    } catch (error) {
      onError(error);
    } finally {
      running = undefined;
    }
  }

  /** The creator's log has new events. */
  function hint(creatorId: string): void {
    if (stopped) return;
    hinted.add(creatorId);
    running ??= Promise.resolve().then(run);
  }

  async function idle(): Promise<void> {
    while (running) await running;
  }

  return {
    hint,

    /** Dispatches the new events of every creator. */
    async sweep(): Promise<void> {
      if (!(await repo.anyEndpoint(db))) return;
      for (let last: string | undefined = ''; last !== undefined && !stopped; ) {
        const page = await repo.lagAfter(db, last, sweepPage);
        last = page.at(-1)?.creator_id;
        const unsubscribed: repo.Lag[] = [];
        for (const lag of page)
          if (lag.head > lag.position && !(await dispatch(lag.creator_id))) unsubscribed.push(lag);
        if (unsubscribed.length > 0) await db.write(repo.writes.skipEvents, unsubscribed);
        // Other work runs between two pages.
        await new Promise((resolve) => setImmediate(resolve));
      }
    },

    idle,

    isIdle: (): boolean => running === undefined && waitingForRoom.size === 0,

    stop(): Promise<void> {
      stopped = true;
      return idle();
    },
  };
}
