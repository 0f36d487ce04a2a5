/** The SQL of the delivery log of an endpoint. */
import { toTimestamp } from '../../../platform/clock.ts';
import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';
import type { NoticeType } from '../../events/index.ts';
import { type DeliveryStatus, grantLives, restartListenerTimeout } from '../delivery/repo.ts';
import type { EndpointRow } from './repo.ts';

export interface DeliveryRow {
  id: string;
  event_id: string;
  event_type: string;
  status: DeliveryStatus;
  attempts: string;
  due_at: number | null;
  created_at: number;
}

const deliveryColumns = 'id, event_id, event_type, status, attempts, due_at, created_at';

export interface Notice {
  readonly eventId: string;
  readonly type: NoticeType;
  readonly creatorId: string | null;
  readonly data: object;
  readonly now: number;
}

/** The delivery of an event that is in no creator's log: it has no sequence and stores its body. */
export async function insertNotice(
  tx: Tx,
  endpoint: Pick<EndpointRow, 'id' | 'enabled'>,
  { eventId, type, creatorId, data, now }: Notice,
  deliveryId: string,
): Promise<DeliveryRow> {
  const row: DeliveryRow = {
    id: deliveryId,
    event_id: eventId,
    event_type: type,
    status: endpoint.enabled ? 'pending' : 'skipped',
    attempts: '[]',
    due_at: endpoint.enabled ? now : null,
    created_at: now,
  };
  const body = JSON.stringify({
    id: eventId,
    type,
    sequence: null,
    test: false,
    replay: false,
    creator_id: creatorId,
    created_at: toTimestamp(now),
    data,
  });
  await tx.run(
    `INSERT INTO webhook_deliveries (creator_id, endpoint_id, ${deliveryColumns}, body)
     VALUES ('', $1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [endpoint.id, row.id, row.event_id, row.event_type, row.status, row.attempts, row.due_at, row.created_at, body],
  );
  await restartListenerTimeout(tx, endpoint.id, now);
  return row;
}

export function deliveryById(db: Reader, endpointId: string, id: string): Promise<DeliveryRow | undefined> {
  return db.get(`SELECT ${deliveryColumns} FROM webhook_deliveries WHERE endpoint_id = $1 AND id = $2`, [
    endpointId,
    id,
  ]);
}

interface DeliveriesWanted {
  /** An id: older ones are wanted. */
  readonly before: string;
  /** An id: this one and newer ones are wanted. */
  readonly from: string;
  readonly status: DeliveryStatus | null;
  readonly limit: number;
  /** Of their attempts. */
  readonly maxBytes: number;
}

/**
 * Up to `limit` deliveries, the newest first, until they exceed `maxBytes`; at least two if there are two. So the caller,
 * who shows no more than fit and at least one, always sees whether there is another one.
 */
export function deliveriesPage(
  db: Reader,
  endpointId: string,
  { before, from, status, limit, maxBytes }: DeliveriesWanted,
): Promise<DeliveryRow[]> {
  const filter = status === null ? '' : 'AND status = $6';
  return db.all(
    `SELECT ${deliveryColumns} FROM
       (SELECT ${deliveryColumns}, ROW_NUMBER() OVER (ORDER BY id DESC) AS place,
          SUM(OCTET_LENGTH(attempts)) OVER (ORDER BY id DESC) - OCTET_LENGTH(attempts) AS newer
        FROM (SELECT ${deliveryColumns} FROM webhook_deliveries
          WHERE endpoint_id = $1 AND id < $2 AND id >= $3 ${filter} ORDER BY id DESC LIMIT $4) AS newest) AS measured
     WHERE newer <= $5 OR place = 2 ORDER BY id DESC`,
    [endpointId, before, from, limit, maxBytes, ...(status === null ? [] : [status])],
  );
}

/** The id of the delivery so many before this one, if there are so many. */
export async function deliveryBefore(
  db: Reader,
  endpointId: string,
  before: string,
  count: number,
): Promise<string | undefined> {
  const row = await db.get<{ id: string }>(
    `SELECT id FROM webhook_deliveries WHERE endpoint_id = $1 AND id < $2
     ORDER BY id DESC LIMIT 1 OFFSET CAST($3 AS BIGINT)`,
    [endpointId, before, count - 1],
  );
  return row?.id;
}

/** The body that was sent; `null` if the app may not see it any more. */
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

/**
 * Deliveries of an ended grant, or of an event that was pruned from the log, cannot be sent again. Nor can those by which a
 * connection tells of a tip that is voided now.
 */
const maySendAgain = `
  (webhook_deliveries.grant_id IS NULL OR EXISTS (SELECT 1 FROM grants g
    WHERE g.creator_id = webhook_deliveries.creator_id AND g.id = webhook_deliveries.grant_id AND ${grantLives}))
  AND (sequence IS NULL OR EXISTS (SELECT 1 FROM events e
    WHERE e.creator_id = webhook_deliveries.creator_id AND e.sequence = webhook_deliveries.sequence))
  AND NOT EXISTS (SELECT 1 FROM tips t
    WHERE t.creator_id = webhook_deliveries.creator_id AND t.id = webhook_deliveries.tip_id AND t.voided_at IS NOT NULL)`;

/**
 * Makes a delivery due now or, while an attempt is under way, as soon as that fails (after a first attempt, when the
 * schedule says). Returns whether it may be sent again.
 */
async function retryDelivery(tx: Tx, endpointId: string, id: string, now: number): Promise<boolean> {
  const retried = await tx.run(
    `UPDATE webhook_deliveries SET status = 'pending', tries = 0,
       due_at = CASE WHEN status = 'pending' AND lease IS NOT NULL THEN due_at ELSE CAST($3 AS BIGINT) END
     WHERE endpoint_id = $1 AND id = $2 AND status <> 'cancelled' AND ${maySendAgain}`,
    [endpointId, id, now],
  );
  if (retried > 0) await restartListenerTimeout(tx, endpointId, now);
  return retried > 0;
}

/** The delivery of a span after so many others, oldest first. */
export function deliveryAt(
  db: Reader,
  endpointId: string,
  { after, before }: { after: string; before: string },
  index: number,
): Promise<{ id: string } | undefined> {
  return db.get(
    `SELECT id FROM webhook_deliveries WHERE endpoint_id = $1 AND id > $2 AND id < $3
     ORDER BY id LIMIT 1 OFFSET CAST($4 AS BIGINT)`,
    [endpointId, after, before, index],
  );
}

interface ReplaySpan {
  readonly after: string;
  readonly before: string;
  readonly now: number;
  readonly limit: number;
}

/** Reads up to `limit` deliveries of the span. Returns how many are due again, and the id of the last one read. */
async function replayDeliveries(
  tx: Tx,
  endpointId: string,
  { after, before, now, limit }: ReplaySpan,
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
       AND event_type <> 'webhook.ping' AND ${maySendAgain}`,
    [endpointId, after, last, now],
  );
  if (queued > 0) await restartListenerTimeout(tx, endpointId, now);
  return { queued, last };
}

export const writes = defineWrites(import.meta.url, { insertNotice, retryDelivery, replayDeliveries });
