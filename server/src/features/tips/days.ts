/**
 * The totals of the newest days. Invariants:
 *
 * - A total is the sum of one range of the index by (creator, time), read in batches. Each batch waits its turn among all
 *   reads of long histories.
 * - Time never runs backwards along a creator's events, so no tip is ever added before the newest event. The totals up
 *   to that event are cached, also for the day that is not over: a dashboard that refreshes at every tip sums only the
 *   new ones. A day after the newest event is empty.
 * - A void changes totals of the past. The creator's head counts voids. Its count is read before the sums and after them:
 *   if it is the same, no void came in between, and the totals are without exactly so many voids. Then the tips that were
 *   voided since are subtracted. They are found by their time, which is not before the newest event of then. Unless they
 *   are exactly as many as the count has grown by, all is summed anew.
 * - A repair of the clock moves tips to another time, and the head counts such moves: what was cached before is dropped.
 * - Whoever asks while a creator's days are summed waits for that sum, and then for a turn of their own: a hundred reads
 *   at once read a long history once, and are not all answered in the same iteration of the event loop.
 */
import { setNewest } from '../../platform/lru-map.ts';
import { createPauses } from '../../platform/pauses.ts';
import type { Platform } from '../../platform/platform.ts';
import type { WorkQueue } from '../../platform/work-queue.ts';
import type { EventPosition } from '../events/index.ts';
import { sumBatch, type VoidedTip, voidedSince } from './days-repo.ts';

export interface DayTotal {
  readonly startsAt: number;
  readonly totalMinor: number;
  readonly count: number;
}

/** The total of a day's tips before `until`. It is final until the next void: no tip can be added there. */
interface PartialTotal extends DayTotal {
  readonly until: number;
}

interface Cached {
  readonly voids: number;
  readonly moves: number;
  /**
   * The sequences of tips that were voided at `lastAt` and are not in the totals: a later void can have the same time.
   * Absent if a void came while the totals were summed.
   */
  readonly voidedAtLast: ReadonlySet<number> | undefined;
  /** The time of the newest event, up to which the totals go. */
  readonly lastAt: number;
  readonly totals: ReadonlyMap<number, PartialTotal>;
}

/** The cache evicts the creator whose totals were read least recently. */
const maxCachedCreators = 500;
/** As many as a dashboard shows. A widget that asks for today must not evict the others. */
const maxCachedDays = 30;

/** The most tips of one batch: about a millisecond. */
const batchSize = 2_000;

/** After more voids all is summed anew. */
const maxSubtracted = 500;

/** The time of the creator's newest event, and how many tips were voided. */
interface DaysHead {
  readonly last_at: number;
  readonly void_count: number;
  readonly move_count: number;
}

/** The total of the tips of [from, before) that are not voided. */
export async function sumBetween(
  { db, queue }: Pick<DaysParts, 'db' | 'queue'>,
  creatorId: string,
  from: number,
  before: number,
  pause = createPauses(creatorId),
): Promise<{ totalMinor: number; count: number }> {
  const total = { totalMinor: 0, count: 0 };
  let after: EventPosition = { createdAt: from, sequence: 0 };
  for (let more = true; more; ) {
    const batch = await queue.runAdmitted(creatorId, async () => {
      await pause();
      return sumBatch(db, creatorId, after, before, batchSize);
    });
    total.totalMinor += batch.totalMinor;
    total.count += batch.count;
    after = { createdAt: batch.createdAt, sequence: batch.sequence };
    more = batch.read === batchSize;
  }
  return total;
}

export interface DaysParts extends Pick<Platform, 'db' | 'zone'> {
  readonly queue: WorkQueue;
  readonly readHead: (creatorId: string) => Promise<DaysHead>;
}

/** The total without the voided tips that it contains. */
function subtract(total: PartialTotal, voided: readonly VoidedTip[]): PartialTotal {
  const own = voided.filter(({ createdAt }) => createdAt >= total.startsAt && createdAt < total.until);
  const minor = own.reduce((sum, { amountMinor }) => sum + amountMinor, 0);
  return { ...total, totalMinor: total.totalMinor - minor, count: total.count - own.length };
}

export function createDays({ db, zone, queue, readHead }: DaysParts) {
  const cache = new Map<string, Cached>();

  /** Reads the count of voids again, after all that the totals were summed from. */
  async function store(
    creatorId: string,
    { last_at: lastAt, void_count: voids, move_count: moves }: DaysHead,
    totals: ReadonlyMap<number, PartialTotal>,
  ): Promise<void> {
    const atLast = await voidedSince(db, creatorId, lastAt, maxSubtracted);
    const same = (await readHead(creatorId)).void_count === voids && atLast.length < maxSubtracted;
    const cached = {
      voids,
      moves,
      voidedAtLast: same ? new Set(atLast.map(({ sequence }) => sequence)) : undefined,
      lastAt,
      totals: new Map([...totals].sort(([a], [b]) => b - a).slice(0, maxCachedDays)),
    };
    setNewest(cache, creatorId, cached, maxCachedCreators);
  }

  /** What is cached and true for this head. */
  async function known(creatorId: string, { last_at: lastAt, void_count: voids, move_count: moves }: DaysHead) {
    const found = cache.get(creatorId);
    if (!found || found.moves !== moves || found.lastAt > lastAt) return undefined;
    if (found.voids === voids) return found.totals;
    const { voidedAtLast } = found;
    if (!voidedAtLast) return undefined;
    const listed = await voidedSince(db, creatorId, found.lastAt, maxSubtracted);
    const voided = listed.filter(({ sequence }) => !voidedAtLast.has(sequence));
    if (listed.length === maxSubtracted || voided.length !== voids - found.voids) return undefined;
    return new Map([...found.totals].map(([startsAt, total]) => [startsAt, subtract(total, voided)]));
  }

  async function extend(
    creatorId: string,
    total: PartialTotal,
    until: number,
    pause: () => Promise<void>,
  ): Promise<PartialTotal> {
    if (until <= total.until) return total;
    const added = await sumBetween({ db, queue }, creatorId, total.until, until, pause);
    return { ...total, totalMinor: total.totalMinor + added.totalMinor, count: total.count + added.count, until };
  }

  async function sumDays(creatorId: string, head: DaysHead, starts: readonly number[]): Promise<DayTotal[]> {
    const { last_at: lastAt } = head;
    const pause = createPauses(creatorId);
    const cached = await known(creatorId, head);
    const days: DayTotal[] = [];
    const finalTotals = new Map(cached);
    for (const [index, endsAt] of starts.slice(1).entries()) {
      const startsAt = starts[index] ?? 0;
      const earlier = cached?.get(startsAt) ?? { startsAt, totalMinor: 0, count: 0, until: startsAt };
      const total = await extend(creatorId, earlier, Math.min(lastAt, endsAt), pause);
      const { until: _, ...day } = startsAt > lastAt ? total : await extend(creatorId, total, endsAt, pause);
      finalTotals.set(startsAt, total);
      days.push(day);
    }
    await store(creatorId, head, finalTotals);
    return days;
  }

  /** For each creator the sum that is being made. */
  const running = new Map<string, Promise<unknown>>();

  return async (creatorId: string, asOf: number, head: DaysHead, count: number): Promise<DayTotal[]> => {
    const starts = zone.lastDays(asOf, count);
    const others = running.get(creatorId);
    if (others) {
      // If it failed, this one reads everything itself.
      await Promise.allSettled([others]);
      // What is cached may be newer than the head that was read before.
      return sumDays(creatorId, await readHead(creatorId), starts);
    }
    const sum = sumDays(creatorId, head, starts);
    running.set(creatorId, sum);
    return sum.finally(() => running.delete(creatorId));
  };
}
