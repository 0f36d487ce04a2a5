/**
 * Cancels deliveries whose grant has ended or has lost `events.subscribe`. The write that ends the grant cancels the newest
 * ones, and none is sent any more (`leaseDue`), but a million of them may wait for their next attempt. They are looked at
 * few at a time, one creator after another, at a pace that leaves time for others.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../../platform/db/database.ts';
import { afterAllIds } from '../../../platform/ids.ts';
import { deliveriesOfCreator, endpointsWithoutGrant, writes } from './cancel-repo.ts';

const pauseMs = 5;

export function createCancelling(db: Database, onError: (error: unknown) => void) {
  const creators = new Set<string>();
  let running: Promise<void> | undefined;
  let stopped = false;

  async function cancelOf(creatorId: string): Promise<void> {
    for (const { id } of await endpointsWithoutGrant(db, creatorId))
      for (let before = afterAllIds; !stopped; ) {
        const page = await deliveriesOfCreator(db, creatorId, id, before);
        const from = page.at(-1)?.event_id;
        if (from === undefined) break;
        if (page.some(({ status }) => status === 'pending'))
          await db.write(writes.cancelPending, creatorId, id, { from, before });
        before = from;
        await delay(pauseMs);
      }
  }

  async function run(): Promise<void> {
    try {
      for (const creatorId of creators) {
        creators.delete(creatorId);
        await cancelOf(creatorId);
      }
    } catch (error) {
      onError(error);
    } finally {
      running = undefined;
    }
  }

  async function idle(): Promise<void> {
    while (running) await running;
  }

  return {
    /** The access to this creator has changed. */
    hint(creatorId: string): void {
      if (stopped) return;
      creators.add(creatorId);
      running ??= Promise.resolve().then(run);
    },
    idle,
    stop(): Promise<void> {
      stopped = true;
      return idle();
    },
  };
}
