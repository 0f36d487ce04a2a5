import type { Platform } from '../../../platform/platform.ts';
import type { Access } from './access.ts';
import { type LastUse, writes } from './repo.ts';

/**
 * When each grant was last used, for the creator's list of connected apps.
 *
 * - Noting a use costs the request one lookup in a map; a grant is written at most once a minute, together with
 *   whatever else was used meanwhile.
 * - It has a table of its own: a change of `grants` would make every request read its grant again (access.ts).
 * - A lost note (a crash, storage gone) costs accuracy of a minute, nothing else.
 */
const noteEveryMs = 60_000;
const flushAfterMs = 1000;
const remembered = 100_000;
/** Rows of one write: on SQLite it takes no longer than a few milliseconds. */
const batchSize = 500;

export type LastUsed = ReturnType<typeof createLastUsed>;

export function createLastUsed({ db, clock, log }: Pick<Platform, 'db' | 'clock' | 'log'>) {
  const noted = new Map<string, number>();
  let unwritten = new Map<string, LastUse>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const uses = [...unwritten.values()];
    unwritten = new Map();
    for (let at = 0; at < uses.length; at += batchSize)
      await db.write(writes.upsertLastUses, uses.slice(at, at + batchSize));
  }

  return {
    note({ creatorId, grantId }: Pick<Access, 'creatorId' | 'grantId'>): void {
      const at = clock();
      const last = noted.get(grantId);
      if (last !== undefined && at - last < noteEveryMs) return;
      if (noted.size >= remembered) noted.clear();
      noted.set(grantId, at);
      unwritten.set(grantId, { creator_id: creatorId, grant_id: grantId, used_at: at });
      timer ??= setTimeout(() => {
        flush().catch((err) => log.warn({ err }, 'last uses of grants were not written'));
      }, flushAfterMs).unref();
    },

    /** Writes what was noted: before it is shown, and at the end. */
    flush,
  };
}
