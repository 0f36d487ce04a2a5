/** The write that claims what is due of an endpoint, and ends or puts off what may not be sent. */
import type { Tx } from '../../platform/db/database.ts';
import { procedure } from '../../platform/db/procedure.ts';
import * as repo from './deliveries-repo.ts';
import { endpointToSend, type SendingEndpoint, type SigningEndpoint, signingPart } from './endpoints-repo.ts';

/** How often what is suspended looks whether it was restored. */
const suspendedMs = 60_000;
const orphansAtOnce = 500;

export interface DueInput {
  readonly endpointId: string;
  readonly limit: number;
  readonly now: number;
  readonly lease: string;
  readonly leaseUntil: number;
}

export type DueToSend = Pick<repo.DueDelivery, 'creator_id' | 'id' | 'event_id' | 'attempts' | 'tries'> & {
  readonly body: string;
};

export interface DueClaimed {
  /** None if it is gone, and all its deliveries with it. */
  readonly endpoint: (SigningEndpoint & { readonly failing: boolean }) | null;
  /** How many were due, sent or not. */
  readonly due: number;
  readonly sending: readonly DueToSend[];
}

export const claimDue = procedure(import.meta.url, 'claimDue', async (tx, input: DueInput): Promise<DueClaimed> => {
  const { endpointId, limit, now, lease, leaseUntil } = input;
  const endpoint = await endpointToSend(tx, endpointId);
  if (!endpoint) return dropOrphans(tx, endpointId);
  const due = await repo.dueDeliveries(tx, endpointId, now, limit);
  const sending: DueToSend[] = [];
  for (const delivery of due) {
    const { creator_id, id, event_id, attempts, tries, body } = delivery;
    const obstacle = obstacleOf(endpoint, delivery);
    if (obstacle === 'suspended') await repo.postpone(tx, endpointId, id, now + suspendedMs);
    else if (obstacle) await repo.close(tx, endpointId, id, obstacle);
    else sending.push({ creator_id, id, event_id, attempts, tries, body: body ?? '' });
  }
  const ids = sending.map(({ id }) => id);
  await repo.lease(tx, endpointId, ids, lease, leaseUntil);
  const failing = endpoint.failing_since !== null;
  return { endpoint: { ...signingPart(endpoint), failing }, due: due.length, sending };
});

async function dropOrphans(tx: Tx, endpointId: string): Promise<DueClaimed> {
  const due = await repo.deleteDeliveries(tx, endpointId, '~', orphansAtOnce);
  return { endpoint: null, due, sending: [] };
}

/** Why a delivery that is due is not sent. */
function obstacleOf(
  endpoint: SendingEndpoint,
  { grant_id, grant_lives, creator_suspended, body }: repo.DueDelivery,
): 'cancelled' | 'skipped' | 'failed' | 'suspended' | undefined {
  if (grant_id !== null && !grant_lives) return 'cancelled';
  if (!endpoint.enabled) return 'skipped';
  if (endpoint.app_suspended !== null || creator_suspended !== null) return 'suspended';
  // The log keeps an event for 30 days.
  return body === null ? 'failed' : undefined;
}
