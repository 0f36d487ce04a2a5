import type { Reader, Tx } from '../../platform/db/database.ts';

export interface AccessRow {
  grant_id: string;
  client_id: string;
  grant_scope: string;
  grant_ended_at: number | null;
  family_ended_at: number | null;
  app_name: string;
  app_suspended_at: number | null;
  app_deleted_at: number | null;
  creator_suspended_at: number | null;
  username: string;
  display_name: string;
  avatar_id: string | null;
  creator_created_at: number;
}

export function accessByFamily(db: Reader, creatorId: string, familyId: string): Promise<AccessRow | undefined> {
  return db.get<AccessRow>(
    `SELECT g.id AS grant_id, g.client_id, g.scope AS grant_scope, g.ended_at AS grant_ended_at,
       f.ended_at AS family_ended_at,
       a.name AS app_name, a.suspended_at AS app_suspended_at, a.deleted_at AS app_deleted_at,
       c.suspended_at AS creator_suspended_at, c.username, c.display_name, c.avatar_id, c.created_at AS creator_created_at
     FROM families f
     JOIN grants g ON g.creator_id = f.creator_id AND g.id = f.grant_id
     JOIN apps a ON a.id = g.client_id
     JOIN creators c ON c.id = f.creator_id
     WHERE f.creator_id = $1 AND f.id = $2`,
    [creatorId, familyId],
  );
}

export interface GrantRow {
  creator_id: string;
  id: string;
  client_id: string;
  scope: string;
  by_operator: number;
  created_at: number;
}

/** The one live grant of (creator, app): made, or given exactly these scopes. Answers its id. */
export async function approveGrant(tx: Tx, grant: GrantRow): Promise<string> {
  const row = await tx.get<{ id: string }>(
    `INSERT INTO grants (creator_id, id, client_id, scope, by_operator, created_at) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (creator_id, client_id) WHERE ended_at IS NULL DO UPDATE
       SET scope = excluded.scope, by_operator = excluded.by_operator
     RETURNING id`,
    [grant.creator_id, grant.id, grant.client_id, grant.scope, grant.by_operator, grant.created_at],
  );
  return row!.id;
}

export interface EndedGrant {
  id: string;
  creator_id: string;
  client_id: string;
  scope: string;
}

/** Ends the live grant of (creator, app), if there is one. Its families end with it: whoever looks, looks at both. */
export function endGrant(
  tx: Tx,
  creatorId: string,
  clientId: string,
  at: number,
  reason: string,
): Promise<EndedGrant | undefined> {
  return tx.get<EndedGrant>(
    `UPDATE grants SET ended_at = $3, ended_reason = $4
     WHERE creator_id = $1 AND client_id = $2 AND ended_at IS NULL RETURNING id, creator_id, client_id, scope`,
    [creatorId, clientId, at, reason],
  );
}

export function endGrantById(
  tx: Tx,
  creatorId: string,
  grantId: string,
  at: number,
  reason: string,
): Promise<EndedGrant | undefined> {
  return tx.get<EndedGrant>(
    `UPDATE grants SET ended_at = $3, ended_reason = $4
     WHERE creator_id = $1 AND id = $2 AND ended_at IS NULL RETURNING id, creator_id, client_id, scope`,
    [creatorId, grantId, at, reason],
  );
}

/** One that ended before `before` and still has its families. */
export function endedGrant(db: Reader, before: number): Promise<{ creator_id: string; id: string } | undefined> {
  return db.get('SELECT creator_id, id FROM grants WHERE swept = 0 AND ended_at < $1 ORDER BY ended_at LIMIT 1', [
    before,
  ]);
}

/** Removes everything under an ended grant; the grant itself stays. */
export async function sweepGrant(tx: Tx, creatorId: string, grantId: string): Promise<void> {
  const under = [creatorId, grantId];
  await tx.run('DELETE FROM authorization_codes WHERE creator_id = $1 AND grant_id = $2', under);
  await tx.run(
    `WITH RECURSIVE chain (hash) AS (
       SELECT r.hash FROM families f
       JOIN refresh_tokens r ON r.creator_id = f.creator_id AND r.family_id = f.id AND r.parent_hash IS NULL
       WHERE f.creator_id = $1 AND f.grant_id = $2
       UNION ALL
       SELECT r.successor_hash FROM chain JOIN refresh_tokens r ON r.hash = chain.hash
       WHERE r.successor_hash IS NOT NULL
     )
     DELETE FROM refresh_tokens WHERE hash IN (SELECT hash FROM chain)`,
    under,
  );
  await tx.run('DELETE FROM families WHERE creator_id = $1 AND grant_id = $2', under);
  await tx.run('DELETE FROM grant_uses WHERE creator_id = $1 AND grant_id = $2', under);
  await tx.run('UPDATE grants SET swept = 1 WHERE creator_id = $1 AND id = $2', under);
}

/** Ends every live grant of an app. */
export function endGrantsOfApp(tx: Tx, clientId: string, at: number, reason: string): Promise<EndedGrant[]> {
  return tx.all<EndedGrant>(
    `UPDATE grants SET ended_at = $2, ended_reason = $3
     WHERE client_id = $1 AND ended_at IS NULL RETURNING id, creator_id, client_id, scope`,
    [clientId, at, reason],
  );
}

export interface FamilyRow {
  creator_id: string;
  id: string;
  grant_id: string;
  scope: string;
  created_at: number;
  expires_at: number;
}

export async function insertFamily(tx: Tx, family: FamilyRow): Promise<void> {
  await tx.run(
    'INSERT INTO families (creator_id, id, grant_id, scope, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)',
    [family.creator_id, family.id, family.grant_id, family.scope, family.created_at, family.expires_at],
  );
}

export interface RefreshTokenRow {
  hash: string;
  creator_id: string;
  family_id: string;
  parent_hash: string | null;
  created_at: number;
  expires_at: number;
}

export async function insertRefreshToken(tx: Tx, token: RefreshTokenRow): Promise<void> {
  await tx.run(
    'INSERT INTO refresh_tokens (hash, creator_id, family_id, parent_hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)',
    [token.hash, token.creator_id, token.family_id, token.parent_hash, token.created_at, token.expires_at],
  );
}
