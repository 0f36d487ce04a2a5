/**
 * How long the delivery log of an app, or of a creator's connections, is. Invariants:
 *
 * - A delivery is kept for 30 days, or as long as the log has room: for a number of deliveries, or for more with many
 *   creators, divided equally among the endpoints of the app or creator. Without a bound, a developer whose 200
 *   endpoints get the events of one creator causes 80,000 rows a minute.
 * - Beyond that the oldest are forgotten, whatever became of them. The events themselves stay in the log of their creator.
 * - Reading and deleting go on in small steps, between which others read and write.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../../platform/db/database.ts';
import { afterAllIds, firstId } from '../../../platform/ids.ts';
import { deliveryBefore } from './delivery-log-repo.ts';
import * as repo from './prune-repo.ts';

const retentionMs = 30 * 86_400_000;
const logSize = { ofApp: 100_000, ofCreator: 20_000 };
/** How many entries of the index one read passes. */
const readAtOnce = 5_000;
const deletedAtOnce = 200;
const pauseMs = 5;

/** Also deletes the endpoints of deleted apps, and the deliveries of removed endpoints. */
export async function pruneDeliveries(db: Database, now: number): Promise<void> {
  await db.write(repo.writes.deleteEndpointsOfDeletedApps);
  for (let after = ''; ; ) {
    const next = await repo.nextEndpoint(db, after);
    if (!next || next.id === null) return;
    after = next.id;
    const before = next.lives
      ? await oldestKept(db, after, shareOf(next), firstId('dlv', now - retentionMs))
      : afterAllIds;
    while ((await db.write(repo.writes.deleteDeliveries, after, before, deletedAtOnce)) > 0) await delay(pauseMs);
  }
}

const shareOf = ({ endpoints, creators }: repo.LoggedEndpoint): number =>
  Math.floor(Math.max(logSize.ofApp, creators * logSize.ofCreator) / Math.max(1, endpoints));

/** The id of the delivery with which the log of an endpoint begins: of its newest `share`, the first that is young enough. */
async function oldestKept(db: Database, endpointId: string, share: number, youngEnough: string): Promise<string> {
  let at = afterAllIds;
  for (let left = share; left > 0; left -= readAtOnce) {
    const earlier = await deliveryBefore(db, endpointId, at, Math.min(left, readAtOnce));
    if (earlier === undefined || earlier <= youngEnough) return youngEnough;
    at = earlier;
    await delay(pauseMs);
  }
  return at;
}
