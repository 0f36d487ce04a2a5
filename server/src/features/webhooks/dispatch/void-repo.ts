/** The SQL of voids that are sent to connections. */
import type { Sql, Tx } from '../../../platform/db/database.ts';

const ofTip = 'SELECT status, lease, attempts FROM webhook_deliveries WHERE endpoint_id = $1 AND tip_id = $2';
/** Locked, so that none is leased between this read and the update: it would be sent, and no void would follow. */
const deliveriesOfTip: Sql = { sqlite: ofTip, postgres: `${ofTip} ORDER BY id FOR UPDATE` };

/**
 * Cancels the deliveries of a voided tip that wait. Returns whether the connection has been sent the tip, or is just being
 * sent it.
 */
export async function cancelTip(tx: Tx, endpointId: string, tipId: string): Promise<boolean> {
  const deliveries = await tx.all<{ status: string; lease: string | null; attempts: string }>(deliveriesOfTip, [
    endpointId,
    tipId,
  ]);
  if (deliveries.some(({ status }) => status === 'pending'))
    await tx.run(
      `UPDATE webhook_deliveries SET status = 'cancelled', lease = NULL, due_at = NULL
       WHERE endpoint_id = $1 AND tip_id = $2 AND status = 'pending'`,
      [endpointId, tipId],
    );
  return deliveries.some(
    ({ status, lease, attempts }) => status === 'succeeded' || lease !== null || hasSucceeded(attempts),
  );
}

/** Also if the delivery was sent again since, and failed: its attempts tell. */
const hasSucceeded = (attempts: string): boolean =>
  JSON.parse(attempts).some(({ error }: { error: string | null }) => error === null);
