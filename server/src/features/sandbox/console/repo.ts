import type { Reader } from '../../../platform/db/database.ts';
import type { DeliveryStatus } from '../../webhooks/index.ts';

export interface ConsoleDelivery {
  event_id: string;
  id: string;
  endpoint_id: string;
  client_id: string;
  app_name: string;
  kind: string;
  /** Empty for a listener. */
  url: string;
  status: DeliveryStatus;
  /** JSON, as in the delivery log. */
  attempts: string;
  due_at: number | null;
}

/**
 * The deliveries of a sandbox creator's events from this event on, to webhooks of its developer's apps. By the endpoints
 * of these apps: the key of a delivery begins with creator and endpoint.
 */
export function deliveriesSince(
  db: Reader,
  creatorId: string,
  developerId: string,
  eventId: string,
): Promise<ConsoleDelivery[]> {
  return db.all<ConsoleDelivery>(
    `SELECT d.event_id, d.id, d.endpoint_id, a.id AS client_id, a.name AS app_name, e.kind, e.url, d.status, d.attempts,
       d.due_at
     FROM apps a
     JOIN webhook_endpoints e ON e.client_id = a.id
     JOIN webhook_deliveries d ON d.creator_id = $1 AND d.endpoint_id = e.id AND d.event_id >= $3
     WHERE a.owner_id = $2 AND a.deleted_at IS NULL
     ORDER BY d.id`,
    [creatorId, developerId, eventId],
  );
}
