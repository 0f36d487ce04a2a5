/**
 * The end of an app. A deleted app is refused everywhere at once; its grants, of which there may be many, then end in
 * batches. If the process is killed before that, housekeeping finds the rest by `deletedApps`.
 */
import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';
import { afterAllIds } from '../../../platform/ids.ts';
import { deleteApp as setDeleted } from '../../apps/index.ts';
import { audited } from '../../audit/index.ts';
import type { GrantEndReason } from '../../events/index.ts';

/** Returns whether the owner has such an app. */
async function deleteApp(tx: Tx, ownerId: string, clientId: string, now: number): Promise<boolean> {
  if (!(await setDeleted(tx, ownerId, clientId, now))) return false;
  // Nobody's history names an app that nobody ever connected.
  await tx.run('DELETE FROM apps WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM grants WHERE client_id = $1)', [clientId]);
  return true;
}

const reason: GrantEndReason = 'app_deleted';

/**
 * Ends up to `limit` live grants of a deleted app. Returns their creators. The ids are a range: PostgreSQL may run a
 * subquery with a limit anew for each grant of the app.
 */
async function endGrantsOfApp(tx: Tx, clientId: string, now: number, limit: number): Promise<string[]> {
  if (!(await tx.get('SELECT id FROM apps WHERE id = $1 AND deleted_at IS NOT NULL', [clientId]))) return [];
  const last = await tx.get<{ id: string }>(
    `SELECT id FROM grants WHERE client_id = $1 AND ended_at IS NULL
     ORDER BY id LIMIT 1 OFFSET CAST($2 AS BIGINT)`,
    [clientId, limit - 1],
  );
  const ended = await tx.all<{ creator_id: string }>(
    `UPDATE grants SET ended_at = $2, ended_reason = $3
     WHERE client_id = $1 AND ended_at IS NULL AND id <= $4 RETURNING creator_id`,
    [clientId, now, reason, last?.id ?? afterAllIds],
  );
  return ended.map(({ creator_id }) => creator_id);
}

export interface DeletedApp {
  id: string;
  deleted_at: number;
  /** Whether it has grants, and whether one of them has not ended. */
  has_grants: number;
  has_live_grants: number;
}

/** In order of their deletion. */
export function deletedApps(
  db: Reader,
  after: Pick<DeletedApp, 'deleted_at' | 'id'>,
  limit: number,
): Promise<DeletedApp[]> {
  return db.all(
    `SELECT id, deleted_at,
       CASE WHEN EXISTS (SELECT 1 FROM grants WHERE client_id = apps.id) THEN 1 ELSE 0 END AS has_grants,
       CASE WHEN EXISTS (SELECT 1 FROM grants WHERE client_id = apps.id AND ended_at IS NULL) THEN 1 ELSE 0 END
         AS has_live_grants
     FROM apps WHERE deleted_at IS NOT NULL AND (deleted_at, id) > ($1, $2) ORDER BY deleted_at, id LIMIT $3`,
    [after.deleted_at, after.id, limit],
  );
}

export const writes = defineWrites(import.meta.url, {
  deleteApp: audited('app.deleted', deleteApp, (deleted, ownerId, clientId) => {
    return deleted && { creatorId: ownerId, clientId };
  }),
  endGrantsOfApp: audited('grant.ended', endGrantsOfApp, (creators, clientId) => {
    return creators.map((creatorId) => ({ creatorId, clientId, details: { reason } }));
  }),
});
