/**
 * Sums by day, of the newest days. Invariants:
 *
 * - Each is the sum of one stretch of the index by (creator, time), and other requests get their turn between two of them.
 * - A creator's history only grows at its end. So a day that ended before the newest record is over for good and its sum
 *   is kept in memory, and a day after it is empty; only the newest one is summed each time.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '../../platform/db/database.ts';
import type { Zone } from '../../platform/zone.ts';
import { sumBetween } from './repo.ts';

export interface DayTotal {
  readonly startsAt: number;
  readonly totalMinor: number;
  readonly count: number;
}

/** Creators whose days are kept; those that were not asked for longest are forgotten. */
const mostKept = 500;

export function createDays({ db, zone }: { db: Database; zone: Zone }) {
  const kept = new Map<string, ReadonlyMap<number, DayTotal>>();

  function keep(creatorId: string, days: readonly DayTotal[]): void {
    kept.delete(creatorId);
    kept.set(creatorId, new Map(days.map((day) => [day.startsAt, day])));
    for (const oldest of kept.keys()) {
      if (kept.size <= mostKept) return;
      kept.delete(oldest);
    }
  }

  /** `lastAt`: the creator's newest record. */
  return async (creatorId: string, asOf: number, lastAt: number, count: number): Promise<DayTotal[]> => {
    const known = kept.get(creatorId);
    const starts = zone.lastDays(asOf, count);
    const days: DayTotal[] = [];
    for (const [index, endsAt] of starts.slice(1).entries()) {
      const startsAt = starts[index] ?? 0;
      const empty = { startsAt, totalMinor: 0, count: 0 };
      const day = startsAt > lastAt ? empty : known?.get(startsAt);
      days.push(day ?? { ...empty, ...(await sumBetween(db, creatorId, startsAt, endsAt)) });
      if (!day) await nextTurn();
    }
    keep(
      creatorId,
      days.filter((_, index) => (starts[index + 1] ?? 0) <= lastAt),
    );
    return days;
  };
}
