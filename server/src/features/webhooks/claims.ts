/**
 * Claims due deliveries with a lease, so that several nodes share the work and none is lost with a node:
 * whoever holds the lease's token may settle, and once the lease has ended anybody may claim.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import type { Vault } from '../../platform/secrets.ts';
import * as repo from './deliveries-repo.ts';
import { type EndpointRow, endpointToSend, type SendingEndpoint } from './endpoints-repo.ts';
import { webhookKey } from './signature.ts';

/** Longer than an attempt with its settlement. */
export const leaseMs = 30_000;
/** How often what is suspended looks whether it was restored. */
const suspendedMs = 60_000;
const orphansAtOnce = 500;

export interface Claimed extends Pick<repo.DueDelivery, 'id' | 'event_id' | 'attempts' | 'tries'> {
  readonly endpointId: string;
  readonly url: string;
  readonly keys: readonly Buffer[];
  readonly body: string;
  readonly lease: string;
  readonly leaseUntil: number;
}

export interface Claims {
  readonly claimed: readonly Claimed[];
  /** Ask again: there was as much as was asked for. */
  readonly more: boolean;
  /** Its last attempts failed. */
  readonly failing: boolean;
}

export interface ClaimsParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly vault: Vault;
}

export type Claim = (endpointId: string, limit: number) => Promise<Claims>;

export function createClaim({ db, clock, vault }: ClaimsParts): Claim {
  return async (endpointId, limit) => {
    const [now, lease] = [clock(), randomUUID()];
    const { endpoint, due, sending } = await db.write(async (tx) => {
      const endpoint = await endpointToSend(tx, endpointId);
      if (!endpoint) return dropOrphans(tx, endpointId);
      const due = await repo.dueDeliveries(tx, endpointId, now, limit);
      const sending: (repo.DueDelivery & { body: string })[] = [];
      for (const delivery of due) {
        const obstacle = obstacleOf(endpoint, delivery);
        if (obstacle === 'suspended') await repo.postpone(tx, endpointId, delivery.id, now + suspendedMs);
        else if (obstacle) await repo.close(tx, endpointId, delivery.id, obstacle);
        else {
          await repo.lease(tx, endpointId, delivery.id, lease, now + leaseMs);
          sending.push({ ...delivery, body: delivery.body ?? '' });
        }
      }
      return { endpoint, due: due.length, sending };
    });
    const keys = endpoint && sending.length > 0 ? liveKeys(vault, endpoint, now) : [];
    return {
      claimed: sending.map(({ id, event_id, attempts, tries, body }) => ({
        id,
        event_id,
        attempts,
        tries,
        body,
        endpointId,
        url: endpoint?.url ?? '',
        keys,
        lease,
        leaseUntil: now + leaseMs,
      })),
      more: due >= limit,
      failing: typeof endpoint?.failing_since === 'number',
    };
  };

  async function dropOrphans(tx: Tx, endpointId: string) {
    const due = await repo.deleteDeliveries(tx, endpointId, '~', orphansAtOnce);
    return { endpoint: undefined, due, sending: [] };
  }
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

function liveKeys(vault: Vault, endpoint: EndpointRow, now: number): Buffer[] {
  const { sealed_secret, sealed_old_secret, old_secret_until } = endpoint;
  const sealed = [sealed_secret];
  if (sealed_old_secret && old_secret_until !== null && now < old_secret_until) sealed.push(sealed_old_secret);
  return sealed.map((secret) => webhookKey(vault.open(secret, sealContext(endpoint.id))));
}

export const sealContext = (endpointId: string): string => `webhook:${endpointId}`;
