/** Who receives the events of a creator, and the deliveries of single events: the SQL of traces. */
import type { Reader, Sql } from '../../../platform/db/database.ts';
import { type DeliveryStatus, grantLives } from '../delivery/repo.ts';

export interface ReceiverRow {
  id: string;
  kind: string;
  /** Of the app, or what the creator calls the connection. */
  name: string | null;
  /** Empty for a listener and for a connection, whose address is sealed. */
  url: string;
  /** JSON; null is all. */
  types: string | null;
  enabled: number;
  disabled_at: number | null;
  created_at: number;
  /** When the creator connected the app; null if the app may not receive events now. */
  granted_at: number | null;
  /** Of a connection: smaller tips are not sent. Null for the endpoints of apps. */
  min_amount_minor: number | null;
}

const endpointColumns = 'e.id, e.kind, e.url, e.types, e.enabled, e.disabled_at, e.created_at';

const ofAppsSql = (condition = ''): string =>
  `SELECT ${endpointColumns}, a.name, NULL AS min_amount_minor,
     (SELECT g.created_at FROM grants g WHERE g.creator_id = $1 AND g.client_id = a.id AND ${grantLives}) AS granted_at
   FROM (SELECT DISTINCT client_id FROM grants WHERE creator_id = $1 ${condition}) AS connected
   JOIN apps a ON a.id = connected.client_id
   JOIN webhook_endpoints e ON e.client_id = a.id`;

const receiversOfAll = `${ofAppsSql()}
  UNION ALL
  SELECT ${endpointColumns}, e.description, e.min_amount_minor, e.created_at
  FROM webhook_endpoints e WHERE e.creator_id = $1
  ORDER BY id LIMIT $2`;
const receiversOfApp = `${ofAppsSql('AND client_id = $3')} ORDER BY e.id LIMIT $2`;

/**
 * The endpoints of the apps that the creator has ever connected, and the creator's own connections; or the endpoints of
 * one of the apps.
 */
export function receiversOf(
  db: Reader,
  creatorId: string,
  clientId: string | null,
  limit: number,
): Promise<ReceiverRow[]> {
  return clientId === null
    ? db.all<ReceiverRow>(receiversOfAll, [creatorId, limit])
    : db.all<ReceiverRow>(receiversOfApp, [creatorId, limit, clientId]);
}

/** Of the delivery of an event to an endpoint. */
export interface DeliveryKey {
  readonly endpointId: string;
  readonly eventId: string;
}

export interface EventDeliveryRow {
  endpoint_id: string;
  event_id: string;
  id: string;
  status: DeliveryStatus;
  /** How many attempts are kept. */
  attempts: number;
  due_at: number | null;
  /** When the grant that the delivery is for has ended. */
  ended_at: number | null;
  created_at: number;
}

/** Each key is one probe of the unique index of deliveries. A CROSS JOIN of SQLite keeps the order of its tables. */
const ofKeys = {
  sqlite: `json_each($2) AS k CROSS JOIN webhook_deliveries d
    ON d.creator_id = $1 AND d.endpoint_id = k.value ->> 0 AND d.event_id = k.value ->> 1`,
  postgres: `json_array_elements(CAST($2 AS JSON)) AS k (value) JOIN webhook_deliveries d
    ON d.creator_id = $1 AND d.endpoint_id = k.value ->> 0 AND d.event_id = k.value ->> 1`,
};

const deliveriesSql = (source: string, attempts: string): string =>
  `SELECT d.endpoint_id, d.event_id, d.id, d.status, ${attempts} AS attempts, d.due_at, d.created_at, g.ended_at
   FROM ${source} LEFT JOIN grants g ON g.creator_id = d.creator_id AND g.id = d.grant_id`;

const deliveriesOfKeys: Sql = {
  sqlite: deliveriesSql(ofKeys.sqlite, 'json_array_length(d.attempts)'),
  postgres: deliveriesSql(ofKeys.postgres, 'json_array_length(CAST(d.attempts AS JSON))'),
};

/** Those of these deliveries that there are, in no order. */
export function deliveriesOf(
  db: Reader,
  creatorId: string,
  deliveries: readonly DeliveryKey[],
): Promise<EventDeliveryRow[]> {
  const keys = deliveries.map(({ endpointId, eventId }) => [endpointId, eventId]);
  return db.all<EventDeliveryRow>(deliveriesOfKeys, [creatorId, JSON.stringify(keys)]);
}

export interface AttemptRow {
  delivery_id: string;
  /** From 1, of those that are kept. */
  number: number;
  at: string;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
}

const attemptsSql = (source: string, number: string): string =>
  `SELECT d.id AS delivery_id, ${number} AS number, a.value ->> 'at' AS at,
     CAST(a.value ->> 'status_code' AS BIGINT) AS status_code, CAST(a.value ->> 'duration_ms' AS BIGINT) AS duration_ms,
     a.value ->> 'error' AS error
   FROM ${source} WHERE ${number} > CAST(k.value ->> 2 AS BIGINT) ORDER BY d.id, number`;

/** PostgreSQL takes no text out of JSON with a NUL or half of a character, which older rows may have. */
const readableAttempts = String.raw`CAST(regexp_replace(d.attempts, '\\u(0000|d[89a-f][0-9a-f]{2})', '\\ufffd', 'g') AS JSON)`;

const attemptsOfKeys: Sql = {
  sqlite: attemptsSql(`${ofKeys.sqlite} CROSS JOIN json_each(d.attempts) AS a`, 'a.key + 1'),
  postgres: attemptsSql(
    `${ofKeys.postgres} CROSS JOIN LATERAL json_array_elements(${readableAttempts}) WITH ORDINALITY AS a (value, number)`,
    'a.number',
  ),
};

/** The attempts of each of these deliveries after so many, in order, without what receivers answered. */
export function attemptsOf(
  db: Reader,
  creatorId: string,
  deliveries: readonly (DeliveryKey & { readonly after: number })[],
): Promise<AttemptRow[]> {
  const keys = deliveries.map(({ endpointId, eventId, after }) => [endpointId, eventId, after]);
  return db.all<AttemptRow>(attemptsOfKeys, [creatorId, JSON.stringify(keys)]);
}
