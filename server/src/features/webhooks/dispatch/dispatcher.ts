/**
 * Turns the event log into deliveries: one for each endpoint that an event matches.
 *
 * - A creator's position and the deliveries up to it commit together, and the position moves only from where it was
 *   read: of several dispatchers one writes them, and a crash repeats or leaves out nothing.
 * - While the queue of every endpoint that gets an event is full, the event stays in the log, so that its delivery can
 *   be created and leased in one write. A queue whose receiver does not answer holds nothing back.
 * - A hint makes it quick, the sweep makes it certain.
 * - Recording a tip costs nothing here: creators without subscribers are moved on by the sweep, many in one write, and
 *   none are while there is no endpoint at all.
 */
import type { Database } from '../../../platform/db/database.ts';
import type { EndpointQueue, Leases } from '../delivery/endpoint-queue.ts';
import * as repo from './repo.ts';

export interface DispatcherParts {
  readonly db: Database;
  readonly leases: Leases;
  readonly queueOf: (endpointId: string) => Pick<EndpointQueue, 'isFull' | 'room' | 'low' | 'add' | 'wake'>;
  readonly onError: (error: unknown) => void;
}

/** Bounds of one write, for other writes wait meanwhile. */
const most = { events: 400, deliveries: 2_000 };
const creatorsAtOnce = 32;
const sweepPage = 500;

export function createDispatcher({ db, leases, queueOf, onError }: DispatcherParts) {
  let hinted = new Set<string>();
  /** Creators whose log waits for a queue that is not full. */
  const held = new Set<string>();
  let running: Promise<void> | undefined;
  let stopped = false;

  /** Answers whether the creator has subscribers. */
  async function dispatch(creatorId: string): Promise<boolean> {
    while (!stopped) {
      const lag = await repo.lagOf(db, creatorId);
      if (!lag || lag.head <= lag.position) return true;
      const subscribers = await repo.subscribersOf(db, creatorId);
      if (subscribers.length === 0) return false;
      const queues = subscribers.map(({ id }) => queueOf(id));
      if (queues.every(({ isFull }) => isFull)) {
        hold(creatorId, Promise.race(queues.map((queue) => queue.low())));
        return true;
      }
      await createDeliveries(lag, subscribers);
    }
    return true;
  }

  function hold(creatorId: string, isLow: Promise<void>): void {
    if (held.has(creatorId)) return;
    held.add(creatorId);
    void isLow.then(() => {
      held.delete(creatorId);
      hint(creatorId);
    });
  }

  async function createDeliveries(lag: repo.Lag, subscribers: readonly repo.Subscriber[]): Promise<void> {
    const lease = leases.create();
    const room = Object.fromEntries(subscribers.map(({ id }) => [id, queueOf(id).room]));
    const mostRoom = Math.max(...Object.values(room)) || most.events;
    const creation: repo.Creation = {
      ...lag,
      since: Math.min(...subscribers.map(({ since }) => since)),
      limit: Math.max(1, Math.min(most.events, mostRoom, Math.floor(most.deliveries / subscribers.length))),
      room,
    };
    const { events, endpoints } = await db.write(repo.writes.createDeliveries, creation, lease);
    for (const { endpoint, ids, more } of endpoints) {
      const deliveries = events.flatMap(({ id: event_id, body }, index) => {
        const id = ids[index];
        return id ? [{ creator_id: lag.creator_id, id, event_id, body, attempts: '[]', tries: 0 }] : [];
      });
      const queue = queueOf(endpoint.id);
      if (deliveries.length > 0) queue.add(endpoint, deliveries, lease);
      if (more) queue.wake();
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

  /** This creator's log has grown. */
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

    /** Reads every creator's position. */
    async sweep(): Promise<void> {
      if (!(await repo.anyEndpoint(db))) return;
      for (let last: string | undefined = ''; last !== undefined && !stopped; ) {
        const page = await repo.lagAfter(db, last, sweepPage);
        last = page.at(-1)?.creator_id;
        const unsubscribed: repo.Lag[] = [];
        for (const lag of page)
          if (lag.head > lag.position && !(await dispatch(lag.creator_id))) unsubscribed.push(lag);
        if (unsubscribed.length > 0) await db.write(repo.writes.skipEvents, unsubscribed);
        // A long sweep lets everything else have its turn.
        await new Promise((resolve) => setImmediate(resolve));
      }
    },

    idle,

    isIdle: (): boolean => running === undefined && held.size === 0,

    stop(): Promise<void> {
      stopped = true;
      return idle();
    },
  };
}
