/**
 * Claims due deliveries with a lease, so that several nodes share the work and none is lost with a node:
 * whoever holds the lease's token may settle, and once the lease has ended anybody may claim.
 */
import { type KeyObject, randomUUID } from 'node:crypto';
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

/** Where to send, and what to sign with. */
export interface Target {
  readonly endpointId: string;
  readonly url: URL;
  readonly keys: readonly KeyObject[];
}

export interface Claimed
  extends Target,
    Pick<repo.DueDelivery, 'creator_id' | 'id' | 'event_id' | 'attempts' | 'tries'> {
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
        else sending.push({ ...delivery, body: delivery.body ?? '' });
      }
      const ids = sending.map(({ id }) => id);
      await repo.lease(tx, endpointId, ids, lease, now + leaseMs);
      return { endpoint, due: due.length, sending };
    });
    if (!endpoint) return { claimed: [], more: due > 0, failing: false };
    const target = createTarget(vault, endpoint, now);
    return {
      claimed: sending.map(({ creator_id, id, event_id, attempts, tries, body }) => ({
        ...target,
        creator_id,
        id,
        event_id,
        attempts,
        tries,
        body,
        lease,
        leaseUntil: now + leaseMs,
      })),
      more: due >= limit,
      failing: endpoint.failing_since !== null,
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

export function createTarget(vault: Vault, endpoint: EndpointRow, now: number): Target {
  const { id, url, sealed_secret, sealed_old_secret, old_secret_until } = endpoint;
  const sealed = [sealed_secret];
  if (sealed_old_secret && old_secret_until !== null && now < old_secret_until) sealed.push(sealed_old_secret);
  const keys = sealed.map((secret) => webhookKey(vault.open(secret, sealContext(id))));
  return { endpointId: id, url: new URL(url), keys };
}

export const sealContext = (endpointId: string): string => `webhook:${endpointId}`;
