/**
 * The limiter within one process.
 *
 * Invariants:
 * - A key's ring holds exactly the requests that were let through and have not left the window, oldest first,
 *   so it never holds more than `limit`. It grows on demand: a key seen once costs one slot.
 * - Nothing scans. Keys live in two generations: a key that is used moves to the young one; once in the longest
 *   window seen the young one becomes the old one and the old one is dropped whole. What is dropped was not used
 *   for at least that window, so every request in it had left.
 */
import type { Limiter, LimitRule, LimitVerdict, Places } from './limiter.ts';

interface Ring {
  times: number[];
  head: number;
  count: number;
}

export interface MemoryLimiter extends Limiter {
  take(key: string, rule: LimitRule): LimitVerdict;
  /** How many keys with requests are held in memory. */
  keyCount(): number;
}

export interface MemoryLimiterOptions {
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

export function createMemoryLimiter({ now = () => performance.now() }: MemoryLimiterOptions = {}): MemoryLimiter {
  let young = new Map<string, Ring>();
  let old = new Map<string, Ring>();
  let longestWindow = 0;
  let turnedAt = now();

  function turnGenerations(time: number): void {
    old = young;
    young = new Map();
    turnedAt = time;
  }

  function ringOf(key: string): Ring {
    const used = young.get(key);
    if (used !== undefined) return used;
    const ring = old.get(key) ?? { times: [], head: 0, count: 0 };
    old.delete(key);
    young.set(key, ring);
    return ring;
  }

  return {
    take(key, { limit, windowMs }) {
      const time = now();
      if (windowMs > longestWindow) longestWindow = windowMs;
      if (time - turnedAt >= longestWindow) turnGenerations(time);

      const ring = ringOf(key);
      while (ring.count > 0 && oldest(ring) + windowMs <= time) dropOldest(ring);
      const allowed = ring.count < limit;
      if (allowed) append(ring, time);
      // Above zero, since whatever has left was dropped: at least one second when rounded up. The sum of fractions of
      // a millisecond can come out a hair above the window, which must not become a second.
      const resetMs = Math.min(windowMs, oldest(ring) + windowMs - time);
      return {
        allowed,
        remaining: Math.max(0, limit - ring.count),
        resetSeconds: Math.ceil(resetMs / 1000),
      };
    },
    places: createMemoryPlaces(),
    keyCount: () => young.size + old.size,
    async close() {
      young.clear();
      old.clear();
    },
  };
}

function createMemoryPlaces(): Places {
  const held = new Map<string, number>();
  return {
    take(key, most) {
      const count = held.get(key) ?? 0;
      if (count >= most) return false;
      held.set(key, count + 1);
      return true;
    },
    giveBack(key) {
      const left = (held.get(key) ?? 0) - 1;
      if (left > 0) held.set(key, left);
      else held.delete(key);
    },
  };
}

function oldest(ring: Ring): number {
  return ring.times[ring.head]!;
}

function dropOldest(ring: Ring): void {
  ring.head = ring.head + 1 === ring.times.length ? 0 : ring.head + 1;
  ring.count -= 1;
}

function append(ring: Ring, time: number): void {
  const { times, head, count } = ring;
  if (count < times.length) {
    const tail = head + count;
    times[tail < times.length ? tail : tail - times.length] = time;
  } else if (head === 0) {
    times.push(time);
  } else {
    ring.times = [...times.slice(head), ...times.slice(0, head), time];
    ring.head = 0;
  }
  ring.count += 1;
}
