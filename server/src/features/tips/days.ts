/**
 * The totals of the newest days. Invariants:
 *
 * - A total is one range scan of the index by (creator, time). Other requests run between two scans.
 * - Time never runs backwards along a creator's events, so no tip is ever added before the newest event. The totals up
 *   to that event are cached, also for the day that is not over: a dashboard that refreshes at every tip scans only the
 *   new ones. A day after the newest event is empty.
 */
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Platform } from '../../platform/platform.ts';
import { sumBetween } from './repo.ts';

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

export function createDays({ db, zone }: Pick<Platform, 'db' | 'zone'>) {
  const cache = new Map<string, ReadonlyMap<number, PartialTotal>>();

  function store(creatorId: string, totals: readonly PartialTotal[]): void {
    cache.delete(creatorId);
    cache.set(creatorId, new Map(totals.map((total) => [total.startsAt, total])));
    const [oldest] = cache.keys();
    if (cache.size > maxCachedCreators && oldest !== undefined) cache.delete(oldest);
  }

  async function extend(creatorId: string, total: PartialTotal, until: number): Promise<PartialTotal> {
    if (until <= total.until) return total;
    const { totalMinor, count } = await sumBetween(db, creatorId, total.until, until);
    await yieldToOthers();
    return { ...total, totalMinor: total.totalMinor + totalMinor, count: total.count + count, until };
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
