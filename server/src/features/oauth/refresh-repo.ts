import type { Reader, Tx } from '../../platform/db/database.ts';

/** A refresh token with what it hangs on, as it is now. */
export interface RefreshRow {
  hash: string;
  creator_id: string;
  family_id: string;
  created_at: number;
  expires_at: number;
  used_at: number | null;
  successor_hash: string | null;
  family_scope: string;
  family_expires_at: number;
  family_ended_at: number | null;
  grant_id: string;
  client_id: string;
  grant_scope: string;
  grant_ended_at: number | null;
  creator_suspended_at: number | null;
  username: string;
}

export function refreshTokenByHash(db: Reader, hash: string): Promise<RefreshRow | undefined> {
  return db.get<RefreshRow>(
    `SELECT r.hash, r.creator_id, r.family_id, r.created_at, r.expires_at, r.used_at, r.successor_hash,
       f.scope AS family_scope, f.expires_at AS family_expires_at, f.ended_at AS family_ended_at,
       g.id AS grant_id, g.client_id, g.scope AS grant_scope, g.ended_at AS grant_ended_at,
       c.suspended_at AS creator_suspended_at, c.username
     FROM refresh_tokens r
     JOIN families f ON f.creator_id = r.creator_id AND f.id = r.family_id
     JOIN grants g ON g.creator_id = f.creator_id AND g.id = f.grant_id
     JOIN creators c ON c.id = r.creator_id
     WHERE r.hash = $1`,
    [hash],
  );
}

/** Decides who of many has used the token, and so which one takes its place. */
export async function useRefreshToken(tx: Tx, hash: string, successorHash: string, at: number): Promise<boolean> {
  const changed = await tx.run(
    'UPDATE refresh_tokens SET used_at = $3, successor_hash = $2 WHERE hash = $1 AND used_at IS NULL',
    [hash, successorHash, at],
  );
  return changed === 1;
}

/** Whether the token that replaced this one is still unused. */
export async function hasUnusedSuccessor(db: Reader, { successor_hash }: RefreshRow): Promise<boolean> {
  const row = await db.get('SELECT hash FROM refresh_tokens WHERE hash = $1 AND used_at IS NULL', [successor_hash]);
  return row !== undefined;
}

export function endFamily(tx: Tx, creatorId: string, familyId: string, at: number): Promise<number> {
  return tx.run('UPDATE families SET ended_at = $3 WHERE creator_id = $1 AND id = $2 AND ended_at IS NULL', [
    creatorId,
    familyId,
    at,
  ]);
}
