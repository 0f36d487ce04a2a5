import type { Reader, Sql, Tx } from '../../platform/db/database.ts';

export const deliveryStatuses = ['pending', 'succeeded', 'failed', 'cancelled', 'skipped'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export interface DeliveryRow {
  creator_id: string;
  endpoint_id: string;
  event_id: string;
  id: string;
  grant_id: string | null;
  event_type: string;
  sequence: number | null;
  body: string | null;
  status: DeliveryStatus;
  attempts: string;
  tries: number;
  due_at: number | null;
  lease: string | null;
  created_at: number;
}

/** What the deliveries made together for one endpoint share. */
export type DeliveryBatch = Pick<
  DeliveryRow,
  'creator_id' | 'endpoint_id' | 'grant_id' | 'status' | 'created_at' | 'due_at' | 'lease'
>;

const columns = 'creator_id, endpoint_id, grant_id, status, created_at, due_at, lease, event_id, id, event_type';

const ofEventsSql = (list: string, join: string): string =>
  `INSERT INTO webhook_deliveries (${columns}, sequence)
   SELECT $1, $2, $3, $4, CAST($5 AS BIGINT), CAST($6 AS BIGINT), $7, e.id, s.value, e.type, e.sequence
   FROM ${list} AS s ${join} JOIN events e ON e.creator_id = $1 AND e.sequence = CAST(s.key AS BIGINT) WHERE true
   ON CONFLICT (creator_id, endpoint_id, event_id) DO NOTHING`;

/** CROSS: by the list, however long the log. */
const ofEvents: Sql = {
  sqlite: ofEventsSql('json_each($8)', 'CROSS'),
  postgres: ofEventsSql('jsonb_each_text(CAST($8 AS jsonb))', ''),
};

/**
 * A delivery for each of these events of the log: ids by sequence. Answers how many are new: an event goes to an
 * endpoint once.
 */
export function insertOfEvents(tx: Tx, batch: DeliveryBatch, ids: Readonly<Record<number, string>>): Promise<number> {
  return tx.run(ofEvents, [...valuesOf(batch), JSON.stringify(ids)]);
}

export type NewNotice = DeliveryBatch & Pick<DeliveryRow, 'event_id' | 'id' | 'event_type' | 'body'>;

/** A delivery of what is in no log. */
export async function insertNotice(tx: Tx, row: NewNotice): Promise<void> {
  await tx.run(
    `INSERT INTO webhook_deliveries (${columns}, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [...valuesOf(row), row.event_id, row.id, row.event_type, row.body],
  );
}

const valuesOf = (row: DeliveryBatch) => [
  row.creator_id,
  row.endpoint_id,
  row.grant_id,
  row.status,
  row.created_at,
  row.due_at,
  row.lease,
];

/** A grant that lives and lets its app receive events. */
const grantLives = `g.ended_at IS NULL AND ' ' || g.scope || ' ' LIKE '% events.subscribe %'`;

export interface DueDelivery
  extends Pick<DeliveryRow, 'creator_id' | 'id' | 'event_id' | 'grant_id' | 'attempts' | 'tries'> {
  body: string | null;
  grant_lives: number;
  creator_suspended: number | null;
}

const dueSql = `
SELECT d.creator_id, d.id, d.event_id, d.grant_id, d.attempts, d.tries, COALESCE(d.body, e.body) AS body,
  CASE WHEN ${grantLives} THEN 1 ELSE 0 END AS grant_lives, c.suspended_at AS creator_suspended
FROM webhook_deliveries d
LEFT JOIN grants g ON g.creator_id = d.creator_id AND g.id = d.grant_id
LEFT JOIN creators c ON c.id = d.creator_id
LEFT JOIN events e ON e.creator_id = d.creator_id AND e.sequence = d.sequence
WHERE d.endpoint_id = $1 AND d.status = 'pending' AND d.due_at <= $2
ORDER BY d.due_at LIMIT $3`;

/** What is due of an endpoint, oldest first. Several nodes that ask at once get different ones. */
const due: Sql = { sqlite: dueSql, postgres: `${dueSql} FOR UPDATE OF d SKIP LOCKED` };

export function dueDeliveries(tx: Tx, endpointId: string, now: number, limit: number): Promise<DueDelivery[]> {
  return tx.all<DueDelivery>(due, [endpointId, now, limit]);
}

const leaseSql = (ids: string): string =>
  `UPDATE webhook_deliveries SET lease = $2, due_at = $3 WHERE endpoint_id = $1 AND id IN (${ids})`;

const leaseAll: Sql = {
  sqlite: leaseSql('SELECT value FROM json_each($4)'),
  postgres: leaseSql('SELECT jsonb_array_elements_text(CAST($4 AS jsonb))'),
};

/** Claims what was just read as due. */
export async function lease(
  tx: Tx,
  endpointId: string,
  ids: readonly string[],
  token: string,
  until: number,
): Promise<void> {
  if (ids.length > 0) await tx.run(leaseAll, [endpointId, token, until, JSON.stringify(ids)]);
}

/** Puts off what was just read as due, without an attempt. */
export async function postpone(tx: Tx, endpointId: string, id: string, until: number): Promise<void> {
  await tx.run('UPDATE webhook_deliveries SET lease = NULL, due_at = $3 WHERE endpoint_id = $1 AND id = $2', [
    endpointId,
    id,
    until,
  ]);
}

/** Ends what was just read as due, without an attempt. */
export async function close(tx: Tx, endpointId: string, id: string, status: DeliveryStatus): Promise<void> {
  await tx.run(
    'UPDATE webhook_deliveries SET status = $3, lease = NULL, due_at = NULL WHERE endpoint_id = $1 AND id = $2',
    [endpointId, id, status],
  );
}

export interface Settlement {
  readonly endpointId: string;
  readonly id: string;
  readonly lease: string;
  readonly status: DeliveryStatus;
  readonly attempts: string;
  readonly tries: number;
  readonly dueAt: number | null;
}

const settleSql = (list: string): string =>
  `UPDATE webhook_deliveries AS d SET status = s.value ->> 3, attempts = s.value ->> 4,
     tries = CAST(s.value ->> 5 AS BIGINT), due_at = CAST(s.value ->> 6 AS BIGINT), lease = NULL
   FROM ${list} AS s
   WHERE d.endpoint_id = s.value ->> 0 AND d.id = s.value ->> 1 AND d.lease = s.value ->> 2 AND d.status = 'pending'
   RETURNING id, endpoint_id, status`;

const settleAll: Sql = {
  sqlite: settleSql('json_each($1)'),
  postgres: settleSql('(SELECT jsonb_array_elements(CAST($1 AS jsonb)) AS value)'),
};

export const settlementsText = (list: readonly Settlement[]): string =>
  JSON.stringify(
    list.map((row) => [row.endpointId, row.id, row.lease, row.status, row.attempts, row.tries, row.dueAt]),
  );

/** Only who still holds the lease can settle. Answers those that were. */
export function settle(tx: Tx, settlements: string): Promise<Pick<DeliveryRow, 'id' | 'endpoint_id' | 'status'>[]> {
  return tx.all(settleAll, [settlements]);
}

/** Ends every lease: whoever held one is gone. */
export async function endLeases(tx: Tx, now: number): Promise<void> {
  await tx.run(
    `UPDATE webhook_deliveries SET lease = NULL, due_at = $1 WHERE status = 'pending' AND lease IS NOT NULL`,
    [now],
  );
}

/** Each endpoint that has pending deliveries and when its first is due, found without reading them all. */
export function waitingEndpoints(db: Reader): Promise<{ id: string; due_at: number }[]> {
  return db.all(
    `WITH RECURSIVE waiting (id) AS (
       SELECT MIN(endpoint_id) FROM webhook_deliveries WHERE status = 'pending'
       UNION ALL
       SELECT (SELECT MIN(endpoint_id) FROM webhook_deliveries WHERE status = 'pending' AND endpoint_id > waiting.id)
       FROM waiting WHERE waiting.id IS NOT NULL
     )
     SELECT id, (SELECT MIN(due_at) FROM webhook_deliveries WHERE status = 'pending' AND endpoint_id = waiting.id) AS due_at
     FROM waiting WHERE id IS NOT NULL`,
  );
}

/** The grant ended or lost `events.subscribe`: what is under way for it settles nothing any more. */
export async function cancelGrant(tx: Tx, clientId: string, grantId: string): Promise<void> {
  await tx.run(
    `UPDATE webhook_deliveries SET status = 'cancelled', lease = NULL, due_at = NULL
     WHERE endpoint_id IN (SELECT id FROM webhook_endpoints WHERE client_id = $1)
       AND status = 'pending' AND grant_id = $2`,
    [clientId, grantId],
  );
}

/** The endpoint was disabled. What is under way still settles. */
export async function skipPending(tx: Tx, endpointId: string, now: number): Promise<void> {
  await tx.run(
    `UPDATE webhook_deliveries SET status = 'skipped', lease = NULL, due_at = NULL
     WHERE endpoint_id = $1 AND status = 'pending' AND (lease IS NULL OR due_at <= $2)`,
    [endpointId, now],
  );
}

export function deliveryById(db: Reader, endpointId: string, id: string): Promise<DeliveryRow | undefined> {
  return db.get<DeliveryRow>('SELECT * FROM webhook_deliveries WHERE endpoint_id = $1 AND id = $2', [endpointId, id]);
}

/** Newest first. */
export function deliveriesPage(
  db: Reader,
  endpointId: string,
  { before, status, limit }: { before: string; status: DeliveryStatus | null; limit: number },
): Promise<DeliveryRow[]> {
  const filter = status === null ? '' : 'AND status = $4';
  return db.all<DeliveryRow>(
    `SELECT * FROM webhook_deliveries WHERE endpoint_id = $1 AND id < $2 ${filter} ORDER BY id DESC LIMIT $3`,
    [endpointId, before, limit, ...(status === null ? [] : [status])],
  );
}

/** What was sent, unless the app may not see it any more. */
export async function shownBody(db: Reader, endpointId: string, id: string): Promise<string | null> {
  const row = await db.get<{ body: string | null }>(
    `SELECT COALESCE(d.body, e.body) AS body FROM webhook_deliveries d
     LEFT JOIN grants g ON g.creator_id = d.creator_id AND g.id = d.grant_id
     LEFT JOIN events e ON e.creator_id = d.creator_id AND e.sequence = d.sequence
     WHERE d.endpoint_id = $1 AND d.id = $2 AND (d.grant_id IS NULL OR (${grantLives}))`,
    [endpointId, id],
  );
  return row?.body ?? null;
}

/** A grant that is over makes its deliveries final; one that nobody else is sending right now can go again. */
const mayGoAgain = `
  (webhook_deliveries.grant_id IS NULL OR EXISTS (SELECT 1 FROM grants g
    WHERE g.creator_id = webhook_deliveries.creator_id AND g.id = webhook_deliveries.grant_id AND ${grantLives}))
  AND (sequence IS NULL OR EXISTS (SELECT 1 FROM events e
    WHERE e.creator_id = webhook_deliveries.creator_id AND e.sequence = webhook_deliveries.sequence))`;

export function queueAgain(tx: Tx, endpointId: string, id: string, now: number): Promise<number> {
  return tx.run(
    `UPDATE webhook_deliveries SET status = 'pending', tries = 0,
       due_at = CASE WHEN status = 'pending' AND lease IS NOT NULL THEN due_at ELSE CAST($3 AS BIGINT) END
     WHERE endpoint_id = $1 AND id = $2 AND status <> 'cancelled' AND ${mayGoAgain}`,
    [endpointId, id, now],
  );
}

/** Up to `limit` deliveries after the id `after` and before `before`; answers those that were queued, in order. */
export async function queueSpan(
  tx: Tx,
  endpointId: string,
  { after, before, now, limit }: { after: string; before: string; now: number; limit: number },
): Promise<{ queued: number; last: string | undefined }> {
  const ids = await tx.all<{ id: string }>(
    'SELECT id FROM webhook_deliveries WHERE endpoint_id = $1 AND id > $2 AND id < $3 ORDER BY id LIMIT $4',
    [endpointId, after, before, limit],
  );
  const last = ids.at(-1)?.id;
  if (last === undefined) return { queued: 0, last };
  const queued = await tx.run(
    `UPDATE webhook_deliveries SET status = 'pending', tries = 0, due_at = $4
     WHERE endpoint_id = $1 AND id > $2 AND id <= $3 AND status IN ('succeeded', 'failed', 'skipped')
       AND event_type <> 'webhook.ping' AND ${mayGoAgain}`,
    [endpointId, after, last, now],
  );
  return { queued, last };
}

/** The next endpoint id that deliveries name, existing or not. */
export async function nextEndpointId(db: Reader, after: string): Promise<string | null> {
  const row = await db.get<{ id: string | null }>(
    'SELECT MIN(endpoint_id) AS id FROM webhook_deliveries WHERE endpoint_id > $1',
    [after],
  );
  return row?.id ?? null;
}

export function deleteDeliveries(tx: Tx, endpointId: string, before: string, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM webhook_deliveries WHERE endpoint_id = $1 AND id IN
       (SELECT id FROM webhook_deliveries WHERE endpoint_id = $1 AND id < $2 ORDER BY id LIMIT $3)`,
    [endpointId, before, limit],
  );
}
