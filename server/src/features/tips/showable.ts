import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Database } from '../../platform/db/database.ts';
import type { WorkQueue } from '../../platform/work-queue.ts';
import { toTip } from './repo.ts';
import type { Tip } from './schemas.ts';
import * as repo from './showable-repo.ts';

/** A stretch of alerts without a long silence: an evening. Both instants are those of alerts. */
export interface Evening {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

export interface EveningOptions {
  readonly since: number;
  readonly before: number;
  /** A silence of this length separates two evenings. */
  readonly silenceMs: number;
  readonly longestMs: number;
  readonly limit: number;
}

/** Tips that one read passes, whether or not they may be shown: on SQLite everybody waits for it. */
const pageSize = 2_000;
/** A history of very many tips offers fewer evenings. */
const maxPages = 20;
/** A span of more tips counts as one of too many alerts. */
const maxCountedPages = 30;

export function createShowable({ db, queue }: { readonly db: Database; readonly queue: WorkQueue }) {
  /** In turn with what others read of long histories. */
  const inTurn = <T>(creatorId: string, read: () => Promise<T>): Promise<T> =>
    queue.runAdmitted(creatorId, async () => {
      await nextIteration();
      return read();
    });

  /** When alerts came in [from, before), the newest first; `end` is how far back they were looked for. */
  async function timesOf(creatorId: string, from: number, before: number): Promise<{ times: number[]; end: number }> {
    const rows = await inTurn(creatorId, () => repo.passedBefore(db, creatorId, from, before, pageSize));
    const times = rows.flatMap(({ at, may_be_shown }) => (may_be_shown ? at : []));
    return { times, end: rows.length < pageSize ? from : (rows.at(-1)?.at ?? from) };
  }

  return {
    /** Whether the creator's rules and choices let the tip be shown, now or before. */
    mayBeShown: (creatorId: string, id: string): Promise<boolean> => repo.mayBeShown(db, creatorId, id),

    /** Alerts after a position and up to an instant, in the order in which they came. */
    async showableAfter(
      creatorId: string,
      position: Pick<repo.ShowableRow, 'at' | 'sequence'>,
      until: number,
      limit: number,
    ): Promise<repo.ShowableRow[]> {
      const found: repo.ShowableRow[] = [];
      let from = position;
      // Most histories are shown as a whole.
      for (let size = limit; found.length < limit; size = pageSize) {
        const rows = await inTurn(creatorId, () => repo.passedAfter(db, creatorId, from, until, size));
        found.push(...rows.filter(({ may_be_shown }) => may_be_shown));
        from = rows.at(-1) ?? from;
        if (rows.length < size) break;
      }
      return found.slice(0, limit);
    },

    /** Those of these tips that may be shown, as they are now. */
    async showable(creatorId: string, ids: readonly string[]): Promise<ReadonlyMap<string, Tip>> {
      if (ids.length === 0) return new Map();
      const rows = await repo.showableByIds(db, creatorId, ids);
      return new Map(rows.map((row) => [row.id, toTip(row)]));
    },

    /** How many alerts came in a span, both ends included: `most` stands for as many or more, or for too many tips. */
    async countShowable(creatorId: string, { from, to }: Omit<Evening, 'count'>, most: number): Promise<number> {
      let count = 0;
      let before = to + 1;
      for (let pages = 0; before > from && count < most; pages++) {
        if (pages === maxCountedPages) return most;
        const { times, end } = await timesOf(creatorId, from, before);
        count += times.length;
        before = end;
      }
      return Math.min(count, most);
    },

    /** The newest evenings, the newest first. It may read a long history. */
    async evenings(creatorId: string, { since, before, silenceMs, longestMs, limit }: EveningOptions) {
      const evenings: Evening[] = [];
      let current: Evening | undefined;
      let until = before;
      for (let pages = 0; pages < maxPages && evenings.length < limit && until > since; pages++) {
        const { times, end } = await timesOf(creatorId, since, until);
        for (const at of times) {
          const goesOn = current && current.from - at < silenceMs && current.to - at <= longestMs;
          if (current && !goesOn) evenings.push(current);
          current =
            current && goesOn ? { ...current, from: at, count: current.count + 1 } : { from: at, to: at, count: 1 };
        }
        // Alerts of the same millisecond as the last row of a page are left out if they did not fit on it.
        until = end;
      }
      if (current) evenings.push(current);
      return evenings.slice(0, limit);
    },
  };
}
