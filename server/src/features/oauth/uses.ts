import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Log } from '../../platform/log.ts';
import type { Access } from './access.ts';
import { type GrantUse, upsertUses } from './connections-repo.ts';

/**
 * When each grant was last used, for the creator's list of connected apps.
 *
 * - Noting a use costs the request one look into a map; a grant is written at most once a minute, together with
 *   whatever else was used meanwhile.
 * - It has a table of its own: a change of `grants` would make every request look its grant up anew (access.ts).
 * - A mark that gets lost (a crash, storage gone) costs accuracy of a minute, nothing else.
 */
const stepMs = 60_000;
const gatherMs = 1000;
const remembered = 100_000;
/** Written at once: one statement, and on SQLite no longer than a few milliseconds. */
const bite = 500;

export type GrantUses = ReturnType<typeof createGrantUses>;

export function createGrantUses({ db, clock, log }: { db: Database; clock: Clock; log: Log }) {
  const noted = new Map<string, number>();
  let waiting = new Map<string, GrantUse>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const uses = [...waiting.values()];
    waiting = new Map();
    for (let at = 0; at < uses.length; at += bite) await db.write((tx) => upsertUses(tx, uses.slice(at, at + bite)));
  }

  return {
    note({ creatorId, grantId }: Pick<Access, 'creatorId' | 'grantId'>): void {
      const at = clock();
      const last = noted.get(grantId);
      if (last !== undefined && at - last < stepMs) return;
      if (noted.size >= remembered) noted.clear();
      noted.set(grantId, at);
      waiting.set(grantId, { creator_id: creatorId, grant_id: grantId, used_at: at });
      timer ??= setTimeout(() => {
        flush().catch((err) => log.warn({ err }, 'uses of grants were not noted'));
      }, gatherMs).unref();
    },

    /** Writes what is waiting: before it is shown, and at the end. */
    flush,
  };
}
