/** The write that records what became of attempts, and what that means for their endpoints. */
import { procedure } from '../../platform/db/procedure.ts';
import * as repo from './deliveries-repo.ts';
import { disableEndpoint, markFailing, markWorking } from './endpoints-repo.ts';

export interface SettleInput {
  /** Settlements as text, which is how the statement takes them: it crosses to another thread more cheaply. */
  readonly settlements: string;
  /** Deliveries whose receiver answered 410. */
  readonly gone: readonly string[];
  /** Deliveries that were given back without an attempt. */
  readonly released: readonly string[];
  readonly now: number;
}

export const settleAll = procedure(import.meta.url, 'settleAll', async (tx, input: SettleInput): Promise<void> => {
  const { settlements, now } = input;
  const [gone, released] = [new Set(input.gone), new Set(input.released)];
  const working = new Map<string, boolean>();
  for (const { id, endpoint_id, status } of await repo.settle(tx, settlements)) {
    if (released.has(id)) continue;
    working.set(endpoint_id, status === 'succeeded' || (working.get(endpoint_id) ?? false));
    if (gone.has(id) && (await disableEndpoint(tx, endpoint_id, 'gone')) > 0)
      await repo.skipPending(tx, endpoint_id, now);
  }
  for (const [endpointId, well] of working)
    await (well ? markWorking(tx, endpointId) : markFailing(tx, endpointId, now));
});
