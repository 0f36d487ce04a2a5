import type { Reader, Sql, Tx } from '../../platform/db/database.ts';

export type DisabledReason = 'by_owner' | 'gone' | 'failing';

export interface EndpointRow {
  id: string;
  client_id: string;
  url: string;
  types: string | null;
  description: string | null;
  enabled: number;
  disabled_reason: DisabledReason | null;
  sealed_secret: Uint8Array;
  sealed_old_secret: Uint8Array | null;
  old_secret_until: number | null;
  failing_since: number | null;
  excluded: string;
  created_at: number;
}

/** What is needed to send to an endpoint. */
export type SigningEndpoint = Pick<
  EndpointRow,
  'id' | 'url' | 'sealed_secret' | 'sealed_old_secret' | 'old_secret_until'
>;

/** Without what a row may be large of. */
export const signingPart = (row: EndpointRow): SigningEndpoint => ({
  id: row.id,
  url: row.url,
  sealed_secret: row.sealed_secret,
  sealed_old_secret: row.sealed_old_secret,
  old_secret_until: row.old_secret_until,
});

/** Keeps two requests of one app from both taking its last place. */
const lockApp: Sql = {
  sqlite: 'SELECT id FROM apps WHERE id = $1',
  postgres: 'SELECT id FROM apps WHERE id = $1 FOR UPDATE',
};

export type NewEndpoint = Pick<
  EndpointRow,
  'id' | 'client_id' | 'url' | 'types' | 'description' | 'sealed_secret' | 'created_at'
>;

/** Answers whether there was room for it. */
export async function insertEndpoint(tx: Tx, endpoint: NewEndpoint, most: number): Promise<boolean> {
  await tx.get(lockApp, [endpoint.client_id]);
  const count = await tx.get<{ n: number }>('SELECT COUNT(*) AS n FROM webhook_endpoints WHERE client_id = $1', [
    endpoint.client_id,
  ]);
  if (count!.n >= most) return false;
  const present = await tx.all<{ id: string }>('SELECT id FROM events WHERE created_at >= $1', [endpoint.created_at]);
  await tx.run(
    `INSERT INTO webhook_endpoints (id, client_id, url, types, description, sealed_secret, excluded, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      endpoint.id,
      endpoint.client_id,
      endpoint.url,
      endpoint.types,
      endpoint.description,
      endpoint.sealed_secret,
      JSON.stringify(present.map(({ id }) => id)),
      endpoint.created_at,
    ],
  );
  return true;
}

export function endpointsOf(db: Reader, clientId: string): Promise<EndpointRow[]> {
  return db.all<EndpointRow>('SELECT * FROM webhook_endpoints WHERE client_id = $1 ORDER BY id', [clientId]);
}

export function endpointOf(db: Reader, clientId: string, id: string): Promise<EndpointRow | undefined> {
  return db.get<EndpointRow>('SELECT * FROM webhook_endpoints WHERE client_id = $1 AND id = $2', [clientId, id]);
}

export interface SendingEndpoint extends EndpointRow {
  app_suspended: number | null;
}

/** For sending: the endpoint, and whether its app is suspended. */
export function endpointToSend(db: Reader, id: string): Promise<SendingEndpoint | undefined> {
  return db.get<SendingEndpoint>(
    `SELECT e.*, a.suspended_at AS app_suspended FROM webhook_endpoints e
     JOIN apps a ON a.id = e.client_id WHERE e.id = $1 AND a.deleted_at IS NULL`,
    [id],
  );
}

export async function anyEndpoint(db: Reader): Promise<boolean> {
  return (await db.get('SELECT id FROM webhook_endpoints LIMIT 1')) !== undefined;
}

export type EndpointChange = Pick<EndpointRow, 'url' | 'types' | 'description'>;

export async function updateEndpoint(tx: Tx, id: string, change: EndpointChange): Promise<void> {
  await tx.run('UPDATE webhook_endpoints SET url = $2, types = $3, description = $4 WHERE id = $1', [
    id,
    change.url,
    change.types,
    change.description,
  ]);
}

/** Also starts the count of failing days anew. */
export function enableEndpoint(tx: Tx, id: string): Promise<number> {
  return tx.run(
    `UPDATE webhook_endpoints SET enabled = 1, disabled_reason = NULL, failing_since = NULL
     WHERE id = $1 AND enabled = 0`,
    [id],
  );
}

export function disableEndpoint(tx: Tx, id: string, reason: DisabledReason): Promise<number> {
  return tx.run('UPDATE webhook_endpoints SET enabled = 0, disabled_reason = $2 WHERE id = $1 AND enabled = 1', [
    id,
    reason,
  ]);
}

export function endpointsFailingSince(db: Reader, before: number): Promise<{ id: string }[]> {
  return db.all('SELECT id FROM webhook_endpoints WHERE enabled = 1 AND failing_since <= $1', [before]);
}

export async function markFailing(tx: Tx, id: string, since: number): Promise<void> {
  await tx.run('UPDATE webhook_endpoints SET failing_since = $2 WHERE id = $1 AND failing_since IS NULL', [id, since]);
}

export async function markWorking(tx: Tx, id: string): Promise<void> {
  await tx.run('UPDATE webhook_endpoints SET failing_since = NULL WHERE id = $1 AND failing_since IS NOT NULL', [id]);
}

export async function replaceSecret(tx: Tx, id: string, sealed: Uint8Array, oldUntil: number): Promise<void> {
  await tx.run(
    `UPDATE webhook_endpoints SET sealed_old_secret = sealed_secret, old_secret_until = $3, sealed_secret = $2
     WHERE id = $1`,
    [id, sealed, oldUntil],
  );
}

/** Its deliveries are swept away later: nothing is sent without an endpoint. */
export function deleteEndpoint(tx: Tx, clientId: string, id: string): Promise<number> {
  return tx.run('DELETE FROM webhook_endpoints WHERE client_id = $1 AND id = $2', [clientId, id]);
}
