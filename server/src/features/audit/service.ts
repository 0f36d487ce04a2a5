import { toTimestamp } from '../../platform/clock.ts';
import { afterAllIds, firstId } from '../../platform/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import * as repo from './repo.ts';

const keptMs = 365 * 86_400_000;
const batch = 500;

/**
 * Rows are in the order of the clocks that made them, so whoever follows the log reads the last minute again each time,
 * for rows that commit late, and once a minute the last hour, for rows of nodes whose clocks are behind.
 */
const overlapMs = 60_000;
const wideOverlapMs = 3_600_000;
const wideEveryMs = 60_000;

export type Audit = ReturnType<typeof createAudit>;

/** A row for the operator. */
const entryView = (row: repo.AuditRow) => ({
  id: row.id,
  at: toTimestamp(row.at),
  action: row.action,
  actor: row.actor,
  actor_name: row.os_user ?? row.actor_username ?? row.actor_app_name,
  creator_id: row.creator_id,
  username: row.username,
  client_id: row.client_id,
  app_name: row.app_name,
  address: row.address,
  request_id: row.request_id,
  details: JSON.parse(row.details),
  times: row.times,
  last_at: toTimestamp(row.last_at),
});

export type AuditEntry = ReturnType<typeof entryView>;

/** The audit log as its readers see it. Rows are written by the writes that they tell of (audited.ts). */
export function createAudit({ db, clock }: Pick<Platform, 'db' | 'clock'>) {
  return {
    /** What happened to an account, newest first; before a row, if its id is given. */
    of: (creatorId: string, before: string | undefined, limit: number) =>
      repo.entriesOf(db, creatorId, before ?? afterAllIds, limit),

    /** The newest rows of a span, oldest of them first. */
    async list(
      filter: repo.AuditFilter,
      { since, until, limit }: { since?: number | undefined; until?: number | undefined; limit: number },
    ): Promise<AuditEntry[]> {
      const from = firstId('aud', since ?? 0);
      const before = until === undefined ? afterAllIds : firstId('aud', until + 1);
      const rows = await repo.entries(db, filter, { from, before, limit, newestFirst: true });
      return rows.reverse().map(entryView);
    },

    /** Returns a function that answers, each time, the rows that have come since these newest ones, oldest first. */
    after(filter: repo.AuditFilter, printed: readonly AuditEntry[], since = 0): () => Promise<AuditEntry[]> {
      const known = new Map(printed.map(({ id, at }) => [id, Date.parse(at)]));
      let newest = Math.max(0, ...known.values());
      // Rows before the first of these were there already.
      let begin = printed[0]?.id ?? '';
      let wideAt: number | undefined;
      return async () => {
        // A row of a node whose clock is ahead must not hide the rows of all others.
        const anchor = Math.min(newest, clock());
        for (const [id, at] of known) if (at < anchor - wideOverlapMs) known.delete(id);
        const found: repo.AuditRow[] = [];
        const isWide = wideAt === undefined || Math.abs(clock() - wideAt) >= wideEveryMs;
        if (isWide) wideAt = clock();
        let from = firstId('aud', Math.max(since, 0, anchor - (isWide ? wideOverlapMs : overlapMs)));
        for (;;) {
          const rows = await repo.entries(db, filter, { from, before: afterAllIds, limit: batch, newestFirst: false });
          for (const row of rows) {
            if (!known.has(row.id) && row.id >= begin) found.push(row);
            known.set(row.id, row.at);
          }
          // Sorts after this id, and before all others.
          from = `${rows.at(-1)?.id} `;
          if (rows.length < batch) break;
        }
        begin = '';
        newest = Math.max(newest, ...found.map(({ at }) => at));
        return found.map(entryView);
      };
    },

    /** Takes what is personal out of an account's rows, for one that is deleted. */
    async erase(creatorId: string): Promise<void> {
      let after: string | undefined = '';
      while (after !== undefined) after = await db.write(repo.writes.eraseEntries, creatorId, after, batch);
    },

    async prune(): Promise<void> {
      const before = firstId('aud', clock() - keptMs);
      while ((await db.write(repo.writes.deleteEntriesBefore, before, batch)) > 0);
    },
  };
}
