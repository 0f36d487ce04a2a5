import type { Platform } from '../../platform/platform.ts';
import * as repo from './clock-repo.ts';
import { readHead } from './repo.ts';

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
/** How much one write of a repair moves: some milliseconds. */
const atOnce = 250;

export function createClockCheck({ db, clock }: Pick<Platform, 'db' | 'clock'>) {
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
  };
}

export function createClockRepair({ db, origins, clock, zone }: Pick<Platform, 'db' | 'origins' | 'clock' | 'zone'>) {
  return {
    /**
     * Moves what a creator recorded in the future back to now. Order, sequences, totals and the bytes of events stay;
     * the month is counted anew. Returns how far the head was ahead, 0 if it was not. A repair that is broken off can be
     * done again.
     */
    async repairClock(creatorId: string): Promise<number> {
      const now = clock();
      const month = { creatorId, ...zone.month(now) };
      let aheadMs: number | undefined;
      for (let after = 0; aheadMs === undefined; ) {
        // Before the batch: if none is found, all that this head has counted is of the past.
        const head = await readHead(db, creatorId);
        if (!head) return 0;
        // What is recorded from here on has the right time by itself.
        if (head.last_at <= now) {
          aheadMs = 0;
          break;
        }
        const batch = await repo.nextBatch(db, creatorId, after, now, atOnce);
        if (batch?.isFull) {
          await db.write(repo.writes.moveBack, creatorId, batch, now);
          after = batch.last;
          continue;
        }
        const rest = { first: batch?.first ?? head.sequence + 1, voids: head.void_count, moves: head.move_count };
        const sum = await repo.sumMonth(db, month, now, rest);
        aheadMs = await db.write(repo.writes.repairHead, origins.current(), month, sum, now);
      }
      for (const kind of repo.waiting)
        while ((await db.write(repo.writes.moveWaiting, kind, creatorId, now, atOnce)) === atOnce);
      await db.write(repo.writes.moveFew, creatorId, now);
      return aheadMs;
    },
  };
}

function inWords(ms: number): string {
  const minutes = Math.round(Math.abs(ms) / 60_000);
  if (minutes < 120) return `${minutes} minutes`;
  return minutes < 2880 ? `${Math.round(minutes / 60)} hours` : `${Math.round(minutes / 1440)} days`;
}
