/** The SQL of endpoints that belong to a creator. */
import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';
import { lockCreator } from '../../accounts/index.ts';
import { audited } from '../../audit/index.ts';
import { type DisabledReason, disableEndpoint } from '../delivery/disable-repo.ts';
import { eventsSince } from './repo.ts';

export interface ConnectionRow {
  id: string;
  kind: string;
  sealed_url: Uint8Array;
  sealed_secret: Uint8Array;
  description: string | null;
  min_amount_minor: number;
  enabled: number;
  disabled_reason: DisabledReason | null;
  disabled_at: number | null;
  failing_since: number | null;
  created_at: number;
}

const columns =
  'id, kind, sealed_url, sealed_secret, description, min_amount_minor, enabled, disabled_reason, disabled_at, failing_since, created_at';

export function connectionsOf(db: Reader, creatorId: string): Promise<ConnectionRow[]> {
  return db.all(`SELECT ${columns} FROM webhook_endpoints WHERE creator_id = $1 ORDER BY id`, [creatorId]);
}

export function connectionOf(db: Reader, creatorId: string, id: string): Promise<ConnectionRow | undefined> {
  return db.get(`SELECT ${columns} FROM webhook_endpoints WHERE creator_id = $1 AND id = $2`, [creatorId, id]);
}

/** The tips that deliveries of a connection are about, from one id to another. */
export function tipsOfDeliveries(
  db: Reader,
  endpointId: string,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<{ id: string; tip_id: string }[]> {
  return db.all(
    'SELECT id, tip_id FROM webhook_deliveries WHERE endpoint_id = $1 AND id >= $2 AND id <= $3 AND tip_id IS NOT NULL',
    [endpointId, from, to],
  );
}

interface NewConnection {
  readonly id: string;
  readonly kind: string;
  readonly sealedUrl: Uint8Array;
  readonly sealedSecret: Uint8Array;
  readonly description: string | null;
  readonly minAmountMinor: number;
  readonly now: number;
  /** The most connections of a creator. */
  readonly max: number;
}

/** `exists`: the creator has a connection with this id. `too_many`: there are the most already. */
async function addConnection(
  tx: Tx,
  creatorId: string,
  connection: NewConnection,
): Promise<'added' | 'exists' | 'too_many'> {
  // So that several requests at once cannot exceed the limit.
  await lockCreator(tx, creatorId);
  const known = await connectionsOf(tx, creatorId);
  if (known.some(({ id }) => id === connection.id)) return 'exists';
  if (known.length >= connection.max) return 'too_many';
  const { id, kind, sealedUrl, sealedSecret, description, minAmountMinor, now } = connection;
  const excluded = await eventsSince(tx, now);
  await tx.run(
    `INSERT INTO webhook_endpoints
       (id, client_id, creator_id, kind, url, sealed_url, sealed_secret, description, min_amount_minor, excluded, created_at)
     VALUES ($1, '', $2, $3, '', $4, $5, $6, $7, $8, $9)`,
    [id, creatorId, kind, sealedUrl, sealedSecret, description, minAmountMinor, JSON.stringify(excluded), now],
  );
  return 'added';
}

interface ConnectionChange {
  readonly sealedUrl?: Uint8Array;
  readonly sealedSecret?: Uint8Array;
  readonly description?: string | null;
  readonly minAmountMinor?: number;
  readonly enabled?: boolean;
}

/** Fields that are left out do not change. Enabling resets the count of failing days. Returns the kind, if there is one. */
async function changeConnection(
  tx: Tx,
  creatorId: string,
  id: string,
  change: ConnectionChange,
  now: number,
): Promise<string | undefined> {
  const row = await connectionOf(tx, creatorId, id);
  if (!row) return undefined;
  await tx.run(
    `UPDATE webhook_endpoints SET sealed_url = $3, sealed_secret = $4, description = $5, min_amount_minor = $6
     WHERE creator_id = $1 AND id = $2`,
    [
      creatorId,
      id,
      change.sealedUrl ?? row.sealed_url,
      change.sealedSecret ?? row.sealed_secret,
      change.description === undefined ? row.description : change.description,
      change.minAmountMinor ?? row.min_amount_minor,
    ],
  );
  if (change.enabled === true)
    await tx.run(
      `UPDATE webhook_endpoints SET enabled = 1, disabled_reason = NULL, disabled_at = NULL, failing_since = NULL
       WHERE creator_id = $1 AND id = $2 AND enabled = 0`,
      [creatorId, id],
    );
  if (change.enabled === false) await disableEndpoint(tx, id, 'by_owner', now);
  return row.kind;
}

/** Housekeeping deletes the deliveries later: none is sent without an endpoint. Returns the kind, if there was one. */
async function removeConnection(tx: Tx, creatorId: string, id: string): Promise<string | undefined> {
  const sql = 'DELETE FROM webhook_endpoints WHERE creator_id = $1 AND id = $2 RETURNING kind';
  return (await tx.get<{ kind: string }>(sql, [creatorId, id]))?.kind;
}

interface OwnEvent {
  readonly deliveryId: string;
  readonly eventId: string;
  readonly type: string;
  readonly body: string;
  readonly now: number;
}

/** The delivery of an event that goes to this connection alone: it has no sequence and stores its body. */
async function sendToConnection(tx: Tx, creatorId: string, id: string, event: OwnEvent): Promise<void> {
  const { deliveryId, eventId, type, body, now } = event;
  await tx.run(
    `INSERT INTO webhook_deliveries (creator_id, endpoint_id, id, event_id, event_type, status, due_at, created_at, body)
     VALUES ($1, $2, $3, $4, $5, 'pending', $6, $6, $7)`,
    [creatorId, id, deliveryId, eventId, type, now, body],
  );
}

export const writes = defineWrites(import.meta.url, {
  addConnection: audited('connection.added', addConnection, (outcome, creatorId, { kind }) => {
    return outcome === 'added' && { creatorId, details: { kind } };
  }),
  changeConnection: audited('connection.changed', changeConnection, (kind, creatorId) => {
    return kind !== undefined && { creatorId, details: { kind } };
  }),
  removeConnection: audited('connection.removed', removeConnection, (kind, creatorId) => {
    return kind !== undefined && { creatorId, details: { kind } };
  }),
  sendToConnection,
});
