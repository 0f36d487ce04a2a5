/**
 * Families of refresh tokens.
 *
 * - Of a confidential app a family has no life of its own: the creator approves the app, and the grant holds its scopes.
 * - Of a public app each connected device is a family. The scopes of the grant are those of its live families together,
 *   so they change whenever a family begins or ends, and the last device that disconnects ends the grant.
 * - Whoever changes the families of a public app locks the grant first. So two devices that connect at once are both
 *   counted, and no two writes wait for each other.
 */
import type { Tx } from '../../../platform/db/database.ts';
import { formatScopes, knownScopes } from '../scopes.ts';

/** A family of refresh tokens with its first token. */
export interface NewFamily {
  readonly familyId: string;
  readonly expiresAt: number;
  readonly refreshKey: string;
  readonly refreshExpiresAt: number;
}

interface FamilyOfGrant extends NewFamily {
  readonly creatorId: string;
  readonly grantId: string;
  readonly scope: string;
  readonly now: number;
  readonly publicApp: boolean;
}

const livingApp = 'SELECT public FROM apps WHERE id = $1 AND deleted_at IS NULL';

/** Returns nothing if the app was deleted. The lock keeps it from being deleted until this write has ended. */
export async function isPublicApp(tx: Tx, clientId: string): Promise<boolean | undefined> {
  const sql = { sqlite: livingApp, postgres: `${livingApp} FOR SHARE` };
  const app = await tx.get<{ public: number }>(sql, [clientId]);
  return app && app.public === 1;
}

export async function insertFamily(tx: Tx, family: FamilyOfGrant): Promise<void> {
  const { creatorId, familyId, grantId, now, publicApp } = family;
  if (publicApp) await lockGrant(tx, creatorId, grantId);
  await tx.run(
    'INSERT INTO families (creator_id, id, grant_id, scope, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)',
    [creatorId, familyId, grantId, family.scope, now, family.expiresAt],
  );
  await insertRefreshToken(tx, family.refreshKey, creatorId, familyId, null, now, family.refreshExpiresAt);
  if (publicApp) await updateDevices(tx, creatorId, grantId, now);
}

export async function insertRefreshToken(
  tx: Tx,
  key: string,
  creatorId: string,
  familyId: string,
  parentKey: string | null,
  now: number,
  expiresAt: number,
): Promise<void> {
  await tx.run(
    'INSERT INTO refresh_tokens (hash, creator_id, family_id, parent_hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)',
    [key, creatorId, familyId, parentKey, now, expiresAt],
  );
}

/** Returns whether the family was live. */
export async function endFamily(tx: Tx, creatorId: string, familyId: string, now: number): Promise<boolean> {
  const grant = await publicGrantOf(tx, creatorId, familyId);
  if (grant) await lockGrant(tx, creatorId, grant.grantId);
  const hasEnded = await setEnded(tx, creatorId, familyId, now);
  if (grant) await updateDevices(tx, creatorId, grant.grantId, now);
  return hasEnded;
}

export async function deleteFamily(tx: Tx, creatorId: string, familyId: string, now: number): Promise<void> {
  const grant = await publicGrantOf(tx, creatorId, familyId);
  if (grant) await lockGrant(tx, creatorId, grant.grantId);
  await tx.run('DELETE FROM families WHERE creator_id = $1 AND id = $2', [creatorId, familyId]);
  if (grant) await updateDevices(tx, creatorId, grant.grantId, now);
}

interface EndedDevice {
  readonly familyId: string;
  readonly grantId: string;
  readonly clientId: string;
  /** False if it had ended before. */
  readonly hasEnded: boolean;
  /** No other device is connected or about to be. */
  readonly isLast: boolean;
}

/** Ends the family of a device. Returns nothing if there is no such family of a public app. */
export async function endDevice(
  tx: Tx,
  creatorId: string,
  familyId: string,
  now: number,
): Promise<EndedDevice | undefined> {
  const grant = await publicGrantOf(tx, creatorId, familyId);
  if (grant === undefined) return undefined;
  const { grantId } = grant;
  await lockGrant(tx, creatorId, grantId);
  const hasEnded = await setEnded(tx, creatorId, familyId, now);
  const connected = await updateDevices(tx, creatorId, grantId, now);
  const isLast = connected === 0 && !(await hasUnusedCode(tx, creatorId, grantId, now));
  return { ...grant, familyId, hasEnded, isLast };
}

async function setEnded(tx: Tx, creatorId: string, familyId: string, now: number): Promise<boolean> {
  const sql = 'UPDATE families SET ended_at = $3 WHERE creator_id = $1 AND id = $2 AND ended_at IS NULL';
  return (await tx.run(sql, [creatorId, familyId, now])) > 0;
}

/** The grant of a family, if it is of a public app. */
async function publicGrantOf(
  tx: Tx,
  creatorId: string,
  familyId: string,
): Promise<{ grantId: string; clientId: string } | undefined> {
  const row = await tx.get<{ grant_id: string; client_id: string }>(
    `SELECT f.grant_id, g.client_id FROM families f
     JOIN grants g ON g.creator_id = f.creator_id AND g.id = f.grant_id
     JOIN apps a ON a.id = g.client_id AND a.public = 1
     WHERE f.creator_id = $1 AND f.id = $2`,
    [creatorId, familyId],
  );
  return row && { grantId: row.grant_id, clientId: row.client_id };
}

async function lockGrant(tx: Tx, creatorId: string, grantId: string): Promise<void> {
  await tx.get(
    {
      sqlite: 'SELECT id FROM grants WHERE creator_id = $1 AND id = $2',
      postgres: 'SELECT id FROM grants WHERE creator_id = $1 AND id = $2 FOR UPDATE',
    },
    [creatorId, grantId],
  );
}

/** Far more than a creator has. Each change of a family reads all that live. */
const mostDevices = 100;

/**
 * Sets the scopes of a public app's grant to those of its live families, of which the oldest end if there are too many.
 * Returns their number.
 */
async function updateDevices(tx: Tx, creatorId: string, grantId: string, now: number): Promise<number> {
  const live = await tx.all<{ id: string; scope: string }>(
    `SELECT id, scope FROM families
     WHERE creator_id = $1 AND grant_id = $2 AND ended_at IS NULL AND expires_at > $3
     ORDER BY created_at DESC, id DESC`,
    [creatorId, grantId, now],
  );
  for (const { id } of live.splice(mostDevices)) await setEnded(tx, creatorId, id, now);
  const scopes = knownScopes(live.map(({ scope }) => scope).join(' '));
  await tx.run('UPDATE grants SET scope = $3 WHERE creator_id = $1 AND id = $2 AND ended_at IS NULL AND scope <> $3', [
    creatorId,
    grantId,
    formatScopes(scopes),
  ]);
  return live.length;
}

/** A device that was approved and has not fetched its tokens yet. */
async function hasUnusedCode(tx: Tx, creatorId: string, grantId: string, now: number): Promise<boolean> {
  const code = await tx.get(
    `SELECT hash FROM authorization_codes
       WHERE creator_id = $1 AND grant_id = $2 AND used_at IS NULL AND expires_at > $3
     UNION ALL
     SELECT hash FROM device_codes WHERE creator_id = $1 AND grant_id = $2 AND expires_at > $3`,
    [creatorId, grantId, now],
  );
  return code !== undefined;
}
