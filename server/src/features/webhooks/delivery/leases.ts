import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../platform/clock.ts';
import { answerTimeoutMs } from '../../../platform/safe-fetch.ts';
import type { Lease } from './repo.ts';
import type { QueuedDelivery } from './settle.ts';

/** Longer than an attempt and its settlement. */
export const leaseMs = 30_000;
const settlementMs = 2_000;
/** The longest time of an attempt and its settlement. */
const attemptMs = answerTimeoutMs + settlementMs;
const maxChanges = 10_000;

export type Leases = ReturnType<typeof createLeases>;

/**
 * Creates leases and invalidates them. A lease is outdated if the access to its creator, or its endpoint, has changed after
 * the lease was requested: its deliveries may no longer be sent, or not as they were read.
 */
export function createLeases(clock: Clock) {
  /** For each id the number of its last change. */
  const changes = new Map<string, number>();
  let count = 0;
  return {
    create(): Lease {
      const from = clock();
      return { token: randomUUID(), from, until: from + leaseMs, changes: count };
    },

    /** The id of a creator or an endpoint, or `*` for all. */
    outdate(id: string): void {
      count += 1;
      const tooMany = changes.size >= maxChanges;
      if (tooMany) changes.clear();
      changes.set(tooMany ? '*' : id, count);
    },

    isValid({ endpointId, delivery, lease }: QueuedDelivery): boolean {
      const isCurrent = (id: string): boolean => (changes.get(id) ?? 0) <= lease.changes;
      if (lease.until - clock() < attemptMs) return false;
      return lease.changes === count || ['*', endpointId, delivery.creator_id].every(isCurrent);
    },
  };
}
