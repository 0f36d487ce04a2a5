import type { Reader } from '../../../platform/db/database.ts';

export interface ConnectionRow {
  client_id: string;
  app_name: string;
  app_suspended_at: number | null;
  owner_username: string | null;
  description: string | null;
  homepage_url: string | null;
  privacy_url: string | null;
  logo_id: string | null;
  scope: string;
  by_operator: number;
  by_owner: number;
  created_at: number;
  used_at: number | null;
}

/** The live grants of a creator with their apps, newest first. */
export function connectionsOf(db: Reader, creatorId: string): Promise<ConnectionRow[]> {
  return db.all<ConnectionRow>(
    `SELECT g.client_id, a.name AS app_name, a.suspended_at AS app_suspended_at, o.username AS owner_username,
       a.description, a.homepage_url, a.privacy_url, a.logo_id, g.scope, g.by_operator,
       g.by_owner, g.created_at, u.used_at
     FROM grants g
     JOIN apps a ON a.id = g.client_id
     LEFT JOIN creators o ON o.id = a.owner_id
     LEFT JOIN grant_uses u ON u.creator_id = g.creator_id AND u.grant_id = g.id
     WHERE g.creator_id = $1 AND g.ended_at IS NULL AND a.deleted_at IS NULL
     ORDER BY g.created_at DESC, g.id DESC`,
    [creatorId],
  );
}

export interface ConnectedCreatorRow {
  grant_id: string;
  creator_id: string;
  username: string;
  display_name: string;
  scope: string;
  by_operator: number;
  by_owner: number;
  created_at: number;
}

/**
 * The live grants of an app whose id is less than `before`, newest first. Only those that work: of a suspended creator
 * the API tells the app nothing. Sandbox creators are listed on their own.
 */
export function connectedCreators(
  db: Reader,
  clientId: string,
  before: string,
  limit: number,
): Promise<ConnectedCreatorRow[]> {
  return db.all<ConnectedCreatorRow>(
    `SELECT g.id AS grant_id, g.creator_id, c.username, c.display_name, g.scope, g.by_operator, g.by_owner, g.created_at
     FROM grants g JOIN creators c ON c.id = g.creator_id
     WHERE g.client_id = $1 AND g.ended_at IS NULL AND g.id < $2 AND c.suspended_at IS NULL
       AND c.sandbox_of IS NULL
     ORDER BY g.id DESC LIMIT $3`,
    [clientId, before, limit],
  );
}

/** The same of sandbox creators, which are few. */
export function connectedSandboxes(db: Reader, developerId: string, clientId: string): Promise<ConnectedCreatorRow[]> {
  return db.all<ConnectedCreatorRow>(
    `SELECT g.id AS grant_id, g.creator_id, c.username, c.display_name, g.scope, g.by_operator, g.by_owner, g.created_at
     FROM creators c JOIN grants g ON g.creator_id = c.id
     WHERE c.sandbox_of = $1 AND g.client_id = $2 AND g.ended_at IS NULL AND c.suspended_at IS NULL
     ORDER BY g.id DESC`,
    [developerId, clientId],
  );
}

/** Far above the number of apps that anybody uses. */
const maxAppsEver = 200;

/** The apps of such grants, those that were registered last. Reads one index entry for each app, not all grants. */
const appsOfGrants = (name: string, condition: string): string =>
  `${name} (id, depth) AS (
     SELECT MAX(client_id), 1 FROM grants WHERE creator_id = $1 AND ${condition}
     UNION ALL
     SELECT (SELECT MAX(client_id) FROM grants WHERE creator_id = $1 AND ${condition} AND client_id < ${name}.id),
       depth + 1
     FROM ${name} WHERE ${name}.id IS NOT NULL AND depth < $2
   )`;

/** The apps that the creator ever connected, by name: only these can have recorded tips. */
export function appsEver(db: Reader, creatorId: string): Promise<{ id: string; name: string }[]> {
  return db.all(
    `WITH RECURSIVE ${appsOfGrants('live', 'ended_at IS NULL')}, ${appsOfGrants('past', 'ended_at IS NOT NULL')}
     SELECT a.id, a.name FROM apps a WHERE a.id IN (SELECT id FROM live UNION SELECT id FROM past)
     ORDER BY a.name, a.id`,
    [creatorId, maxAppsEver],
  );
}

export async function isConnected(db: Reader, creatorId: string, clientId: string): Promise<boolean> {
  const sql = 'SELECT id FROM grants WHERE creator_id = $1 AND client_id = $2 AND ended_at IS NULL';
  return (await db.get(sql, [creatorId, clientId])) !== undefined;
}
