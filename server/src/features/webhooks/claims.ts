/**
 * Claims due deliveries with a lease, so that several nodes share the work and none is lost with a node:
 * whoever holds the lease's token may settle, and once the lease has ended anybody may claim.
 */
import { type KeyObject, randomUUID } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Vault } from '../../platform/secrets.ts';
import { claimDue, type DueToSend } from './claim-due.ts';
import type { SigningEndpoint } from './endpoints-repo.ts';
import { webhookKey } from './signature.ts';

/** Longer than an attempt with its settlement. */
export const leaseMs = 30_000;

/** Where to send, and what to sign with. */
export interface Target {
  readonly endpointId: string;
  readonly url: URL;
  readonly keys: readonly KeyObject[];
}

export interface Claimed extends Target, DueToSend {
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
    const claim = newLease(clock());
    const { endpoint, due, sending } = await db.call(claimDue, { endpointId, limit, ...claim });
    if (!endpoint) return { claimed: [], more: due > 0, failing: false };
    const target = createTarget(vault, endpoint, claim.now);
    return {
      claimed: sending.map((delivery) => claimedOf(target, delivery, claim)),
      more: due >= limit,
      failing: endpoint.failing,
    };
  };
}

export interface Lease {
  readonly now: number;
  readonly lease: string;
  readonly leaseUntil: number;
}

export const newLease = (now: number): Lease => ({ now, lease: randomUUID(), leaseUntil: now + leaseMs });

export const claimedOf = (target: Target, delivery: DueToSend, { lease, leaseUntil }: Lease): Claimed => ({
  endpointId: target.endpointId,
  url: target.url,
  keys: target.keys,
  creator_id: delivery.creator_id,
  id: delivery.id,
  event_id: delivery.event_id,
  attempts: delivery.attempts,
  tries: delivery.tries,
  body: delivery.body,
  lease,
  leaseUntil,
});

export function createTarget(vault: Vault, endpoint: SigningEndpoint, now: number): Target {
  const { id, url, sealed_secret, sealed_old_secret, old_secret_until } = endpoint;
  const sealed = [sealed_secret];
  if (sealed_old_secret && old_secret_until !== null && now < old_secret_until) sealed.push(sealed_old_secret);
  const keys = sealed.map((secret) => webhookKey(vault.open(secret, sealContext(id))));
  return { endpointId: id, url: new URL(url), keys };
}

export const sealContext = (endpointId: string): string => `webhook:${endpointId}`;
