/**
 * Turns the event log into deliveries: one for each endpoint that an event matches.
 *
 * - A creator's position and the deliveries up to it commit together, and the position moves only from where it was
 *   read: of several dispatchers one writes them, and a crash repeats or leaves out nothing.
 * - While every lane that an event would go to has enough to send, the log keeps the rest, so that it can be claimed as
 *   it is made, in one write. A lane whose receiver does not answer keeps nobody waiting.
 * - A hint makes it quick, the sweep makes it certain.
 * - Recording a tip costs nothing here: creators nobody subscribes to are moved on by the sweep, many in one write,
 *   and none are while there is no endpoint at all.
 */
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import { type Claimed, claimedOf, newLease, type TargetOf } from './claims.ts';
import * as repo from './dispatch-repo.ts';
import { anyEndpoint } from './endpoints-repo.ts';
import { handOver } from './hand-over.ts';
import type { Lanes, Take } from './lanes.ts';

export interface DispatcherParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly targetOf: TargetOf;
  readonly lanes: Pick<Lanes, 'isFull' | 'room' | 'claiming' | 'kick'>;
  readonly onError: (error: unknown) => void;
}

export type Dispatcher = ReturnType<typeof createDispatcher>;

/** In one write, which keeps others waiting as long as it takes: with many endpoints these are fewer events. */
const atOnce = { events: 400, deliveries: 2_000 };
const creatorsAtOnce = 32;
const sweepPage = 500;
/** A delivery that was just made. */
const fresh = { attempts: '[]', tries: 0 };

export function createDispatcher({ db, clock, targetOf, lanes, onError }: DispatcherParts) {
  let hinted = new Set<string>();
  /** Creators whose log waits for an endpoint's lane. */
  const held = new Map<string, Set<string>>();
  let running: Promise<void> | undefined;

  /** Answers whether anybody subscribes to this creator. */
  async function dispatch(creatorId: string): Promise<boolean> {
    for (;;) {
      const lag = await repo.lagOf(db, creatorId);
      if (!lag || lag.head <= lag.position) return true;
      const known = await repo.subscribers(db, creatorId);
      if (known.length === 0) return false;
      // Each is asked, so that the first that has room again tells.
      if (known.filter(({ id }) => lanes.isFull(id)).length === known.length) {
        for (const { id } of known) held.set(id, (held.get(id) ?? new Set()).add(creatorId));
        return true;
      }
      await lanes.claiming((take) => handOn(lag, known, take));
    }
  }

  async function handOn(lag: repo.Lagging, known: readonly repo.Subscriber[], take: Take): Promise<void> {
    const lease = newLease(clock());
    const room = Object.fromEntries(known.map(({ id }) => [id, lanes.room(id)]));
    const most = Math.max(...Object.values(room)) || atOnce.events;
    const { events, made } = await db.call(handOver, {
      ...lag,
      ...lease,
      since: Math.min(...known.map((subscriber) => subscriber.since)),
      limit: Math.max(1, Math.min(atOnce.events, most, Math.floor(atOnce.deliveries / known.length))),
      room,
    });
    for (const { endpoint, ids, more } of made) {
      const target = targetOf(endpoint, lease.now);
      const claimed: Claimed[] = [];
      for (const [index, event] of events.entries()) {
        const id = ids[index];
        if (id)
          claimed.push(
            claimedOf(
              target,
              { ...fresh, creator_id: lag.creator_id, id, event_id: event.id, body: event.body },
              lease,
            ),
          );
      }
      take(endpoint.id, claimed);
      if (more) lanes.kick(endpoint.id);
    }
  }

  async function run(): Promise<void> {
    try {
      while (hinted.size > 0) {
        const creators = [...hinted].slice(0, creatorsAtOnce);
        for (const creatorId of creators) hinted.delete(creatorId);
        if (!(await anyEndpoint(db))) hinted = new Set();
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
    hinted.add(creatorId);
    running ??= Promise.resolve().then(run);
  }

  return {
    hint,

    /** An endpoint's lane that was full has room. */
    roomFor(endpointId: string): void {
      const creators = held.get(endpointId);
      held.delete(endpointId);
      for (const creatorId of creators ?? []) hint(creatorId);
    },

    /** Looks at every creator's position. */
    async sweep(): Promise<void> {
      if (!(await anyEndpoint(db))) return;
      for (let last = ''; ; ) {
        const page = await repo.lagAfter(db, last, sweepPage);
        if (page.length === 0) return;
        last = page.at(-1)!.creator_id;
        const unheard: repo.Lagging[] = [];
        for (const lag of page) if (lag.head > lag.position && !(await dispatch(lag.creator_id))) unheard.push(lag);
        if (unheard.length > 0)
          await db.write(async (tx) => {
            for (const { creator_id, position, head } of unheard)
              await repo.movePosition(tx, creator_id, position, head);
          });
        // A long sweep lets everything else have its turn.
        await new Promise((resolve) => setImmediate(resolve));
      }
    },

    async idle(): Promise<void> {
      while (running) await running;
    },

    isIdle: (): boolean => running === undefined,
  };
}
