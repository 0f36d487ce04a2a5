import type { Reader, Tx } from '../../platform/db/database.ts';

export interface NewCodeRow {
  creator_id: string;
  hash: string;
  client_id: string;
  grant_id: string;
  scope: string;
  redirect_uri: string;
  code_challenge: string | null;
  created_at: number;
  expires_at: number;
}

export async function insertCode(tx: Tx, code: NewCodeRow): Promise<void> {
  await tx.run(
    `INSERT INTO authorization_codes
       (creator_id, hash, client_id, grant_id, scope, redirect_uri, code_challenge, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      code.creator_id,
      code.hash,
      code.client_id,
      code.grant_id,
      code.scope,
      code.redirect_uri,
      code.code_challenge,
      code.created_at,
      code.expires_at,
    ],
  );
}

/** A code with what it hangs on, as it is now. */
export interface CodeRow extends NewCodeRow {
  used_at: number | null;
  family_id: string | null;
  grant_scope: string;
  grant_ended_at: number | null;
  creator_suspended_at: number | null;
}

export function codeByHash(db: Reader, hash: string): Promise<CodeRow | undefined> {
  return db.get<CodeRow>(
    `SELECT k.*, g.scope AS grant_scope, g.ended_at AS grant_ended_at, c.suspended_at AS creator_suspended_at
     FROM authorization_codes k
     JOIN grants g ON g.creator_id = k.creator_id AND g.id = k.grant_id
     JOIN creators c ON c.id = k.creator_id
     WHERE k.hash = $1`,
    [hash],
  );
}

/** Decides who of many has used the code. */
export async function useCode(tx: Tx, creatorId: string, hash: string, at: number, familyId: string): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE authorization_codes SET used_at = $3, family_id = $4
     WHERE creator_id = $1 AND hash = $2 AND used_at IS NULL`,
    [creatorId, hash, at, familyId],
  );
  return changed === 1;
}

/** Removes up to `limit` codes that ended unused before `before`: they and unknown ones are answered alike. */
export function deleteUnusedCodes(tx: Tx, before: number, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM authorization_codes WHERE (creator_id, hash) IN
       (SELECT creator_id, hash FROM authorization_codes WHERE used_at IS NULL AND expires_at < $1 LIMIT $2)`,
    [before, limit],
  );
}
