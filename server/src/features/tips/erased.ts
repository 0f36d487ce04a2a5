import type { Database } from '../../platform/db/database.ts';
import * as repo from './erase-repo.ts';

/** A page has far fewer tips in its queue. */
const maxErased = 500;

/** What became of tips whose words were erased (erase-repo.ts). */
export const createErased = (db: Database) => ({
  isErased: (creatorId: string, id: string): Promise<boolean> => repo.isErased(db, creatorId, id),

  /** Tips that were voided, or whose words were erased, since this instant: no screen may show them again. */
  takenBackSince: async (creatorId: string, since: number): Promise<string[]> =>
    (await repo.takenBackSince(db, creatorId, since, maxErased)).map(({ id }) => id),
});
