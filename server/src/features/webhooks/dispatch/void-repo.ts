/** The SQL of voids that connections are told of. */
import type { Tx } from '../../../platform/db/database.ts';

/** Cancels the deliveries of a voided tip that wait. Returns whether the connection was sent the tip, or may have been. */
export async function cancelTip(tx: Tx, endpointId: string, tipId: string): Promise<boolean> {
  const deliveries = await tx.all<{ status: string; lease: string | null }>(
    'SELECT status, lease FROM webhook_deliveries WHERE endpoint_id = $1 AND tip_id = $2',
    [endpointId, tipId],
  );
  if (deliveries.some(({ status }) => status === 'pending'))
    await tx.run(
      `UPDATE webhook_deliveries SET status = 'cancelled', lease = NULL, due_at = NULL
       WHERE endpoint_id = $1 AND tip_id = $2 AND status = 'pending'`,
      [endpointId, tipId],
    );
  return deliveries.some(({ status, lease }) => status === 'succeeded' || (status === 'pending' && lease !== null));
}
