/**
 * Turns the event log into deliveries: one for each endpoint that an event matches.
 *
 * - A creator's position and the deliveries up to it commit together, and the position moves only from where it was
 *   read: of several dispatchers one writes them, and a crash repeats or leaves out nothing.
 * - A hint makes it quick, the sweep makes it certain.
 * - Recording a tip costs nothing here: creators nobody subscribes to are moved on by the sweep, many in one write,
 *   and none are while there is no endpoint at all.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import type { NewId } from '../../platform/ids.ts';
import type { Vault } from '../../platform/secrets.ts';
import { type Claimed, createTarget, leaseMs } from './claims.ts';
import { insertDeliveries } from './deliveries-repo.ts';
import * as repo from './dispatch-repo.ts';
import { anyEndpoint } from './endpoints-repo.ts';
import type { Lanes } from './lanes.ts';

export interface DispatcherParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly vault: Vault;
  readonly lanes: Pick<Lanes, 'room' | 'take' | 'kick'>;
  readonly onError: (error: unknown) => void;
}

export type Dispatcher = ReturnType<typeof createDispatcher>;

const eventsAtOnce = 200;
const creatorsAtOnce = 32;
const sweepPage = 500;

export function createDispatcher({ db, clock, newId, vault, lanes, onError }: DispatcherParts) {
  let hinted = new Set<string>();
  let running: Promise<void> | undefined;

  /** Answers whether anybody subscribes to this creator. */
  async function dispatch(creatorId: string): Promise<boolean> {
    for (;;) {
      const lag = await repo.lagOf(db, creatorId);
      if (!lag || lag.head <= lag.position) return true;
      const known = await repo.subscribers(db, creatorId);
      if (known.length === 0) return false;
      const since = Math.min(...known.map((subscriber) => subscriber.since));
      const events = await repo.eventsBetween(db, creatorId, { ...lag, since, limit: eventsAtOnce });
      const last = events.length === eventsAtOnce ? events.at(-1)!.sequence : lag.head;
      const made = await db.write(async (tx) => {
        if (!(await repo.movePosition(tx, creatorId, lag.position, last))) return [];
        return handOver(tx, creatorId, events);
      });
      for (const { endpointId, claimed, more } of made) {
        lanes.take(claimed);
        if (more) lanes.kick(endpointId);
      }
    }
  }

  /** Who gets an event is decided here, in the transaction that hands it over. */
  async function handOver(tx: Tx, creatorId: string, events: readonly repo.LoggedEvent[]) {
    const [now, lease] = [clock(), randomUUID()];
    const made: { endpointId: string; claimed: Claimed[]; more: boolean }[] = [];
    for (const subscriber of await repo.subscribers(tx, creatorId)) {
      const { id: endpointId, enabled, suspended, grant_id } = subscriber;
      const wanted = events.filter(isFor(subscriber));
      if (wanted.length === 0) continue;
      // What its lane has room for is claimed as it is made, which saves a claim of its own.
      const room = enabled && suspended === null ? lanes.room(endpointId) : 0;
      const target = room > 0 ? createTarget(vault, subscriber, now) : undefined;
      const leaseUntil = now + leaseMs;
      const deliveries = wanted.map((event, index) => {
        const taken = index < room;
        return {
          event,
          row: {
            event_id: event.id,
            id: newId('dlv'),
            event_type: event.type,
            sequence: event.sequence,
            body: null,
            due_at: taken ? leaseUntil : enabled ? now : null,
            lease: taken ? lease : null,
          },
        };
      });
      const fresh = await insertDeliveries(
        tx,
        {
          creator_id: creatorId,
          endpoint_id: endpointId,
          grant_id,
          status: enabled ? 'pending' : 'skipped',
          created_at: now,
        },
        deliveries.map(({ row }) => row),
      );
      const claimed: Claimed[] = [];
      for (const { event, row } of deliveries)
        if (target && row.lease && fresh.has(row.id))
          claimed.push({
            ...target,
            creator_id: creatorId,
            id: row.id,
            event_id: event.id,
            attempts: '[]',
            tries: 0,
            body: event.body,
            lease,
            leaseUntil,
          });
      made.push({ endpointId, claimed, more: enabled === 1 && claimed.length < wanted.length });
    }
    return made;
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

  return {
    /** This creator's log has grown. */
    hint(creatorId: string): void {
      hinted.add(creatorId);
      running ??= Promise.resolve().then(run);
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
  };
}

function isFor({ types, since, excluded }: repo.Subscriber): (event: repo.LoggedEvent) => boolean {
  const wanted: string[] | null = types === null ? null : JSON.parse(types);
  const earlier: string[] = JSON.parse(excluded);
  return ({ id, type, created_at }) =>
    created_at >= since && (wanted === null || wanted.includes(type)) && !earlier.includes(id);
}
