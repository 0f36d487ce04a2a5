import type { Platform } from '../../../platform/platform.ts';
import type { Access } from './access.ts';
import { type LastUse, writes } from './repo.ts';

/**
 * When each grant was last used, for the creator's list of connected apps.
 *
 * - Recording a use costs a request one lookup in a map. A grant is written at most once a minute, in a batch.
 * - The times have a separate table: a change of `grants` would make every request read its grant again (access.ts).
 * - A crash loses at most a minute of these times. While the storage can write nothing they wait in memory, and the next
 *   write has them too.
 */
const writeIntervalMs = 60_000;
const flushAfterMs = 1000;
const maxCached = 100_000;
/** Rows of one write. On SQLite such a write takes a few milliseconds. */
const batchSize = 500;

export type LastUsed = ReturnType<typeof createLastUsed>;

export function createLastUsed({ db, clock, log }: Pick<Platform, 'db' | 'clock' | 'log'>) {
  const recorded = new Map<string, number>();
  let unwritten = new Map<string, LastUse>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const rows = [...unwritten.values()];
    unwritten = new Map();
    for (let at = 0; at < rows.length; at += batchSize) {
      try {
        await db.write(writes.upsertLastUses, rows.slice(at, at + batchSize));
      } catch (err) {
        log.warn({ err }, 'last uses of grants were not written');
        return putBack(rows.slice(at));
      }
    }
  }

  /** What was recorded meanwhile is newer and stays. */
  function putBack(rows: readonly LastUse[]): void {
    for (const row of rows)
      if (unwritten.size < maxCached && !unwritten.has(row.grant_id)) unwritten.set(row.grant_id, row);
  }

  return {
    record({ creatorId, grantId }: Pick<Access, 'creatorId' | 'grantId'>): void {
      const at = clock();
      const last = recorded.get(grantId);
      if (last !== undefined && at - last < writeIntervalMs) return;
      if (recorded.size >= maxCached) recorded.clear();
      recorded.set(grantId, at);
      unwritten.set(grantId, { creator_id: creatorId, grant_id: grantId, used_at: at });
      timer ??= setTimeout(flush, flushAfterMs).unref();
    },

    /** Writes the pending times: before they are shown, and at shutdown. A failure is logged, and no caller fails with it. */
    flush,
  };
}
