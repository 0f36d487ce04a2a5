import type { Platform } from '../../platform/platform.ts';
import * as repo from './clock-repo.ts';

/** How far this node's clock is from others, in milliseconds; positive where this node's is ahead. */
export interface ClockCheck {
  /** Of the database's clock; `null` where the database has none of its own. */
  readonly aheadOfDatabaseMs: number | null;
  /** How far the newest record lies in the future; 0 if it does not. */
  readonly recordsAheadMs: number;
  /** Some of the creators whose history lies in the future. */
  readonly creators: readonly string[];
  /** What is wrong, in a sentence each. */
  readonly problems: readonly string[];
  /** Set by the first check without problems: how long there were some. */
  readonly wasWrongMs: number | null;
}

/** Nodes may differ by this much without anybody being told. */
const toleranceMs = 5 * 60_000;
const namedCreators = 10;
const atOnce = 500;

export function createClockCheck({ db, clock, zone }: Pick<Platform, 'db' | 'clock' | 'zone'>) {
  /** By a clock that nobody sets. */
  let wrongSince: number | null = null;

  function wrongUntilNow(isWrong: boolean): number | null {
    const since = wrongSince;
    wrongSince = isWrong ? (since ?? performance.now()) : null;
    return isWrong || since === null ? null : performance.now() - since;
  }

  return {
    async checkClock(): Promise<ClockCheck> {
      const [databaseTime, newest] = await Promise.all([repo.databaseTime(db), repo.newestRecord(db)]);
      const now = clock();
      const aheadOfDatabaseMs = databaseTime === null ? null : now - databaseTime;
      const recordsAheadMs = Math.max(0, (newest ?? 0) - now);
      const creators =
        recordsAheadMs > toleranceMs ? await repo.creatorsBeyond(db, now + toleranceMs, namedCreators) : [];
      const problems: string[] = [];
      if (aheadOfDatabaseMs !== null && Math.abs(aheadOfDatabaseMs) > toleranceMs)
        problems.push(
          `This machine’s clock is ${inWords(aheadOfDatabaseMs)} ${aheadOfDatabaseMs > 0 ? 'ahead of' : 'behind'} the database’s: set it right.`,
        );
      if (recordsAheadMs > toleranceMs)
        problems.push(
          `The newest record lies ${inWords(recordsAheadMs)} in the future (${creators.join(', ')}): a clock was wrong when it was made, or this machine’s is now. Once all clocks are right: namjai creator repair-clock USERNAME`,
        );
      return { aheadOfDatabaseMs, recordsAheadMs, creators, problems, wasWrongMs: wrongUntilNow(problems.length > 0) };
    },

    async isClockAhead(): Promise<boolean> {
      const databaseTime = await repo.databaseTime(db);
      return databaseTime !== null && clock() - databaseTime > toleranceMs;
    },

    /**
     * Moves what a creator recorded in the future back to now. Order, sequences, totals and the bytes of events stay;
     * the month is counted anew. Returns how far the head was ahead, 0 if it was not.
     */
    async repairClock(creatorId: string, head: { readonly last_at: number }): Promise<number> {
      const now = clock();
      for (let after: number | null = 0; after !== null; )
        after = await db.write(repo.writes.moveBack, creatorId, after, now, atOnce);
      const repaired = await db.write(repo.writes.repairHead, { creatorId, ...zone.month(now) }, now);
      return repaired ? head.last_at - now : 0;
    },
  };
}

function inWords(ms: number): string {
  const minutes = Math.round(Math.abs(ms) / 60_000);
  if (minutes < 120) return `${minutes} minutes`;
  return minutes < 2880 ? `${Math.round(minutes / 60)} hours` : `${Math.round(minutes / 1440)} days`;
}
