/** The deliveries of one event, for the creator whose event it is. */
import type { Reader } from '../../../platform/db/database.ts';
import type { DeliveryStatus } from '../delivery/repo.ts';

export interface EventDeliveryRow {
  app_name: string;
  status: DeliveryStatus;
  attempts: string;
  created_at: number;
}

/** By the endpoints of the creator's apps: the key of a delivery begins with creator and endpoint. */
export function deliveriesOfEvent(db: Reader, creatorId: string, eventId: string): Promise<EventDeliveryRow[]> {
  return db.all<EventDeliveryRow>(
    `SELECT a.name AS app_name, d.status, d.attempts, d.created_at
     FROM (SELECT DISTINCT client_id FROM grants WHERE creator_id = $1) AS g
     JOIN apps a ON a.id = g.client_id
     JOIN webhook_endpoints e ON e.client_id = g.client_id
     JOIN webhook_deliveries d ON d.creator_id = $1 AND d.endpoint_id = e.id AND d.event_id = $2
     ORDER BY d.id`,
    [creatorId, eventId],
  );
}
