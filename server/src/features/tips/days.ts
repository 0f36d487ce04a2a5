/**
 * The totals of the newest days. Invariants:
 *
 * - A total is the sum of one range of the index by (creator, time), read in pieces. Each piece waits its turn among all
 *   reads of long histories.
 * - Time never runs backwards along a creator's events, so no tip is ever added before the newest event. The totals up
 *   to that event are cached, also for the day that is not over: a dashboard that refreshes at every tip sums only the
 *   new ones. A day after the newest event is empty.
 */
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Platform } from '../../platform/platform.ts';
import type { WorkQueue } from '../../platform/work-queue.ts';
import type { EventPosition } from '../events/index.ts';
import { sumPiece } from './repo.ts';

export interface DayTotal {
  readonly startsAt: number;
  readonly totalMinor: number;
  readonly count: number;
}

/** The total of a day's tips before `until`. It is final: no tip can be added there. */
interface PartialTotal extends DayTotal {
  readonly until: number;
}

/** The cache evicts the creator whose totals were read least recently. */
const maxCachedCreators = 500;

/** The most tips of one piece: about a millisecond. */
const pieceSize = 2_000;

export interface DaysParts extends Pick<Platform, 'db' | 'zone'> {
  readonly queue: WorkQueue;
}

export function createDays({ db, zone, queue }: DaysParts) {
  const cache = new Map<string, ReadonlyMap<number, PartialTotal>>();

  function store(creatorId: string, totals: readonly PartialTotal[]): void {
    cache.delete(creatorId);
    cache.set(creatorId, new Map(totals.map((total) => [total.startsAt, total])));
    const [oldest] = cache.keys();
    if (cache.size > maxCachedCreators && oldest !== undefined) cache.delete(oldest);
  }

  async function extend(creatorId: string, total: PartialTotal, until: number): Promise<PartialTotal> {
    if (until <= total.until) return total;
    let { totalMinor, count } = total;
    let after: EventPosition = { createdAt: total.until, sequence: 0 };
    for (let more = true; more; ) {
      const piece = await queue.goOn(creatorId, async () => {
        const sum = await sumPiece(db, creatorId, after, until, pieceSize);
        await yieldToOthers();
        return sum;
      });
      totalMinor += piece.totalMinor;
      count += piece.count;
      after = { createdAt: piece.createdAt, sequence: piece.sequence };
      more = piece.count === pieceSize;
    }
    return { ...total, totalMinor, count, until };
  }

  /** `lastAt` is the time of the creator's newest event. */
  return async (creatorId: string, asOf: number, lastAt: number, count: number): Promise<DayTotal[]> => {
    const cached = cache.get(creatorId);
    const starts = zone.lastDays(asOf, count);
    const [days, finalTotals]: [DayTotal[], PartialTotal[]] = [[], []];
    for (const [index, endsAt] of starts.slice(1).entries()) {
      const startsAt = starts[index] ?? 0;
      const known = cached?.get(startsAt) ?? { startsAt, totalMinor: 0, count: 0, until: startsAt };
      const total = await extend(creatorId, known, Math.min(lastAt, endsAt));
      const { until: _, ...day } = startsAt > lastAt ? total : await extend(creatorId, total, endsAt);
      finalTotals.push(total);
      days.push(day);
    }
    store(creatorId, finalTotals);
    return days;
  };
}
