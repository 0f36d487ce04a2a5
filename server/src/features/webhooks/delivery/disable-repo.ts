/** The SQL that disables endpoints. */
import { defineWrites, type Tx } from '../../../platform/db/database.ts';
import type { Subject } from '../../audit/index.ts';

/** Why an endpoint is disabled, with the text of the API document. */
export const disabledReasons = {
  by_owner: 'switched off',
  gone: 'the receiver answered 410',
  failing: 'no success for five days',
} as const;
export type DisabledReason = keyof typeof disabledReasons;

/** How many deliveries of an endpoint one write ends, however many there are: others write between two of them. */
export const endedAtOnce = 200;

export interface DisabledEndpoint {
  id: string;
  disabled_reason: DisabledReason;
  /** Empty for a connection. */
  client_id: string;
  creator_id: string | null;
}

/**
 * Disables an endpoint and skips the first of its pending deliveries; `skipPending` skips the rest. Never a listener.
 * Returns nothing if it was disabled already.
 */
export async function disableEndpoint(
  tx: Tx,
  id: string,
  reason: DisabledReason,
  now: number,
): Promise<DisabledEndpoint | undefined> {
  const disabled = await tx.get<DisabledEndpoint>(
    `UPDATE webhook_endpoints SET enabled = 0, disabled_reason = $2, disabled_at = $3
     WHERE id = $1 AND enabled = 1 AND kind <> 'listener' RETURNING id, disabled_reason, client_id, creator_id`,
    [id, reason, now],
  );
  if (disabled) await skipPending(tx, id, now);
  return disabled;
}

export const aboutDisabled = ({ id, disabled_reason, client_id, creator_id }: DisabledEndpoint): Subject => ({
  ...(creator_id === null ? { clientId: client_id } : { creatorId: creator_id }),
  details: { webhook: id, reason: disabled_reason },
});

/** Returns how many pending deliveries of a disabled endpoint were skipped. Requests in flight are still settled. */
function skipPending(tx: Tx, endpointId: string, now: number): Promise<number> {
  return tx.run(
    `UPDATE webhook_deliveries SET status = 'skipped', lease = NULL, due_at = NULL
     WHERE endpoint_id = $1 AND status = 'pending' AND (lease IS NULL OR due_at <= $2)
       AND EXISTS (SELECT 1 FROM webhook_endpoints WHERE id = $1 AND enabled = 0) AND id IN
       (SELECT id FROM webhook_deliveries
        WHERE endpoint_id = $1 AND status = 'pending' AND (lease IS NULL OR due_at <= $2) ORDER BY due_at LIMIT $3)`,
    [endpointId, now, endedAtOnce],
  );
}

export const writes = defineWrites(import.meta.url, { skipPending });
