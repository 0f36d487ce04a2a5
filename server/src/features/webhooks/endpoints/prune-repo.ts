/** The SQL that shortens the delivery log. */
import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';
import { deleteDeliveries, grantLives } from '../delivery/repo.ts';

/** An endpoint that has deliveries, and what its log is measured by. */
export interface LoggedEndpoint {
  /** `null` after the last one. */
  id: string | null;
  lives: number;
  /** How many endpoints its app or creator has, and how many creators let the app receive events. */
  endpoints: number;
  creators: number;
}

/** The next endpoint id in the deliveries. */
export function nextEndpoint(db: Reader, after: string): Promise<LoggedEndpoint | undefined> {
  return db.get(
    `SELECT d.id, CASE WHEN COALESCE(a.id, e.creator_id) IS NULL THEN 0 ELSE 1 END AS lives,
       (SELECT COUNT(*) FROM webhook_endpoints others WHERE others.client_id = a.id)
         + (SELECT COUNT(*) FROM webhook_endpoints others WHERE others.creator_id = e.creator_id) AS endpoints,
       (SELECT COUNT(*) FROM grants g WHERE g.client_id = a.id AND ${grantLives}) AS creators
     FROM (SELECT MIN(endpoint_id) AS id FROM webhook_deliveries WHERE endpoint_id > $1) AS d
     LEFT JOIN webhook_endpoints e ON e.id = d.id
     LEFT JOIN apps a ON a.id = e.client_id AND a.deleted_at IS NULL`,
    [after],
  );
}

/** The endpoints of an app end with it. */
function deleteEndpointsOfDeletedApps(tx: Tx): Promise<number> {
  return tx.run(
    `DELETE FROM webhook_endpoints WHERE creator_id IS NULL AND NOT EXISTS
       (SELECT 1 FROM apps WHERE apps.id = webhook_endpoints.client_id AND apps.deleted_at IS NULL)`,
  );
}

export const writes = defineWrites(import.meta.url, { deleteEndpointsOfDeletedApps, deleteDeliveries });
