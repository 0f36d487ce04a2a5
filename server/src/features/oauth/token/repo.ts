import type { Reader, Tx } from '../../../platform/db/database.ts';
import { sameHash } from '../../../platform/secrets.ts';
import { endFamily, insertFamily, insertRefreshToken, type NewFamily } from '../grants/families-repo.ts';

/**
 * The result of consuming a code or a refresh token. `raced`: a concurrent request has consumed it. `reused`: it was
 * consumed earlier, and the write has ended its family. `ended`: it was consumed earlier, and its family had ended before.
 */
export type Consumption = 'consumed' | 'raced' | 'reused' | 'ended';

/** An authorization code with the current state of its grant and creator. */
export interface CodeRow {
  hash: string;
  creator_id: string;
  client_id: string;
  grant_id: string;
  scope: string;
  redirect_uri: string;
  code_challenge: string | null;
  expires_at: number;
  used_at: number | null;
  grant_scope: string;
  grant_ended_at: number | null;
  creator_suspended_at: number | null;
  app_public: number;
  /** Whether the family that was issued for it lives. 0 for an unused code. */
  family_lives: number;
}

export function codeByHash(db: Reader, hash: string): Promise<CodeRow | undefined> {
  return db.get<CodeRow>(
    `SELECT k.hash, k.creator_id, k.client_id, k.grant_id, k.scope, k.redirect_uri, k.code_challenge, k.expires_at, k.used_at,
       g.scope AS grant_scope, g.ended_at AS grant_ended_at, c.suspended_at AS creator_suspended_at,
       a.public AS app_public, CASE WHEN f.id IS NOT NULL AND f.ended_at IS NULL THEN 1 ELSE 0 END AS family_lives
     FROM authorization_codes k
     JOIN grants g ON g.creator_id = k.creator_id AND g.id = k.grant_id
     JOIN creators c ON c.id = k.creator_id
     JOIN apps a ON a.id = k.client_id
     LEFT JOIN families f ON f.creator_id = k.creator_id AND f.id = k.family_id
     WHERE k.hash = $1`,
    [hash],
  );
}

/** The update decides which request consumes the code. The family is inserted for that request. */
export async function consumeCode(
  tx: Tx,
  code: CodeRow,
  family: NewFamily,
  now: number,
  raceMs: number,
): Promise<Consumption> {
  const { hash, creator_id: creatorId, grant_id: grantId, scope } = code;
  const changed = await tx.run(
    `UPDATE authorization_codes SET used_at = $3, family_id = $4
     WHERE creator_id = $1 AND hash = $2 AND used_at IS NULL`,
    [creatorId, hash, now, family.familyId],
  );
  if (changed === 1) {
    await insertFamily(tx, { ...family, creatorId, grantId, scope, now, publicApp: code.app_public === 1 });
    return 'consumed';
  }
  const used = await tx.get<{ used_at: number; family_id: string }>(
    `SELECT used_at, family_id FROM authorization_codes
     WHERE creator_id = $1 AND hash = $2 AND used_at IS NOT NULL AND family_id IS NOT NULL`,
    [creatorId, hash],
  );
  if (!used || isRace(used.used_at, now, raceMs)) return 'raced';
  return (await endFamily(tx, creatorId, used.family_id, now)) ? 'reused' : 'ended';
}

/** A refresh token with the current state of its family, grant and creator. */
export interface RefreshTokenRow {
  creator_id: string;
  family_id: string;
  created_at: number;
  expires_at: number;
  used_at: number | null;
  repeat_hash: string | null;
  family_scope: string;
  family_expires_at: number;
  family_ended_at: number | null;
  grant_id: string;
  client_id: string;
  grant_scope: string;
  grant_ended_at: number | null;
  grant_paused_at: number | null;
  creator_suspended_at: number | null;
  sandbox_of: string | null;
  username: string;
  app_owner_id: string | null;
}

export function refreshTokenByKey(db: Reader, key: string): Promise<RefreshTokenRow | undefined> {
  return db.get<RefreshTokenRow>(
    `SELECT r.creator_id, r.family_id, r.created_at, r.expires_at, r.used_at, r.repeat_hash,
       f.scope AS family_scope, f.expires_at AS family_expires_at, f.ended_at AS family_ended_at,
       g.id AS grant_id, g.client_id, g.scope AS grant_scope, g.ended_at AS grant_ended_at,
       g.paused_at AS grant_paused_at, c.suspended_at AS creator_suspended_at, c.sandbox_of, c.username,
       a.owner_id AS app_owner_id
     FROM refresh_tokens r
     JOIN families f ON f.creator_id = r.creator_id AND f.id = r.family_id
     JOIN grants g ON g.creator_id = f.creator_id AND g.id = f.grant_id
     JOIN creators c ON c.id = r.creator_id
     JOIN apps a ON a.id = g.client_id
     WHERE r.hash = $1`,
    [key],
  );
}

/**
 * Whether a revocation would change something: the grant lives, and if a family is given (that of a public app's device),
 * that family does, or it was the last of the grant.
 */
export async function isRevocable(
  db: Reader,
  creatorId: string,
  grantId: string,
  familyId: string | null,
): Promise<boolean> {
  const row = await db.get<{ id: string }>(
    `SELECT id FROM grants WHERE creator_id = $1 AND id = $2 AND ended_at IS NULL
       AND (CAST($3 AS TEXT) IS NULL
         OR EXISTS (SELECT 1 FROM families WHERE creator_id = $1 AND id = $3 AND ended_at IS NULL)
         OR NOT EXISTS (SELECT 1 FROM families WHERE creator_id = $1 AND grant_id = $2 AND ended_at IS NULL))`,
    [creatorId, grantId, familyId],
  );
  return row !== undefined;
}

interface Rotation {
  readonly key: string;
  readonly creatorId: string;
  readonly familyId: string;
  /** With it the refresh can be repeated. */
  readonly repeatHash: string | null;
  readonly nextKey: string;
  readonly nextExpiresAt: number;
  readonly now: number;
  readonly raceMs: number;
}

/** The update decides which request consumes the token. The next token is inserted for that request. */
export async function rotateRefreshToken(tx: Tx, rotation: Rotation): Promise<Consumption> {
  const { key, creatorId, familyId, nextKey, now, raceMs } = rotation;
  const changed = await tx.run(
    'UPDATE refresh_tokens SET used_at = $3, successor_hash = $2, repeat_hash = $4 WHERE hash = $1 AND used_at IS NULL',
    [key, nextKey, now, rotation.repeatHash],
  );
  if (changed === 1) {
    await insertRefreshToken(tx, nextKey, creatorId, familyId, key, now, rotation.nextExpiresAt);
    return 'consumed';
  }
  const token = await lockUsedToken(tx, key);
  if (token && isRepeat(token, rotation.repeatHash, now) && (await replaceSuccessor(tx, token, rotation)))
    return 'consumed';
  // A replaced token has no successor. Within the race window, whoever shows it made the same repeat at the same time.
  if (token && token.successor_used_at === null && isRace(token.used_at, now, raceMs)) return 'raced';
  return (await endFamily(tx, creatorId, familyId, now)) ? 'reused' : 'ended';
}

interface UsedToken {
  used_at: number;
  repeat_hash: string | null;
  successor_hash: string | null;
  successor_used_at: number | null;
}

/** Concurrent repeats wait for each other here, so that each sees the successor that the one before it has issued. */
async function lockUsedToken(tx: Tx, key: string): Promise<UsedToken | undefined> {
  await tx.get(
    {
      sqlite: 'SELECT hash FROM refresh_tokens WHERE hash = $1',
      postgres: 'SELECT hash FROM refresh_tokens WHERE hash = $1 FOR UPDATE',
    },
    [key],
  );
  return tx.get<UsedToken>(
    `SELECT t.used_at, t.repeat_hash, t.successor_hash, s.used_at AS successor_used_at
     FROM refresh_tokens t LEFT JOIN refresh_tokens s ON s.hash = t.successor_hash
     WHERE t.hash = $1 AND t.used_at IS NOT NULL`,
    [key],
  );
}

/**
 * Replaces the unused successor by another one. The replaced token is marked as used, without a successor: showing it
 * later is a reuse. Returns false if it was used.
 */
async function replaceSuccessor(tx: Tx, token: UsedToken, rotation: Rotation): Promise<boolean> {
  const { key, creatorId, familyId, nextKey, now } = rotation;
  const ended = await tx.run(
    'UPDATE refresh_tokens SET used_at = $2, parent_hash = NULL WHERE hash = $1 AND used_at IS NULL',
    [token.successor_hash, now],
  );
  if (ended === 0) return false;
  await tx.run('UPDATE refresh_tokens SET successor_hash = $2 WHERE hash = $1', [key, nextKey]);
  await insertRefreshToken(tx, nextKey, creatorId, familyId, key, now, rotation.nextExpiresAt);
  return true;
}

/** The contract: a refresh can be repeated for 24 hours. */
const repeatMs = 24 * 3_600_000;

/** The same refresh again, with the same key. */
export function isRepeat(
  token: Pick<RefreshTokenRow, 'used_at' | 'repeat_hash'>,
  repeatHash: string | null,
  now: number,
): boolean {
  if (token.used_at === null || token.repeat_hash === null || repeatHash === null) return false;
  return sameHash(token.repeat_hash, repeatHash) && now - token.used_at <= repeatMs;
}

const isRace = (usedAt: number, now: number, raceMs: number): boolean => raceMs > 0 && now - usedAt <= raceMs;
