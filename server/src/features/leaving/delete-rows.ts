/**
 * Deletes everything of a creator but the creator's own row. What is left to do is what is left in the tables: begun again
 * after a crash, it goes on where it stopped. Each write is short, and others run between two of them.
 */
import type { Database } from '../../platform/db/database.ts';
import type { BetweenWrites, Grants } from '../oauth/index.ts';
import * as repo from './delete-rows-repo.ts';

export interface RowDeletionParts {
  readonly db: Database;
  readonly grants: Pick<Grants, 'revoke' | 'announce' | 'deleteFamiliesOf' | 'deleteApp'>;
}

const batchRows = 200;
/** Rows with a picture or a sound have megabytes, all of which are overwritten. */
const largeRows: readonly string[] = ['avatars', 'overlay_files', 'app_logos'];
const batchOf = (table: string): number => (largeRows.includes(table) ? 1 : batchRows);

const atOnce: BetweenWrites = async () => {};

export type RowDeletion = ReturnType<typeof createRowDeletion>;

export function createRowDeletion({ db, grants }: RowDeletionParts) {
  async function inBatches(
    limit: number,
    between: BetweenWrites,
    deleteSome: (limit: number) => Promise<number>,
  ): Promise<number> {
    for (let total = 0; ; ) {
      const started = performance.now();
      const deleted = await deleteSome(limit);
      total += deleted;
      if (deleted > 0) await between(performance.now() - started);
      if (deleted < limit) return total;
    }
  }

  return {
    /** Tells apps that their grants have ended, and empties the tables. Returns how many rows it has deleted. */
    async creator(creatorId: string, between: BetweenWrites = atOnce): Promise<number> {
      for (const { client_id } of await repo.liveGrants(db, creatorId)) {
        const started = performance.now();
        await grants.revoke(creatorId, client_id, 'account_deleted');
        await between(performance.now() - started);
      }
      // Open connections, also those of overlays.
      grants.announce(creatorId);
      await grants.deleteFamiliesOf(creatorId, between);
      let total = 0;
      for (const table of repo.tablesOfCreator)
        total += await inBatches(batchOf(table), between, (limit) =>
          db.write(repo.writes.deleteRows, creatorId, table, limit),
        );
      return total;
    },

    /** Deletes the apps of an account, with all that belongs to them. */
    async apps(ownerId: string, between: BetweenWrites): Promise<void> {
      for (const { id } of await repo.appsOfOwner(db, ownerId)) await grants.deleteApp(ownerId, id, between);
      for (const { id } of await repo.endpointsOfOwner(db, ownerId))
        await inBatches(batchRows, between, (limit) => db.write(repo.writes.deleteDeliveries, id, limit));
      for (const table of repo.tablesOfApps)
        await inBatches(batchOf(table), between, (limit) =>
          db.write(repo.writes.deleteRowsOfApps, ownerId, table, limit),
        );
      await db.write(repo.writes.releaseApps, ownerId);
    },
  };
}
