/** The SQL of apps' endpoints. */
import { defineWrites, type Reader, type Sql, type Tx } from '../../../platform/db/database.ts';
import { audited } from '../../audit/index.ts';
import {
  aboutDisabled,
  type DisabledEndpoint,
  type DisabledReason,
  disableEndpoint,
} from '../delivery/disable-repo.ts';
import type { EndpointKind } from '../delivery/repo.ts';

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
});
