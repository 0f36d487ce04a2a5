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
  readonly targetOf: TargetOf;
}

export type Claim = (endpointId: string, limit: number) => Promise<Claims>;

export function createClaim({ db, clock, targetOf }: ClaimsParts): Claim {
  return async (endpointId, limit) => {
    const claim = newLease(clock());
    const { endpoint, due, sending } = await db.call(claimDue, { endpointId, limit, ...claim });
    if (!endpoint) return { claimed: [], more: due > 0, failing: false };
    const target = targetOf(endpoint, claim.now);
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

export type TargetOf = (endpoint: SigningEndpoint, now: number) => Target;

/** More endpoints than are busy at a time. */
const mostTargets = 1_000;

/** Remembers what an endpoint's row means: to open its secret costs more than to sign with it. */
export function createTargets(vault: Vault): TargetOf {
  const known = new Map<
    string,
    { readonly row: SigningEndpoint; readonly twoKeys: boolean; readonly target: Target }
  >();
  return (row, now) => {
    const twoKeys = row.sealed_old_secret !== null && row.old_secret_until !== null && now < row.old_secret_until;
    const found = known.get(row.id);
    if (found && found.twoKeys === twoKeys && isSame(found.row, row)) return found.target;
    const sealed = twoKeys ? [row.sealed_secret, row.sealed_old_secret!] : [row.sealed_secret];
    const keys = sealed.map((secret) => webhookKey(vault.open(secret, sealContext(row.id))));
    const target = { endpointId: row.id, url: new URL(row.url), keys };
    if (known.size >= mostTargets) known.clear();
    known.set(row.id, { row, twoKeys, target });
    return target;
  };
}

/** A secret that is sealed anew has other bytes, and an old one is always one that was new. */
const isSame = (one: SigningEndpoint, other: SigningEndpoint): boolean =>
  one.url === other.url && Buffer.compare(one.sealed_secret, other.sealed_secret) === 0;

export const sealContext = (endpointId: string): string => `webhook:${endpointId}`;
