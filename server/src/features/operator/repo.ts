/** What the operator's lists read, over the tables of several features. */
import type { Reader } from '../../platform/db/database.ts';

export interface ListedCreator {
  id: string;
  username: string;
  display_name: string;
  demo: number;
  suspended_at: number | null;
  /** When its deletion begins, while the account waits for it. */
  delete_at: number | null;
  created_at: number;
  tip_count: number;
  total_minor: number;
  /** When the newest event was committed; 0 if there is none. */
  last_event_at: number;
  last_seen_at: number | null;
  connected_apps: number;
  own_apps: number;
}

const creatorSql = `
SELECT c.id, c.username, c.display_name, c.demo, c.suspended_at, c.delete_at, c.created_at, h.tip_count, h.total_minor,
  h.last_at AS last_event_at,
  (SELECT MAX(s.last_seen_at) FROM sessions s WHERE s.creator_id = c.id) AS last_seen_at,
  (SELECT COUNT(*) FROM grants g WHERE g.creator_id = c.id AND g.ended_at IS NULL) AS connected_apps,
  (SELECT COUNT(*) FROM apps a WHERE a.owner_id = c.id AND a.deleted_at IS NULL) AS own_apps
FROM creators c JOIN creator_heads h ON h.creator_id = c.id`;

export interface ListQuery {
  /** The last name or id of the page before; empty for the first page. */
  readonly after: string;
  /** A part of a name or an id, in lower case; empty for all. */
  readonly search: string;
  readonly limit: number;
}

/** By username. Sandbox creators belong to a developer and are not listed. */
export function creators(db: Reader, { after, search, limit }: ListQuery): Promise<ListedCreator[]> {
  return db.all(
    {
      sqlite: `${creatorSql} WHERE c.sandbox_of IS NULL AND c.username > $1
        AND ($2 = '' OR instr(c.username, $2) > 0 OR instr(lower(c.display_name), $2) > 0 OR c.id = $2)
        ORDER BY c.username LIMIT $3`,
      postgres: `${creatorSql} WHERE c.sandbox_of IS NULL AND c.username > $1
        AND ($2 = '' OR strpos(c.username, $2) > 0 OR strpos(lower(c.display_name), $2) > 0 OR c.id = $2)
        ORDER BY c.username LIMIT $3`,
    },
    [after, search, limit],
  );
}

export function creatorById(db: Reader, id: string): Promise<ListedCreator | undefined> {
  return db.get(`${creatorSql} WHERE c.id = $1`, [id]);
}

export interface ListedApp {
  id: string;
  name: string;
  public: number;
  demo: number;
  suspended_at: number | null;
  created_at: number;
  owner: string | null;
  connected_creators: number;
  webhooks: number;
  last_used_at: number | null;
}

const appSql = `
SELECT a.id, a.name, a.public, a.demo, a.suspended_at, a.created_at, o.username AS owner,
  (SELECT COUNT(*) FROM grants g JOIN creators c ON c.id = g.creator_id
   WHERE g.client_id = a.id AND g.ended_at IS NULL AND c.sandbox_of IS NULL) AS connected_creators,
  (SELECT COUNT(*) FROM webhook_endpoints e WHERE e.client_id = a.id AND e.kind = 'http') AS webhooks,
  (SELECT MAX(u.used_at) FROM grants g JOIN grant_uses u ON u.creator_id = g.creator_id AND u.grant_id = g.id
   WHERE g.client_id = a.id AND g.ended_at IS NULL) AS last_used_at
FROM apps a LEFT JOIN creators o ON o.id = a.owner_id`;

/** By id, which is the order of registration. */
export function apps(db: Reader, { after, search, limit }: ListQuery): Promise<ListedApp[]> {
  return db.all(
    {
      sqlite: `${appSql} WHERE a.deleted_at IS NULL AND a.id > $1
        AND ($2 = '' OR instr(lower(a.name), $2) > 0 OR instr(o.username, $2) > 0 OR a.id = $2)
        ORDER BY a.id LIMIT $3`,
      postgres: `${appSql} WHERE a.deleted_at IS NULL AND a.id > $1
        AND ($2 = '' OR strpos(lower(a.name), $2) > 0 OR strpos(o.username, $2) > 0 OR a.id = $2)
        ORDER BY a.id LIMIT $3`,
    },
    [after, search, limit],
  );
}

export function appById(db: Reader, id: string): Promise<ListedApp | undefined> {
  return db.get(`${appSql} WHERE a.deleted_at IS NULL AND a.id = $1`, [id]);
}

export interface ConnectedApp {
  client_id: string;
  name: string;
  scope: string;
  created_at: number;
  last_used_at: number | null;
}

/** The live grants of a creator, newest first. */
export function appsOf(db: Reader, creatorId: string): Promise<ConnectedApp[]> {
  return db.all(
    `SELECT g.client_id, a.name, g.scope, g.created_at, u.used_at AS last_used_at
     FROM grants g JOIN apps a ON a.id = g.client_id
     LEFT JOIN grant_uses u ON u.creator_id = g.creator_id AND u.grant_id = g.id
     WHERE g.creator_id = $1 AND g.ended_at IS NULL ORDER BY g.id DESC`,
    [creatorId],
  );
}
