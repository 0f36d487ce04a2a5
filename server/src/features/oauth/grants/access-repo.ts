import type { Reader } from '../../../platform/db/database.ts';

export interface AccessRow {
  grant_id: string;
  client_id: string;
  grant_scope: string;
  grant_ended_at: number | null;
  grant_paused_at: number | null;
  family_ended_at: number | null;
  app_name: string;
  app_suspended_at: number | null;
  app_deleted_at: number | null;
  creator_suspended_at: number | null;
  sandbox_of: string | null;
  username: string;
  display_name: string;
  avatar_id: string | null;
  creator_created_at: number;
}

export function accessByFamily(db: Reader, creatorId: string, familyId: string): Promise<AccessRow | undefined> {
  return db.get<AccessRow>(
    `SELECT g.id AS grant_id, g.client_id, g.scope AS grant_scope, g.ended_at AS grant_ended_at,
       g.paused_at AS grant_paused_at, f.ended_at AS family_ended_at,
       a.name AS app_name, a.suspended_at AS app_suspended_at, a.deleted_at AS app_deleted_at,
       c.suspended_at AS creator_suspended_at, c.sandbox_of, c.username, c.display_name, c.avatar_id, c.created_at AS creator_created_at
     FROM families f
     JOIN grants g ON g.creator_id = f.creator_id AND g.id = f.grant_id
     JOIN apps a ON a.id = g.client_id
     JOIN creators c ON c.id = f.creator_id
     WHERE f.creator_id = $1 AND f.id = $2`,
    [creatorId, familyId],
  );
}
