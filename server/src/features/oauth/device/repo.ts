import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';

/** A request of a device, with the current state of its grant and creator once somebody has approved. */
export interface DeviceRow {
  hash: string;
  client_id: string;
  scope: string;
  address: string;
  created_at: number;
  expires_at: number;
  decision: 'approved' | 'denied' | null;
  /** Empty until somebody has decided; `grant_id` and `grant_scope` until somebody has approved. */
  creator_id: string;
  grant_id: string;
  grant_scope: string;
  grant_ended_at: number | null;
  creator_suspended_at: number | null;
  app_public: number;
}

type NewDevice = Pick<DeviceRow, 'hash' | 'client_id' | 'scope' | 'address' | 'created_at' | 'expires_at'> & {
  readonly user_code_hash: string;
};

/** Returns false if another request has this user code. */
async function insertDevice(tx: Tx, device: NewDevice): Promise<boolean> {
  const added = await tx.run(
    `INSERT INTO device_codes (hash, user_code_hash, client_id, scope, address, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (user_code_hash) DO NOTHING`,
    [
      device.hash,
      device.user_code_hash,
      device.client_id,
      device.scope,
      device.address,
      device.created_at,
      device.expires_at,
    ],
  );
  return added === 1;
}

const deviceBy = (column: 'hash' | 'user_code_hash'): string =>
  `SELECT d.hash, d.client_id, d.scope, d.address, d.created_at, d.expires_at, d.decision,
     COALESCE(d.creator_id, '') AS creator_id, COALESCE(d.grant_id, '') AS grant_id,
     COALESCE(g.scope, '') AS grant_scope, g.ended_at AS grant_ended_at, c.suspended_at AS creator_suspended_at,
     a.public AS app_public
   FROM device_codes d
   JOIN apps a ON a.id = d.client_id
   LEFT JOIN grants g ON g.creator_id = d.creator_id AND g.id = d.grant_id
   LEFT JOIN creators c ON c.id = d.creator_id
   WHERE d.${column} = $1`;
const byHash = deviceBy('hash');
const byUserCode = deviceBy('user_code_hash');

export const deviceByHash = (db: Reader, hash: string) => db.get<DeviceRow>(byHash, [hash]);
export const deviceByUserCode = (db: Reader, hash: string) => db.get<DeviceRow>(byUserCode, [hash]);

async function decide(tx: Tx, hash: string, decision: 'approved' | 'denied', creatorId: string, now: number) {
  const changed = await tx.run(
    `UPDATE device_codes SET decision = $2, creator_id = $3
     WHERE hash = $1 AND decision IS NULL AND expires_at > $4`,
    [hash, decision, creatorId, now],
  );
  return changed === 1;
}

/**
 * Approves the request of a device. Returns false if somebody has decided before. The calling write must then approve a
 * grant, and name it by `setDeviceGrant`.
 */
export const claimDevice = (tx: Tx, hash: string, creatorId: string, now: number): Promise<boolean> =>
  decide(tx, hash, 'approved', creatorId, now);

export async function setDeviceGrant(tx: Tx, hash: string, grantId: string): Promise<void> {
  await tx.run('UPDATE device_codes SET grant_id = $2 WHERE hash = $1', [hash, grantId]);
}

function denyDevice(tx: Tx, hash: string, creatorId: string, now: number): Promise<boolean> {
  return decide(tx, hash, 'denied', creatorId, now);
}

/** Decides which of concurrent requests gets the tokens. */
export async function takeApproved(tx: Tx, hash: string): Promise<boolean> {
  return (await tx.run(`DELETE FROM device_codes WHERE hash = $1 AND decision = 'approved'`, [hash])) === 1;
}

function deleteDevicesBefore(tx: Tx, before: number, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM device_codes WHERE hash IN
       (SELECT hash FROM device_codes WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`,
    [before, limit],
  );
}

export const writes = defineWrites(import.meta.url, { insertDevice, denyDevice, deleteDevicesBefore });
