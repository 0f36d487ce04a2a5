/**
 * Sums by day, of the newest days. Invariants:
 *
 * - Each is the sum of one stretch of the index by (creator, time), read in pieces that wait their turn among the other
 *   readers of long histories.
 * - A creator's history only grows at its end: what is older than the newest record is there for good. So the sums up to
 *   that instant are kept in memory, of the newest day too, and an open dashboard that looks again at every tip sums only
 *   what is new. A day after the newest record is empty.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Platform } from '../../platform/platform.ts';
import type { WorkQueue } from '../../platform/work-queue.ts';
import type { EventPosition } from '../events/index.ts';
import { sumPiece } from './repo.ts';

export interface DayTotal {
  readonly startsAt: number;
  readonly totalMinor: number;
  readonly count: number;
}

/** The sum of a day's records before `until`, to which none can be added. */
interface Part extends DayTotal {
  readonly until: number;
}

/** Creators whose days are kept; those that were not asked for longest are forgotten. */
const mostKept = 500;

/** Summed at a time, in about a millisecond. */
const pieceSize = 2_000;

export interface DaysParts extends Pick<Platform, 'db' | 'zone'> {
  readonly queue: WorkQueue;
}

export function createDays({ db, zone, queue }: DaysParts) {
  const kept = new Map<string, ReadonlyMap<number, Part>>();

  function keep(creatorId: string, parts: readonly Part[]): void {
    kept.delete(creatorId);
    kept.set(creatorId, new Map(parts.map((part) => [part.startsAt, part])));
    for (const oldest of kept.keys()) {
      if (kept.size <= mostKept) return;
      kept.delete(oldest);
    }
  }

  /** With what follows, until another instant. */
  async function extend(creatorId: string, part: Part, until: number): Promise<Part> {
    if (until <= part.until) return part;
    let [{ totalMinor, count }, after]: [Part, EventPosition] = [part, { createdAt: part.until, sequence: 0 }];
    for (let more = true; more; ) {
      const piece = await queue.goOn(async () => {
        const sum = await sumPiece(db, creatorId, after, until, pieceSize);
        await nextTurn();
        return sum;
      });
      totalMinor += piece.totalMinor;
      count += piece.count;
      after = { createdAt: piece.createdAt, sequence: piece.sequence };
      more = piece.count === pieceSize;
    }
    return { ...part, totalMinor, count, until };
  }

  /** `lastAt`: the creator's newest record. */
  return async (creatorId: string, asOf: number, lastAt: number, count: number): Promise<DayTotal[]> => {
    const known = kept.get(creatorId);
    const starts = zone.lastDays(asOf, count);
    const [days, parts]: [DayTotal[], Part[]] = [[], []];
    for (const [index, endsAt] of starts.slice(1).entries()) {
      const startsAt = starts[index] ?? 0;
      const before = known?.get(startsAt) ?? { startsAt, totalMinor: 0, count: 0, until: startsAt };
      const part = await extend(creatorId, before, Math.min(lastAt, endsAt));
      const { until: _, ...day } = startsAt > lastAt ? part : await extend(creatorId, part, endsAt);
      parts.push(part);
      days.push(day);
    }
    keep(creatorId, parts);
    return days;
  };
}
