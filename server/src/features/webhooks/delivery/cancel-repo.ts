/** The SQL that cancels deliveries whose grant has ended or has lost `events.subscribe`. */
import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';
import { endedAtOnce } from './disable-repo.ts';
import { type DeliveryStatus, grantLives } from './repo.ts';

/**
 * Endpoints of apps that have a grant of this creator that has ended or lacks `events.subscribe`. Beside it an app may have a
 * newer grant that is live.
 */
export function endpointsWithoutGrant(db: Reader, creatorId: string): Promise<{ id: string }[]> {
  return db.all(
    `SELECT DISTINCT e.id FROM grants g JOIN webhook_endpoints e ON e.client_id = g.client_id
     WHERE g.creator_id = $1 AND NOT (${grantLives})`,
    [creatorId],
  );
}

/** The deliveries of a creator's events to an endpoint before one event, newest first, as many as one write ends. */
export function deliveriesOfCreator(
  db: Reader,
  creatorId: string,
  endpointId: string,
  before: string,
): Promise<{ event_id: string; status: DeliveryStatus }[]> {
  return db.all(
    `SELECT event_id, status FROM webhook_deliveries
     WHERE creator_id = $1 AND endpoint_id = $2 AND event_id < $3 ORDER BY event_id DESC LIMIT $4`,
    [creatorId, endpointId, before, endedAtOnce],
  );
}

/** Cancels what is pending of a span of events, and whose grant has ended or has lost `events.subscribe`. */
export async function cancelPending(
  tx: Tx,
  creatorId: string,
  endpointId: string,
  { from, before }: { from: string; before: string },
): Promise<void> {
  await tx.run(
    `UPDATE webhook_deliveries SET status = 'cancelled', lease = NULL, due_at = NULL
     WHERE creator_id = $1 AND endpoint_id = $2 AND event_id >= $3 AND event_id < $4 AND status = 'pending'
       AND grant_id IN (SELECT g.id FROM grants g WHERE g.creator_id = $1 AND NOT (${grantLives}))`,
    [creatorId, endpointId, from, before],
  );
}

export const writes = defineWrites(import.meta.url, { cancelPending });
