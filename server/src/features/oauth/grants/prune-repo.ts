/**
 * What is deleted of grants, and when (contract: a rotated refresh token 30 days after its rotation, everything of a
 * family 30 days after its end or expiry).
 *
 * - Each write removes a bounded number of rows, because a store can hold millions of them.
 * - The tokens of a family form a chain: each names its successor, and the first one is found by an index. Whoever
 *   removes a token makes its successor the first one, so that what is left is always found. A token that was replaced
 *   by a repeated refresh is a chain of its own.
 * - Rotated tokens are found by their key, which begins with the time of their making. An index by the time of their
 *   rotation would cost every refresh a write. Tokens without a time in their key are removed with their family.
 */
import { defineWrites, type Reader, type Sql, type Tx } from '../../../platform/db/database.ts';
import { deleteFamily } from './families-repo.ts';

export interface OldToken {
  hash: string;
  creator_id: string;
  family_id: string;
  expires_at: number;
  used_at: number | null;
}

/** In order of their making. */
export function tokensBetween(db: Reader, after: string, before: string, limit: number): Promise<OldToken[]> {
  return db.all(
    `SELECT hash, creator_id, family_id, expires_at, used_at FROM refresh_tokens
     WHERE hash > $1 AND hash < $2 ORDER BY hash LIMIT $3`,
    [after, before, limit],
  );
}

const inList = (start: string, end = ''): Sql => ({
  sqlite: `${start} (SELECT value FROM json_each($1)) ${end}`,
  postgres: `${start} (SELECT jsonb_array_elements_text(CAST($1 AS jsonb))) ${end}`,
});
const deleteTokens = inList('DELETE FROM refresh_tokens WHERE hash IN', 'RETURNING successor_hash');
const makeFirst = inList('UPDATE refresh_tokens SET parent_hash = NULL WHERE parent_hash IS NOT NULL AND hash IN');

/**
 * Returns how many successors are left. The deletion returns them, because it waits for a refresh that is rotating one
 * of the tokens: no earlier statement sees the successor that this refresh inserts.
 */
async function removeTokens(tx: Tx, tokens: readonly { hash: string }[]): Promise<number> {
  const removed = await tx.all<{ successor_hash: string | null }>(deleteTokens, [
    JSON.stringify(tokens.map(({ hash }) => hash)),
  ]);
  const successors = removed.map(({ successor_hash }) => successor_hash).filter((hash) => hash !== null);
  return tx.run(makeFirst, [JSON.stringify(successors)]);
}

const rotated = inList('SELECT hash FROM refresh_tokens WHERE used_at IS NOT NULL AND hash IN');

/** Removes those of these tokens that were rotated. */
async function deleteRotatedTokens(tx: Tx, hashes: readonly string[]): Promise<void> {
  await removeTokens(tx, await tx.all(rotated, [JSON.stringify(hashes)]));
}

export interface FamilyKey {
  creator_id: string;
  id: string;
}

/** Families that ended or expired before this instant, the oldest first. */
export function familiesEndedBefore(db: Reader, before: number, limit: number): Promise<FamilyKey[]> {
  return db.all(
    `SELECT creator_id, id FROM families WHERE COALESCE(ended_at, expires_at) < $1
     ORDER BY COALESCE(ended_at, expires_at) LIMIT $2`,
    [before, limit],
  );
}

export function familiesOf(db: Reader, creatorId: string, grantId: string, limit: number): Promise<FamilyKey[]> {
  return db.all('SELECT creator_id, id FROM families WHERE creator_id = $1 AND grant_id = $2 LIMIT $3', [
    creatorId,
    grantId,
    limit,
  ]);
}

export function familiesOfCreator(db: Reader, creatorId: string, limit: number): Promise<FamilyKey[]> {
  return db.all('SELECT creator_id, id FROM families WHERE creator_id = $1 LIMIT $2', [creatorId, limit]);
}

/** Removes a family with its code and up to `limit` of its tokens. Returns whether all of it is gone. */
async function pruneFamily(tx: Tx, { creator_id, id }: FamilyKey, limit: number, now: number): Promise<boolean> {
  const tokens = await tx.all<{ hash: string }>(
    `WITH RECURSIVE chain (hash, successor_hash, depth) AS (
       SELECT hash, successor_hash, 1 FROM refresh_tokens
       WHERE creator_id = $1 AND family_id = $2 AND parent_hash IS NULL
       UNION ALL
       SELECT r.hash, r.successor_hash, chain.depth + 1 FROM chain
       JOIN refresh_tokens r ON r.hash = chain.successor_hash WHERE chain.depth < $3
     )
     SELECT hash FROM chain LIMIT $3`,
    [creator_id, id, limit],
  );
  const left = await removeTokens(tx, tokens);
  if (left > 0 || tokens.length >= limit) return false;
  await tx.run('DELETE FROM authorization_codes WHERE creator_id = $1 AND family_id = $2', [creator_id, id]);
  await deleteFamily(tx, creator_id, id, now);
  return true;
}

/** A grant that ended before `before` and is not swept yet. */
export function unsweptGrant(db: Reader, before: number): Promise<FamilyKey | undefined> {
  return db.get('SELECT creator_id, id FROM grants WHERE swept = 0 AND ended_at < $1 ORDER BY ended_at LIMIT 1', [
    before,
  ]);
}

/**
 * Deletes an ended grant whose families are gone. The last grant that was used stays, because it tells that this app once
 * acted for the creator; so at most one such grant of each app and creator is left. The codes of the grant are gone
 * before: used ones with their families, unused ones soon after they expired.
 */
async function pruneGrant(tx: Tx, { creator_id, id }: FamilyKey): Promise<void> {
  const grant = [creator_id, id];
  const used = await tx.run('DELETE FROM grant_uses WHERE creator_id = $1 AND grant_id = $2', grant);
  if (used === 0) {
    await tx.run('DELETE FROM grants WHERE creator_id = $1 AND id = $2', grant);
    return;
  }
  await tx.run(
    `DELETE FROM grants WHERE creator_id = $1 AND id <> $2 AND swept = 1 AND ended_at IS NOT NULL
       AND client_id = (SELECT client_id FROM grants WHERE creator_id = $1 AND id = $2)`,
    grant,
  );
  await tx.run('UPDATE grants SET swept = 1 WHERE creator_id = $1 AND id = $2', grant);
}

/** Deletes up to `limit` codes that expired unused before `before`. An unknown code has the error of an expired one. */
function deleteUnusedCodes(tx: Tx, before: number, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM authorization_codes WHERE (creator_id, hash) IN
       (SELECT creator_id, hash FROM authorization_codes WHERE used_at IS NULL AND expires_at < $1 LIMIT $2)`,
    [before, limit],
  );
}

const deleteUnused = inList(
  'DELETE FROM apps WHERE deleted_at IS NOT NULL AND id IN',
  'AND NOT EXISTS (SELECT 1 FROM grants WHERE grants.client_id = apps.id)',
);

/** Removes those of these deleted apps that never acted for anybody. */
async function deleteUnusedApps(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.run(deleteUnused, [JSON.stringify(ids)]);
}

export const writes = defineWrites(import.meta.url, {
  deleteRotatedTokens,
  pruneFamily,
  pruneGrant,
  deleteUnusedCodes,
  deleteUnusedApps,
});
