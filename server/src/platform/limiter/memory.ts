/**
 * The limiter within one process. Invariants:
 *
 * - A key's ring buffer holds exactly the requests that were let through and have not left the window, oldest first,
 *   so it never holds more than `limit`. It grows on demand: a key seen once costs one element.
 * - Nothing scans. Keys live in two generations: a key that is used moves to the young one. Once in the longest
 *   window seen the young generation becomes the old one, and the previous old one is dropped whole. Its keys were not
 *   used for at least that window, so all their requests had left. Keys with long windows have generations of their own.
 */
import type { ConnectionSlots, Limiter, LimitRule, LimitVerdict } from './limiter.ts';

/** The times of requests: `count` of them from `head` on, wrapping at the end of `times`. */
interface Ring {
  times: number[];
  head: number;
  count: number;
}

export interface MemoryLimiter extends Limiter {
  take(key: string, rule: LimitRule, cost?: number): LimitVerdict;
  /** How many keys with requests are kept in memory. */
  keyCount(): number;
}

export interface MemoryLimiterOptions {
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/** Keys with windows up to this long are kept apart: those of an hour must not keep every visitor's for as long. */
const usualWindowMs = 60_000;

interface Generations {
  young: Map<string, Ring>;
  old: Map<string, Ring>;
  longestWindow: number;
  rotatedAt: number;
}

const newGenerations = (time: number): Generations => ({
  young: new Map(),
  old: new Map(),
  longestWindow: 0,
  rotatedAt: time,
});

export function createMemoryLimiter({ now = () => performance.now() }: MemoryLimiterOptions = {}): MemoryLimiter {
  const usual = newGenerations(now());
  const long = newGenerations(now());

  return {
    take(key, { limit, windowMs }, cost = 1) {
      const time = now();
      const ring = ringOf(windowMs > usualWindowMs ? long : usual, key, windowMs, time);
      while (ring.count > 0 && timeAt(ring, 0) + windowMs <= time) dropOldest(ring);
      const excess = ring.count + Math.min(cost, limit) - limit;
      const allowed = excess <= 0;
      if (allowed) for (let i = Math.min(cost, limit); i > 0; i -= 1) append(ring, time);
      // Above zero, because requests that have left were dropped: at least one second when rounded up. Floating-point
      // addition can exceed the window by a tiny fraction, which must not be rounded up to a whole second.
      const leavesFirst = ring.count > 0 ? timeAt(ring, allowed ? 0 : excess - 1) : time;
      const resetMs = Math.min(windowMs, leavesFirst + windowMs - time);
      return {
        allowed,
        remaining: Math.max(0, limit - ring.count),
        resetSeconds: Math.ceil(resetMs / 1000),
      };
    },
    connectionSlots: createMemorySlots(),
    keyCount: () => usual.young.size + usual.old.size + long.young.size + long.old.size,
    async close() {
      for (const { young, old } of [usual, long]) {
        young.clear();
        old.clear();
      }
    },
  };
}

function ringOf(generations: Generations, key: string, windowMs: number, time: number): Ring {
  if (windowMs > generations.longestWindow) generations.longestWindow = windowMs;
  if (time - generations.rotatedAt >= generations.longestWindow) {
    generations.old = generations.young;
    generations.young = new Map();
    generations.rotatedAt = time;
  }
  const { young, old } = generations;
  const used = young.get(key);
  if (used !== undefined) return used;
  const ring = old.get(key) ?? { times: [], head: 0, count: 0 };
  old.delete(key);
  young.set(key, ring);
  return ring;
}

function createMemorySlots(): ConnectionSlots {
  const held = new Map<string, number>();
  return {
    acquire(key, max) {
      const count = held.get(key) ?? 0;
      if (count >= max) return false;
      held.set(key, count + 1);
      return true;
    },
    release(key) {
      const left = (held.get(key) ?? 0) - 1;
      if (left > 0) held.set(key, left);
      else held.delete(key);
    },
  };
}

/** The time of the request with this index, the oldest's being 0. */
function timeAt({ times, head }: Ring, index: number): number {
  return times[(head + index) % times.length] ?? 0;
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
