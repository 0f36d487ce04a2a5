import type { Reader, Tx } from '../../platform/db/database.ts';

export interface GrantUse {
  creator_id: string;
  grant_id: string;
  used_at: number;
}

const upsertUsesSql = (rows: string): string =>
  `INSERT INTO grant_uses (creator_id, grant_id, used_at) ${rows}
   ON CONFLICT (creator_id, grant_id) DO UPDATE SET used_at = excluded.used_at
   WHERE grant_uses.used_at < excluded.used_at`;

const upsertUsesOf = {
  sqlite: upsertUsesSql(
    `SELECT value ->> 'creator_id', value ->> 'grant_id', value ->> 'used_at' FROM json_each($1) WHERE TRUE`,
  ),
  // In one order, so that no two nodes wait for each other.
  postgres: upsertUsesSql(
    `SELECT creator_id, grant_id, used_at
     FROM json_to_recordset($1) AS uses (creator_id TEXT, grant_id TEXT, used_at BIGINT) ORDER BY grant_id`,
  ),
};

/** Each grant at most once. Nodes note on their own clocks: the latest stays. */
export async function upsertUses(tx: Tx, uses: readonly GrantUse[]): Promise<void> {
  await tx.run(upsertUsesOf, [JSON.stringify(uses)]);
}

export interface ConnectionRow {
  client_id: string;
  app_name: string;
  app_suspended_at: number | null;
  owner_username: string | null;
  scope: string;
  by_operator: number;
  created_at: number;
  used_at: number | null;
}

/** The live grants of a creator with their apps, newest first. */
export function connectionsOf(db: Reader, creatorId: string): Promise<ConnectionRow[]> {
  return db.all<ConnectionRow>(
    `SELECT g.client_id, a.name AS app_name, a.suspended_at AS app_suspended_at, o.username AS owner_username,
       g.scope, g.by_operator, g.created_at, u.used_at
     FROM grants g
     JOIN apps a ON a.id = g.client_id
     LEFT JOIN creators o ON o.id = a.owner_id
     LEFT JOIN grant_uses u ON u.creator_id = g.creator_id AND u.grant_id = g.id
     WHERE g.creator_id = $1 AND g.ended_at IS NULL AND a.deleted_at IS NULL
     ORDER BY g.created_at DESC, g.id DESC`,
    [creatorId],
  );
}

/** Every app that a creator ever connected, by name: those that may have recorded something for them. */
export function appsEver(db: Reader, creatorId: string): Promise<{ id: string; name: string }[]> {
  return db.all(
    `SELECT a.id, a.name FROM apps a WHERE a.id IN (SELECT client_id FROM grants WHERE creator_id = $1)
     ORDER BY a.name, a.id`,
    [creatorId],
  );
}

export async function isConnected(db: Reader, creatorId: string, clientId: string): Promise<boolean> {
  const sql = 'SELECT id FROM grants WHERE creator_id = $1 AND client_id = $2 AND ended_at IS NULL';
  return (await db.get(sql, [creatorId, clientId])) !== undefined;
}
