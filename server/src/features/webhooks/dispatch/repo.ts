/** All SQL that turns the log into deliveries. */
import { defineWrites, type Reader, type Sql, type Tx } from '../../../platform/db/database.ts';
import { createIds } from '../../../platform/ids.ts';
import type { StoredEvent } from '../../events/index.ts';
import {
  type DeliveryStatus,
  grantLives,
  type Lease,
  mayLease,
  type SendingEndpoint,
  sendingColumns,
} from '../delivery/repo.ts';
import { type ConnectionEvents, eventsForConnection } from './connection-events.ts';

export interface Lag {
  creator_id: string;
  /** The newest event. */
  head: number;
  /** The last event that became deliveries. */
  position: number;
}

const lagSql = `
SELECT h.creator_id, h.sequence AS head, COALESCE(p.sequence, 0) AS position
FROM creator_heads h LEFT JOIN webhook_positions p ON p.creator_id = h.creator_id`;

export function lagOf(db: Reader, creatorId: string): Promise<Lag | undefined> {
  return db.get(`${lagSql} WHERE h.creator_id = $1`, [creatorId]);
}

/** The next creators in order of id, lagging or not. */
export function lagAfter(db: Reader, creatorId: string, limit: number): Promise<Lag[]> {
  return db.all(`${lagSql} WHERE h.creator_id > $1 ORDER BY h.creator_id LIMIT $2`, [creatorId, limit]);
}

export async function anyEndpoint(db: Reader): Promise<boolean> {
  return (await db.get('SELECT id FROM webhook_endpoints LIMIT 1')) !== undefined;
}

export interface SubscribedEndpoint extends SendingEndpoint {
  types: string | null;
  enabled: number;
  /** Ids of events that the endpoint is too new for, although their time is not before `since`. */
  excluded: string;
  /** `null` for the creator's own connection. */
  grant_id: string | null;
  /** A connection does not get smaller tips. */
  min_amount_minor: number;
  /** The socket of a listener that is open now. */
  session: string | null;
  /** When a listener was open; null for other endpoints. */
  spans: string | null;
  /** Set while the app or the creator is suspended. */
  suspended: number | null;
  /** Events before this instant are not for this endpoint. */
  since: number;
}

const subscriberColumns = 'e.types, e.enabled, e.excluded, e.session, e.spans, e.min_amount_minor';

/**
 * Endpoints that get this creator's events now: of apps, where listeners are open or have just been, and the creator's own
 * connections.
 */
export function subscribedEndpoints(db: Reader, creatorId: string): Promise<SubscribedEndpoint[]> {
  return db.all(
    `SELECT ${sendingColumns('COALESCE(a.owner_id, a.id)', 'NULL')}, ${subscriberColumns}, g.id AS grant_id,
       COALESCE(a.suspended_at, c.suspended_at) AS suspended,
       CASE WHEN e.created_at > g.created_at THEN e.created_at ELSE g.created_at END AS since
     FROM grants g
     JOIN creators c ON c.id = g.creator_id
     JOIN apps a ON a.id = g.client_id AND a.deleted_at IS NULL
     JOIN webhook_endpoints e ON e.client_id = g.client_id
     WHERE g.creator_id = $1 AND ${grantLives}
       AND (e.kind = 'http' OR e.session IS NOT NULL OR e.cancel_at IS NOT NULL)
     UNION ALL
     SELECT ${sendingColumns('c.id', 'c.username')}, ${subscriberColumns}, NULL, c.suspended_at, e.created_at
     FROM webhook_endpoints e JOIN creators c ON c.id = e.creator_id WHERE e.creator_id = $1`,
    [creatorId],
  );
}

/** Moves a creator's position, if it still is where it was read. */
async function movePosition(tx: Tx, { creator_id, position }: Lag, to: number): Promise<boolean> {
  const moved = await tx.run(
    `INSERT INTO webhook_positions (creator_id, sequence) VALUES ($1, $3)
     ON CONFLICT (creator_id) DO UPDATE SET sequence = excluded.sequence WHERE webhook_positions.sequence = $2`,
    [creator_id, position, to],
  );
  return moved > 0;
}

/** These creators have no subscriber: their events become no deliveries. */
async function skipEvents(tx: Tx, lags: readonly Lag[]): Promise<void> {
  for (const lag of lags) await movePosition(tx, lag, lag.head);
}

interface LoggedEvent extends StoredEvent {
  id: string;
  created_at: number;
  traceparent: string | null;
  trace_client_id: string | null;
}

/** By sequence: ids, or of a connection pairs of an id and a tip's id. CROSS: SQLite goes by the list, however long the log. */
const insertSql = (list: string, join: string, id = 's.value', tipId = 'NULL'): string =>
  `INSERT INTO webhook_deliveries
     (creator_id, endpoint_id, grant_id, status, created_at, due_at, lease, event_id, id, tip_id, event_type, sequence)
   SELECT $1, $2, $3, $4, CAST($5 AS BIGINT),
     CASE WHEN e.sequence <= $7 THEN CAST($8 AS BIGINT) ELSE CAST($6 AS BIGINT) END,
     CASE WHEN e.sequence <= $7 THEN $9 END, e.id, ${id}, ${tipId}, e.type, e.sequence
   FROM ${list} AS s ${join} JOIN events e ON e.creator_id = $1 AND e.sequence = CAST(s.key AS BIGINT) WHERE true
   ON CONFLICT (creator_id, endpoint_id, event_id) DO NOTHING`;

const insertDeliveries: Sql = {
  sqlite: insertSql('json_each($10)', 'CROSS'),
  postgres: insertSql('jsonb_each_text(CAST($10 AS jsonb))', ''),
};
const pair = ['s.value ->> 0', 's.value ->> 1'] as const;
const insertForConnection: Sql = {
  sqlite: insertSql('json_each($10)', 'CROSS', ...pair),
  postgres: insertSql('jsonb_each(CAST($10 AS jsonb))', '', ...pair),
};

export interface Creation extends Lag {
  /** Nobody gets an older event. */
  readonly since: number;
  /** How many events at most. */
  readonly limit: number;
  /** How many deliveries the queue of each endpoint has room for. They are created as leased. */
  readonly room: Readonly<Record<string, number>>;
  /** The sockets of listeners that are open at this node. */
  readonly sessions: Readonly<Record<string, string | null>>;
  /** The event types that each kind of connection has words for. */
  readonly connectionTypes: Readonly<Record<string, readonly string[]>>;
}

interface Created {
  readonly events: readonly Omit<LoggedEvent, 'sequence' | 'type' | 'created_at'>[];
  readonly endpoints: readonly {
    readonly endpoint: SendingEndpoint;
    /** For each event the delivery that was leased, if one was. */
    readonly ids: readonly (string | null)[];
    /** Others are due and not leased. */
    readonly more: boolean;
    /** Others are due, and another node has the listener's socket. */
    readonly elsewhere: boolean;
  }[];
}

/**
 * Creates the deliveries for a range of a creator's log: one for each endpoint that an event matches. This transaction
 * decides who gets an event, and an event goes to an endpoint once.
 */
async function createDeliveries(tx: Tx, creation: Creation, lease: Lease): Promise<Created> {
  const { creator_id, position, head, limit } = creation;
  const events = await tx.all<LoggedEvent>(
    `SELECT id, sequence, type, created_at, body, screened, traceparent, trace_client_id FROM events
     WHERE creator_id = $1 AND sequence > $2 AND sequence <= $3 AND created_at >= $4 ORDER BY sequence LIMIT $5`,
    [creator_id, position, head, creation.since, limit],
  );
  const last = events.length === limit ? events.at(-1)?.sequence : undefined;
  if (!(await movePosition(tx, creation, last ?? head))) return { events: [], endpoints: [] };
  // How many ids are needed is known only here.
  const newId = createIds(() => lease.from);
  const endpoints: Created['endpoints'][number][] = [];
  for (const subscriber of await subscribedEndpoints(tx, creator_id)) {
    const { types, excluded, since, enabled, suspended, grant_id, session, spans, min_amount_minor, ...endpoint } =
      subscriber;
    const { wanted, tipIds } = await wantedBy(tx, subscriber, events, creation.connectionTypes);
    if (wanted.length === 0) continue;
    const ids = new Map(wanted.map(({ sequence }) => [sequence, newId('dlv')]));
    const here = mayLease(endpoint.kind, session, creation.sessions[endpoint.id] ?? null);
    const room = here && enabled && suspended === null ? (creation.room[endpoint.id] ?? 0) : 0;
    const leasedUpTo = wanted.slice(0, room).at(-1)?.sequence ?? 0;
    const isConnection = grant_id === null;
    const values = isConnection ? [...ids].map(([at, id]) => [at, [id, tipIds.get(at) ?? null]] as const) : ids;
    const inserted = await tx.run(isConnection ? insertForConnection : insertDeliveries, [
      creator_id,
      endpoint.id,
      grant_id,
      (enabled ? 'pending' : 'skipped') satisfies DeliveryStatus,
      lease.from,
      enabled ? lease.from : null,
      leasedUpTo,
      lease.until,
      lease.token,
      JSON.stringify(Object.fromEntries<unknown>(values)),
    ]);
    const isNew = inserted === wanted.length ? undefined : await leasedIds(tx, endpoint.id, lease);
    const leased = ({ sequence }: LoggedEvent): string | null => {
      const id = sequence <= leasedUpTo ? ids.get(sequence) : undefined;
      return id !== undefined && (!isNew || isNew.has(id)) ? id : null;
    };
    endpoints.push({
      endpoint,
      ids: events.map(leased),
      more: here && enabled === 1 && room < wanted.length,
      elsewhere: !here && session !== null,
    });
  }
  const anyLeased = endpoints.some(({ ids }) => ids.some((id) => id !== null));
  return { events: anyLeased ? events.map(({ sequence, type, created_at, ...event }) => event) : [], endpoints };
}

/** Which deliveries are new, where an event had one already: RETURNING would cost every insert nearly its time again. */
async function leasedIds(tx: Tx, endpointId: string, { token, until }: Lease): Promise<ReadonlySet<string>> {
  const rows = await tx.all<{ id: string }>(
    `SELECT id FROM webhook_deliveries WHERE endpoint_id = $1 AND status = 'pending' AND due_at = $2 AND lease = $3`,
    [endpointId, until, token],
  );
  return new Set(rows.map(({ id }) => id));
}

const noTips: ReadonlyMap<number, string> = new Map();

async function wantedBy(
  tx: Tx,
  subscriber: SubscribedEndpoint,
  events: readonly LoggedEvent[],
  connectionTypes: Creation['connectionTypes'],
): Promise<ConnectionEvents<LoggedEvent>> {
  const { id, kind, grant_id, min_amount_minor: minAmountMinor } = subscriber;
  const wanted = events.filter(isFor(subscriber));
  if (grant_id !== null) return { wanted, tipIds: noTips };
  return eventsForConnection(tx, { id, minAmountMinor, types: connectionTypes[kind] ?? [] }, wanted);
}

function isFor({ types, since, excluded, spans }: SubscribedEndpoint): (event: LoggedEvent) => boolean {
  const wanted: string[] | null = types === null ? null : JSON.parse(types);
  const earlier: string[] = JSON.parse(excluded);
  const open: [from: number, to: number | null][] = JSON.parse(spans ?? '[[0, null]]');
  return ({ id, type, created_at }) =>
    created_at >= since &&
    open.some(([from, to]) => created_at >= from && (to === null || created_at <= to)) &&
    (wanted === null || wanted.includes(type)) &&
    !earlier.includes(id);
}

export const writes = defineWrites(import.meta.url, { createDeliveries, skipEvents });
