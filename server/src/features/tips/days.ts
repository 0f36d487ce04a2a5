/**
 * The totals of the newest days. Invariants:
 *
 * - A total is the sum of one range of the index by (creator, time), read in pieces. Each piece waits its turn among all
 *   reads of long histories.
 * - Time never runs backwards along a creator's events, so no tip is ever added before the newest event. The totals up
 *   to that event are cached, also for the day that is not over: a dashboard that refreshes at every tip sums only the
 *   new ones. A day after the newest event is empty.
 * - A void changes totals of the past. The creator's head counts voids: what was cached under another count is dropped.
 *   The count is read before the sums, so a void in between can only make them be dropped needlessly.
 * - A repair of the clock moves tips back, and the newest event with them: what was cached up to a later one is dropped.
 * - Whoever asks while a creator's days are summed waits for that sum, and then for a turn of their own: a hundred looks
 *   at once read a long history once, and are not all answered in the same iteration of the event loop.
 */
import { createPauses } from '../../platform/pauses.ts';
import type { Platform } from '../../platform/platform.ts';
import type { WorkQueue } from '../../platform/work-queue.ts';
import type { EventPosition } from '../events/index.ts';
import { sumPiece } from './days-repo.ts';

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
  /** The time of the newest event, up to which the totals go. */
  readonly lastAt: number;
  readonly totals: ReadonlyMap<number, PartialTotal>;
}

/** The cache evicts the creator whose totals were read least recently. */
const maxCachedCreators = 500;

/** The most tips of one piece: about a millisecond. */
const pieceSize = 2_000;

/** The time of the creator's newest event, and how many tips were voided. */
interface DaysHead {
  readonly last_at: number;
  readonly void_count: number;
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
    const piece = await queue.goOn(creatorId, async () => {
      await pause();
      return sumPiece(db, creatorId, after, before, pieceSize);
    });
    total.totalMinor += piece.totalMinor;
    total.count += piece.count;
    after = { createdAt: piece.createdAt, sequence: piece.sequence };
    more = piece.read === pieceSize;
  }
  return total;
}

export interface DaysParts extends Pick<Platform, 'db' | 'zone'> {
  readonly queue: WorkQueue;
}

export function createDays({ db, zone, queue }: DaysParts) {
  const cache = new Map<string, Cached>();

  function store(creatorId: string, { last_at: lastAt, void_count: voids }: DaysHead, totals: readonly PartialTotal[]) {
    cache.delete(creatorId);
    cache.set(creatorId, { voids, lastAt, totals: new Map(totals.map((total) => [total.startsAt, total])) });
    const [oldest] = cache.keys();
    if (cache.size > maxCachedCreators && oldest !== undefined) cache.delete(oldest);
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
    const { last_at: lastAt, void_count: voids } = head;
    const pause = createPauses(creatorId);
    const found = cache.get(creatorId);
    const cached = found?.voids === voids && found.lastAt <= lastAt ? found.totals : undefined;
    const [days, finalTotals]: [DayTotal[], PartialTotal[]] = [[], []];
    for (const [index, endsAt] of starts.slice(1).entries()) {
      const startsAt = starts[index] ?? 0;
      const known = cached?.get(startsAt) ?? { startsAt, totalMinor: 0, count: 0, until: startsAt };
      const total = await extend(creatorId, known, Math.min(lastAt, endsAt), pause);
      const { until: _, ...day } = startsAt > lastAt ? total : await extend(creatorId, total, endsAt, pause);
      finalTotals.push(total);
      days.push(day);
    }
    store(creatorId, head, finalTotals);
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
      return sumDays(creatorId, head, starts);
    }
    const sum = sumDays(creatorId, head, starts);
    running.set(creatorId, sum);
    return sum.finally(() => running.delete(creatorId));
  };
}
