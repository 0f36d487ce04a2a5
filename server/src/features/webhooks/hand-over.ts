/**
 * The write that turns a stretch of a creator's log into deliveries. Who gets an event is decided here, in the
 * transaction that hands it over. What an endpoint's lane has room for is claimed as it is made, which saves a claim of
 * its own.
 */
import { procedure } from '../../platform/db/procedure.ts';
import { createIds } from '../../platform/ids.ts';
import { insertDeliveries } from './deliveries-repo.ts';
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
    const rows = wanted.map((event, index) => ({
      event_id: event.id,
      id: newId('dlv'),
      event_type: event.type,
      sequence: event.sequence,
      body: null,
      due_at: index < room ? stretch.leaseUntil : enabled ? now : null,
      lease: index < room ? stretch.lease : null,
    }));
    const fresh = await insertDeliveries(
      tx,
      {
        creator_id,
        endpoint_id: subscriber.id,
        grant_id,
        status: enabled ? 'pending' : 'skipped',
        created_at: now,
      },
      rows,
    );
    const taken = new Map<string, string>();
    for (const { event_id, id, lease } of rows) if (lease !== null && fresh.has(id)) taken.set(event_id, id);
    made.push({
      endpoint: signingPart(subscriber),
      ids: events.map(({ id }) => taken.get(id) ?? null),
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
