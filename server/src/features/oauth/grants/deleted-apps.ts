import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Reader } from '../../../platform/db/database.ts';
import { type DeletedApp, deletedApps } from './app-end-repo.ts';

const batchSize = 500;

/**
 * All deleted apps, a batch at a time. Those that acted for somebody are kept, and a developer may register and delete 60 an
 * hour. Others are served between two batches.
 */
export async function* deletedAppsInBatches(db: Reader): AsyncGenerator<readonly DeletedApp[]> {
  for (let after = { deleted_at: 0, id: '' }; ; ) {
    const apps = await deletedApps(db, after, batchSize);
    yield apps;
    const last = apps.at(-1);
    if (!last || apps.length < batchSize) return;
    after = last;
    await nextIteration();
  }
}
