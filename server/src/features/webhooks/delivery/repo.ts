/** The SQL that leases and settles deliveries. */
import { defineWrites, type Sql, type Tx } from '../../../platform/db/database.ts';
import { afterAllIds } from '../../../platform/ids.ts';
import { audited } from '../../audit/index.ts';
import { aboutDisabled, type DisabledEndpoint, disableEndpoint } from './disable-repo.ts';

export const deliveryStatuses = ['pending', 'succeeded', 'failed', 'cancelled', 'skipped'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** The kinds of an app's endpoints: up to ten with an address, and one listener. Connections have kinds of their own. */
export const endpointKinds = ['http', 'listener'] as const;
export type EndpointKind = (typeof endpointKinds)[number];

export interface SendingEndpoint {
  id: string;
  /** The creator of a connection, the account of the app, or the app itself if the operator made it. */
  owner: string;
  /** The app to which a webhook belongs. */
  client_id: string | null;
  /** Chooses format and transport. */
  kind: string;
  /** Empty for a listener and for a connection. */
  url: string;
  /** The address of a connection. */
  sealed_url: Uint8Array | null;
  /** The user name of the creator to whom a connection belongs. */
  username: string | null;
  sealed_secret: Uint8Array;
  sealed_old_secret: Uint8Array | null;
  old_secret_until: number | null;
  /** The first failed attempt after the last success; null if the last attempt succeeded. */
  failing_since: number | null;
}

/** Of an endpoint `e`. */
export const sendingColumns = (owner: string, username: string): string =>
  `e.id, ${owner} AS owner, ${username} AS username, e.client_id, e.kind, e.url, e.sealed_url, e.sealed_secret, e.sealed_old_secret,
  e.old_secret_until, e.failing_since`;

/** The grant is live and has the scope to receive events. */
export const grantLives = `g.ended_at IS NULL AND ' ' || g.scope || ' ' LIKE '% events.subscribe %'`;

/** The right to send and to settle a delivery. */
export interface Lease {
  readonly token: string;
  readonly from: number;
  readonly until: number;
  /** The number of changes before the lease (`createLeases`). */
  readonly changes: number;
}

export interface LeasedDelivery {
  creator_id: string;
  id: string;
  event_id: string;
  attempts: string;
  tries: number;
  body: string;
  /** What screens show of a test alert, where that is not what was sent. */
  screened: string | null;
  traceparent: string | null;
  trace_client_id: string | null;
}

interface DueDelivery extends Omit<LeasedDelivery, 'body'> {
  body: string | null;
  grant_id: string | null;
  grant_lives: number;
  creator_suspended: number | null;
}

const dueSql = `
SELECT d.creator_id, d.id, d.event_id, d.grant_id, d.attempts, d.tries, COALESCE(d.body, e.body) AS body,
  e.screened, e.traceparent, e.trace_client_id,
  CASE WHEN ${grantLives} THEN 1 ELSE 0 END AS grant_lives, c.suspended_at AS creator_suspended
FROM webhook_deliveries d
LEFT JOIN grants g ON g.creator_id = d.creator_id AND g.id = d.grant_id
LEFT JOIN creators c ON c.id = d.creator_id
LEFT JOIN events e ON e.creator_id = d.creator_id AND e.sequence = d.sequence
WHERE d.endpoint_id = $1 AND d.status = 'pending' AND d.due_at <= $2
ORDER BY d.due_at LIMIT $3`;

/** The due deliveries of an endpoint, oldest first. Concurrent nodes get different ones. */
const dueDeliveries: Sql = { sqlite: dueSql, postgres: `${dueSql} FOR UPDATE OF d SKIP LOCKED` };

const leaseSql = (ids: string): string =>
  `UPDATE webhook_deliveries SET lease = $2, due_at = $3 WHERE endpoint_id = $1 AND id IN (${ids})`;

const leaseDeliveries: Sql = {
  sqlite: leaseSql('SELECT value FROM json_each($4)'),
  postgres: leaseSql('SELECT jsonb_array_elements_text(CAST($4 AS jsonb))'),
};

/** Deliveries of a suspended app or creator are postponed by this time. */
const suspendedMs = 60_000;

interface LeasedDue {
  /**
   * Undefined if the endpoint was removed, whose deliveries are then deleted, or if it is a listener whose socket is not
   * open at this node.
   */
  readonly endpoint?: SendingEndpoint;
  readonly deliveries: readonly LeasedDelivery[];
  /** More deliveries may be due. */
  readonly more: boolean;
}

/**
 * Leases the due deliveries of an endpoint. Ends or postpones those that must not be sent. `session`: the socket of this
 * listener that is open at this node.
 */
async function leaseDue(
  tx: Tx,
  endpointId: string,
  limit: number,
  lease: Lease,
  session: string | null,
): Promise<LeasedDue> {
  const found = await tx.get<
    SendingEndpoint & { enabled: number; app_suspended: number | null; session: string | null }
  >(
    `SELECT ${sendingColumns('COALESCE(c.id, a.owner_id, a.id)', 'c.username')}, e.enabled, e.session,
       a.suspended_at AS app_suspended
     FROM webhook_endpoints e
     LEFT JOIN apps a ON a.id = e.client_id AND a.deleted_at IS NULL
     LEFT JOIN creators c ON c.id = e.creator_id
     WHERE e.id = $1 AND COALESCE(c.id, a.id) IS NOT NULL`,
    [endpointId],
  );
  if (!found) return { deliveries: [], more: (await deleteDeliveries(tx, endpointId, afterAllIds, 500)) > 0 };
  const { enabled, app_suspended, session: openSession, ...endpoint } = found;
  if (!mayLease(endpoint.kind, openSession, session)) return { deliveries: [], more: false };
  const due = await tx.all<DueDelivery>(dueDeliveries, [endpointId, lease.from, limit]);
  const deliveries: LeasedDelivery[] = [];
  for (const { body, grant_id, grant_lives, creator_suspended, ...delivery } of due) {
    const setStatus = (status: DeliveryStatus, dueAt: number | null = null) =>
      tx.run(
        'UPDATE webhook_deliveries SET status = $3, lease = NULL, due_at = $4 WHERE endpoint_id = $1 AND id = $2',
        [endpointId, delivery.id, status, dueAt],
      );
    if (grant_id !== null && !grant_lives) await setStatus('cancelled');
    else if (!enabled) await setStatus('skipped');
    else if (app_suspended !== null || creator_suspended !== null) await setStatus('pending', lease.from + suspendedMs);
    // The event was pruned from the log.
    else if (body === null) await setStatus('failed');
    else deliveries.push({ ...delivery, body });
  }
  const ids = JSON.stringify(deliveries.map(({ id }) => id));
  if (deliveries.length > 0) await tx.run(leaseDeliveries, [endpointId, lease.token, lease.until, ids]);
  return { endpoint, deliveries, more: due.length >= limit };
}

/**
 * The deliveries of a listener are leased only by the node that has its socket. `openSession`: the session of the socket that
 * is open. `localSession`: the session of the socket that this node has.
 */
export const mayLease = (kind: string, openSession: string | null, localSession: string | null): boolean =>
  kind !== 'listener' || (openSession !== null && openSession === localSession);

/** The outcome of a leased delivery. */
export interface Settlement {
  readonly endpointId: string;
  readonly id: string;
  readonly lease: string;
  readonly status: DeliveryStatus;
  readonly attempts: string;
  readonly tries: number;
  readonly dueAt: number | null;
  /** Those of the schedule when the delivery was leased. A retry sets them to 0. */
  readonly leasedTries: number;
}

/**
 * A retry was asked for while the attempt was under way, and it did not succeed: the schedule begins anew. The delivery is
 * due at once, unless the attempt does not count: the receiver asked for a pause, or nothing was sent. During the first
 * attempt a retry changes nothing.
 */
const restarted = `d.tries < CAST(s.value ->> 7 AS BIGINT) AND s.value ->> 3 <> 'succeeded'`;
const counts = 'CAST(s.value ->> 5 AS BIGINT) > CAST(s.value ->> 7 AS BIGINT)';

const settleSql = (list: string): string =>
  `UPDATE webhook_deliveries AS d SET attempts = s.value ->> 4, lease = NULL,
     status = CASE WHEN ${restarted} THEN 'pending' ELSE s.value ->> 3 END,
     tries = CASE WHEN ${restarted} THEN 0 ELSE CAST(s.value ->> 5 AS BIGINT) END,
     due_at = CASE WHEN ${restarted} AND ${counts} THEN CAST($2 AS BIGINT) ELSE CAST(s.value ->> 6 AS BIGINT) END
   FROM ${list} AS s
   WHERE d.endpoint_id = s.value ->> 0 AND d.id = s.value ->> 1 AND d.lease = s.value ->> 2 AND d.status = 'pending'
   RETURNING id, endpoint_id, status`;

const settleDeliveries: Sql = {
  sqlite: settleSql('json_each($1)'),
  postgres: settleSql('(SELECT jsonb_array_elements(CAST($1 AS jsonb)) AS value)'),
};

/** As JSON arrays: SQLite reads them in two thirds of the time that objects take. */
export const settlementsText = (settlements: readonly Settlement[]): string =>
  JSON.stringify(
    settlements.map((row) => [
      row.endpointId,
      row.id,
      row.lease,
      row.status,
      row.attempts,
      row.tries,
      row.dueAt,
      row.leasedTries,
    ]),
  );

interface Settlements {
  readonly text: string;
  /** Deliveries whose receiver wants nothing more. */
  readonly gone: readonly string[];
  /** Deliveries that were not sent. */
  readonly released: readonly string[];
  readonly now: number;
}

/**
 * Records the outcomes of deliveries whose lease is still valid, and updates their endpoints. Returns the endpoints that it
 * disabled.
 */
async function settle(tx: Tx, { text, now, ...outcomes }: Settlements): Promise<DisabledEndpoint[]> {
  const [gone, released] = [new Set(outcomes.gone), new Set(outcomes.released)];
  const succeeded = new Map<string, boolean>();
  const disabled: DisabledEndpoint[] = [];
  const settled = await tx.all<{ id: string; endpoint_id: string; status: DeliveryStatus }>(settleDeliveries, [
    text,
    now,
  ]);
  for (const { id, endpoint_id, status } of settled) {
    if (released.has(id)) continue;
    succeeded.set(endpoint_id, status === 'succeeded' || (succeeded.get(endpoint_id) ?? false));
    const endpoint = gone.has(id) ? await disableEndpoint(tx, endpoint_id, 'gone', now) : undefined;
    if (endpoint) disabled.push(endpoint);
  }
  for (const [endpointId, anySuccess] of succeeded)
    if (anySuccess)
      await tx.run('UPDATE webhook_endpoints SET failing_since = NULL WHERE id = $1 AND failing_since IS NOT NULL', [
        endpointId,
      ]);
    else
      await tx.run(
        "UPDATE webhook_endpoints SET failing_since = $2 WHERE id = $1 AND failing_since IS NULL AND kind <> 'listener'",
        [endpointId, now],
      );
  return disabled;
}

/** Ends every lease. Only for a database without other server processes. */
async function endLeases(tx: Tx, now: number): Promise<void> {
  await tx.run(
    `UPDATE webhook_deliveries SET lease = NULL, due_at = $1 WHERE status = 'pending' AND lease IS NOT NULL`,
    [now],
  );
}

/** How long what is pending waits for a listener that has closed. */
export const closedListenerMs = 60_000;

/** Called where a delivery to an endpoint is asked for. If it is a closed listener, what is pending waits for its whole time anew. */
export async function restartListenerTimeout(tx: Tx, endpointId: string, now: number): Promise<void> {
  await tx.run(`UPDATE webhook_endpoints SET cancel_at = $2 WHERE id = $1 AND kind = 'listener' AND session IS NULL`, [
    endpointId,
    now + closedListenerMs,
  ]);
}

export function deleteDeliveries(tx: Tx, endpointId: string, before: string, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM webhook_deliveries WHERE endpoint_id = $1 AND id IN
       (SELECT id FROM webhook_deliveries WHERE endpoint_id = $1 AND id < $2 ORDER BY id LIMIT $3)`,
    [endpointId, before, limit],
  );
}

export const writes = defineWrites(import.meta.url, {
  leaseDue,
  settle: audited('webhook.disabled', settle, (disabled) => disabled.map(aboutDisabled)),
  endLeases,
});
