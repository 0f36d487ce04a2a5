/** The SQL of endpoints and of their delivery log. */
import { toTimestamp } from '../../../platform/clock.ts';
import { defineWrites, type Reader, type Sql, type Tx } from '../../../platform/db/database.ts';
import { audited } from '../../audit/index.ts';
import type { NoticeType } from '../../events/index.ts';
import {
  aboutDisabled,
  type DeliveryStatus,
  type DisabledEndpoint,
  type DisabledReason,
  disableEndpoint,
  type EndpointKind,
  grantLives,
  restartListenerTimeout,
} from '../delivery/repo.ts';

export interface EndpointRow {
  id: string;
  kind: EndpointKind;
  /** Empty for a listener. */
  url: string;
  types: string | null;
  description: string | null;
  enabled: number;
  disabled_reason: DisabledReason | null;
  disabled_at: number | null;
  failing_since: number | null;
  /** The socket of a listener that is open now. */
  session: string | null;
  created_at: number;
}

const endpointColumns =
  'id, kind, url, types, description, enabled, disabled_reason, disabled_at, failing_since, session, created_at';

export function endpointsOf(db: Reader, clientId: string): Promise<EndpointRow[]> {
  return db.all(`SELECT ${endpointColumns} FROM webhook_endpoints WHERE client_id = $1 ORDER BY id`, [clientId]);
}

export function endpointOf(db: Reader, clientId: string, id: string): Promise<EndpointRow | undefined> {
  return db.get(`SELECT ${endpointColumns} FROM webhook_endpoints WHERE client_id = $1 AND id = $2`, [clientId, id]);
}

/** Serializes the requests of one app, so that they cannot exceed the limit. */
export const lockApp: Sql = {
  sqlite: 'SELECT id FROM apps WHERE id = $1',
  postgres: 'SELECT id FROM apps WHERE id = $1 FOR UPDATE',
};

/** The ids of events that a new endpoint does not get, although their time is not before its own. */
export async function eventsSince(tx: Tx, at: number): Promise<string[]> {
  const events = await tx.all<{ id: string }>('SELECT id FROM events WHERE created_at >= $1', [at]);
  return events.map(({ id }) => id);
}

interface EndpointInput {
  readonly url: string;
  readonly types: string | null;
  readonly description: string | null;
}

interface NewEndpoint extends EndpointInput {
  readonly id: string;
  readonly sealedSecret: Uint8Array;
  readonly now: number;
  /** The most endpoints of an app. */
  readonly max: number;
}

/** `exists`: the app has an endpoint with this id. `too_many`: it has the most endpoints already. */
async function addEndpoint(tx: Tx, clientId: string, endpoint: NewEndpoint): Promise<'added' | 'exists' | 'too_many'> {
  await tx.get(lockApp, [clientId]);
  const known = (await endpointsOf(tx, clientId)).filter(({ kind }) => kind === 'http');
  if (known.some((each) => each.id === endpoint.id)) return 'exists';
  if (known.length >= endpoint.max) return 'too_many';
  const { id, url, types, description, sealedSecret, now } = endpoint;
  const excluded = await eventsSince(tx, now);
  await tx.run(
    `INSERT INTO webhook_endpoints (id, client_id, url, types, description, sealed_secret, excluded, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [id, clientId, url, types, description, sealedSecret, JSON.stringify(excluded), now],
  );
  return 'added';
}

type EndpointChange = Partial<EndpointInput> & { readonly enabled?: boolean };

/** Fields that are left out do not change. Enabling resets the count of failing days. */
async function changeEndpoint(
  tx: Tx,
  clientId: string,
  id: string,
  { enabled, ...input }: EndpointChange,
  now: number,
): Promise<boolean> {
  const row = await endpointOf(tx, clientId, id);
  if (!row) return false;
  const { url, types, description } = { ...row, ...input };
  await tx.run('UPDATE webhook_endpoints SET url = $2, types = $3, description = $4 WHERE id = $1', [
    id,
    url,
    types,
    description,
  ]);
  if (enabled === true)
    await tx.run(
      `UPDATE webhook_endpoints SET enabled = 1, disabled_reason = NULL, disabled_at = NULL, failing_since = NULL
       WHERE id = $1 AND enabled = 0`,
      [id],
    );
  if (enabled === false) await disableEndpoint(tx, id, 'by_owner', now);
  return true;
}

/** Housekeeping deletes the deliveries later: none is sent without an endpoint. */
function removeEndpoint(tx: Tx, clientId: string, id: string): Promise<number> {
  return tx.run('DELETE FROM webhook_endpoints WHERE client_id = $1 AND id = $2', [clientId, id]);
}

/** Disables an endpoint that has had attempts but no success since before `since`. Returns it, if there was one. */
async function disableFailing(tx: Tx, since: number, now: number): Promise<DisabledEndpoint | undefined> {
  const failing = await tx.get<{ id: string }>(
    `SELECT id FROM webhook_endpoints WHERE enabled = 1 AND failing_since <= $1 AND kind <> 'listener'
     ORDER BY failing_since LIMIT 1`,
    [since],
  );
  return failing && disableEndpoint(tx, failing.id, 'failing', now);
}

/** Disabled endpoints that have deliveries to skip, or requests in flight. */
export function disabledWithPending(db: Reader): Promise<{ id: string }[]> {
  return db.all(
    `SELECT e.id FROM webhook_endpoints e WHERE e.enabled = 0
       AND EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.endpoint_id = e.id AND d.status = 'pending')`,
  );
}

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

/** Makes a delivery due now, or at the end of its lease. Returns whether it may be sent again. */
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

export const writes = defineWrites(import.meta.url, {
  addEndpoint: audited('webhook.created', addEndpoint, (outcome, clientId, { id }) => {
    return outcome === 'added' && { clientId, details: { webhook: id } };
  }),
  changeEndpoint: audited('webhook.changed', changeEndpoint, (changed, clientId, id, change) => {
    return changed && { clientId, details: { webhook: id, fields: Object.keys(change).join(' ') } };
  }),
  removeEndpoint: audited('webhook.removed', removeEndpoint, (removed, clientId, id) => {
    return removed > 0 && { clientId, details: { webhook: id } };
  }),
  disableFailing: audited('webhook.disabled', disableFailing, (disabled) => disabled && aboutDisabled(disabled)),
  insertNotice,
  retryDelivery,
  replayDeliveries,
});
