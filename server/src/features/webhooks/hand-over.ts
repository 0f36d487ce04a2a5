/**
 * The write that turns a stretch of a creator's log into deliveries. Who gets an event is decided here, in the
 * transaction that hands it over. What an endpoint's lane has room for is claimed as it is made, which saves a claim of
 * its own.
 */
import { procedure } from '../../platform/db/procedure.ts';
import { createIds } from '../../platform/ids.ts';
import { insertOfEvents } from './deliveries-repo.ts';
import * as repo from './dispatch-repo.ts';
import { type SigningEndpoint, signingPart } from './endpoints-repo.ts';

export interface Stretch extends repo.Lagging {
  /** Nobody gets anything older. */
  readonly since: number;
  /** How many events at most. */
  readonly limit: number;
  readonly now: number;
  readonly lease: string;
  readonly leaseUntil: number;
  /** How many each endpoint's lane can take; of an endpoint that is not named, none. */
  readonly room: Readonly<Record<string, number>>;
}

export interface HandedOver {
  readonly events: readonly Pick<repo.LoggedEvent, 'id' | 'body'>[];
  readonly made: readonly Made[];
}

export interface Made {
  readonly endpoint: SigningEndpoint;
  /** For each event the delivery that was claimed, if one was. */
  readonly ids: readonly (string | null)[];
  /** There are others, to be claimed when there is room. */
  readonly more: boolean;
}

export const handOver = procedure(import.meta.url, 'handOver', async (tx, stretch: Stretch): Promise<HandedOver> => {
  const { creator_id, position, head, limit, now } = stretch;
  const events = await repo.eventsBetween(tx, creator_id, stretch);
  const last = events.length === limit ? events.at(-1)!.sequence : head;
  if (!(await repo.movePosition(tx, creator_id, position, last))) return { events: [], made: [] };
  // How many are needed is known only here.
  const newId = createIds(() => now);
  const made: Made[] = [];
  for (const subscriber of await repo.subscribers(tx, creator_id)) {
    const { enabled, suspended, grant_id } = subscriber;
    const wanted = events.filter(isFor(subscriber));
    if (wanted.length === 0) continue;
    const room = enabled && suspended === null ? (stretch.room[subscriber.id] ?? 0) : 0;
    const ids = new Map(wanted.map(({ sequence }) => [sequence, newId('dlv')]));
    const insert = (some: readonly repo.LoggedEvent[], due_at: number | null, lease: string | null) =>
      insertOfEvents(
        tx,
        {
          creator_id,
          endpoint_id: subscriber.id,
          grant_id,
          status: enabled ? 'pending' : 'skipped',
          created_at: now,
          due_at,
          lease,
        },
        Object.fromEntries(some.map(({ sequence }) => [sequence, ids.get(sequence)!])),
      );
    const [first, rest] = [wanted.slice(0, room), wanted.slice(room)];
    const taken = new Set<number>();
    // If one was there before it is not known which: then all wait for the end of their lease.
    if (first.length > 0 && (await insert(first, stretch.leaseUntil, stretch.lease)) === first.length)
      for (const { sequence } of first) taken.add(sequence);
    if (rest.length > 0) await insert(rest, enabled ? now : null, null);
    made.push({
      endpoint: signingPart(subscriber),
      ids: events.map(({ sequence }) => (taken.has(sequence) ? ids.get(sequence)! : null)),
      more: enabled === 1 && taken.size < wanted.length,
    });
  }
  const sent = (_: unknown, index: number): boolean => made.some(({ ids }) => ids[index] !== null);
  return { events: events.some(sent) ? events.map(({ id, body }) => ({ id, body })) : [], made };
});

function isFor({ types, since, excluded }: repo.Subscriber): (event: repo.LoggedEvent) => boolean {
  const wanted: string[] | null = types === null ? null : JSON.parse(types);
  const earlier: string[] = JSON.parse(excluded);
  return ({ id, type, created_at }) =>
    created_at >= since && (wanted === null || wanted.includes(type)) && !earlier.includes(id);
}
