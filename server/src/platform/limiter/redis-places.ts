/**
 * Places over many nodes: for each key one hash in Redis that says how many each node holds, and until when that is
 * sure, on the Redis server's clock. Invariants:
 *
 * - One script does everything: it notes how many this node holds, grants of those it wants what the others leave, and
 *   so renews the lease. It is told numbers, never changes of them, so whatever was lost is put right by the next call.
 * - A key has one call under way at a time, and a connection keeps the order, so what was said last is what counts.
 *   All who want a place meanwhile are asked for together: a crowd at one key costs no more calls than one.
 * - What was granted is in Redis before it is known here; what was given back leaves Redis after it has left here. So
 *   the count in Redis may be too high for a moment, never too low.
 * - Someone who closes on one node and opens on another can be there before the place is free. So nobody is refused at
 *   once: until the patience ends, Redis is asked again.
 * - While Redis is away, slow or failing, this node goes by its own count. Nobody loses a place; what is held is told
 *   again as soon as Redis is back, and until it has sunk below `most` nobody else gets one.
 */
import { randomUUID } from 'node:crypto';
import type { Places } from './limiter.ts';
import { createRedisScript, type ScriptClient } from './redis-script.ts';

const deadlineMs = 1_000;
const patienceMs = 500;
const askAgainMs = 50;
/** How many keys are renewed side by side. */
const atOnce = 32;

// The second condition drops what a clock that was set back left in the far future.
const SCRIPT = `
local key, node, most, held, wanted, lease =
  KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local free = most - held
local entries = redis.call('HGETALL', key)
for i = 1, #entries, 2 do
  if entries[i] ~= node then
    local count, ends = string.match(entries[i + 1], '^(%d+) (%d+)$')
    if tonumber(ends) <= now or tonumber(ends) > now + lease then
      redis.call('HDEL', key, entries[i])
    else
      free = free - count
    end
  end
end
local granted = math.max(0, math.min(wanted, free))
if held + granted > 0 then
  redis.call('HSET', key, node, string.format('%d %.0f', held + granted, now + lease))
  redis.call('PEXPIRE', key, lease)
else
  redis.call('HDEL', key, node)
end
return granted
`;

export interface PlacesClient extends ScriptClient {
  on(event: 'ready', listener: () => void): unknown;
  off(event: 'ready', listener: () => void): unknown;
}

export interface RedisPlacesOptions {
  readonly client: PlacesClient;
  /** Called for each place that was granted or refused on this node's own count. */
  readonly onFallback: () => void;
  readonly leaseMs?: number | undefined;
}

export interface RedisPlaces extends Places {
  /** How many keys are held in memory. */
  keyCount(): number;
  /** Waits until what was given back is told. */
  close(): Promise<void>;
}

interface Waiter {
  readonly until: number;
  readonly resolve: (granted: boolean) => void;
}

/** What this node knows of a key. */
interface Held {
  readonly key: string;
  readonly most: number;
  /** Places that are taken on this node. */
  count: number;
  /** The count in Redis, as far as is known. */
  told: number | undefined;
  askedAt: number;
  /** First come, first served. */
  waiters: Waiter[];
  telling: Promise<void> | undefined;
  again: boolean;
  retry: NodeJS.Timeout | undefined;
}

export function createRedisPlaces({ client, onFallback, leaseMs = 15_000 }: RedisPlacesOptions): RedisPlaces {
  const node = randomUUID();
  const script = createRedisScript(client, SCRIPT, deadlineMs);
  const keys = new Map<string, Held>();
  const renewMs = leaseMs / 3;
  let timer: NodeJS.Timeout | undefined;
  let renewing = false;

  function heldOf(key: string, most: number): Held {
    const known = keys.get(key);
    if (known) return known;
    const held: Held = {
      key,
      most,
      count: 0,
      told: 0,
      askedAt: Number.NEGATIVE_INFINITY,
      waiters: [],
      telling: undefined,
      again: false,
      retry: undefined,
    };
    keys.set(key, held);
    timer ??= setInterval(renew, leaseMs / 15).unref();
    return held;
  }

  /** Without Redis. */
  function takeAlone(held: Held): boolean {
    onFallback();
    if (held.count >= held.most) return false;
    held.count += 1;
    return true;
  }

  /** Brings Redis and this node together, now or, if that is under way, once more after it. */
  function tell(held: Held): Promise<void> {
    held.again = true;
    held.telling ??= (async () => {
      while (held.again) {
        held.again = false;
        await ask(held);
      }
      held.telling = undefined;
      if (isOver(held)) keys.delete(held.key);
    })();
    return held.telling;
  }

  async function ask(held: Held): Promise<void> {
    clearTimeout(held.retry);
    const { count, waiters } = held;
    const wanted = waiters.length;
    try {
      if (!script.answers) throw new Error('Redis is away');
      held.askedAt = performance.now();
      const args = [node, held.most, count, wanted, leaseMs];
      const granted = Number(await script.run([`namjai:places:{${held.key}}`], args));
      held.told = count + granted;
      held.count += granted;
      for (const { resolve } of waiters.splice(0, granted)) resolve(true);
      refuseImpatient(held, wanted - granted);
    } catch {
      held.told = undefined;
      for (const { resolve } of waiters.splice(0)) resolve(takeAlone(held));
    }
  }

  /** Of those for whom there was no place, so many at the front, the ones that have waited long enough. */
  function refuseImpatient(held: Held, asked: number): void {
    const now = performance.now();
    const refused = held.waiters.slice(0, asked).findIndex(({ until }) => until > now);
    for (const { resolve } of held.waiters.splice(0, refused === -1 ? asked : refused)) resolve(false);
    if (held.waiters.length > 0) held.retry = setTimeout(() => void tell(held), askAgainMs);
  }

  /** Nothing is left to be told; what Redis could not be told it has forgotten by itself. */
  function isOver({ count, told, waiters, telling, askedAt }: Held): boolean {
    if (count > 0 || waiters.length > 0 || telling) return false;
    return told === 0 || performance.now() - askedAt > leaseMs;
  }

  async function renew(): Promise<void> {
    if (renewing) return;
    renewing = true;
    const rest = keys.values();
    const work = async () => {
      for (const held of rest) {
        if (isOver(held)) keys.delete(held.key);
        else if (script.answers && isDue(held)) await tell(held);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    renewing = false;
    if (keys.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  const isDue = ({ count, told, askedAt }: Held) => count !== told || performance.now() - askedAt >= renewMs;

  /** A Redis that was away may have forgotten everything. */
  function tellAgain(): void {
    for (const held of keys.values()) held.told = undefined;
    void renew();
  }
  client.on('ready', tellAgain);

  return {
    take(key, most) {
      const held = heldOf(key, most);
      if (!script.answers) return takeAlone(held);
      return new Promise((resolve) => {
        held.waiters.push({ until: performance.now() + patienceMs, resolve });
        void tell(held);
      });
    },
    giveBack(key) {
      const held = keys.get(key);
      if (!held || held.count === 0) return;
      held.count -= 1;
      void tell(held);
    },
    keyCount: () => keys.size,
    async close() {
      client.off('ready', tellAgain);
      clearInterval(timer);
      await Promise.all([...keys.values()].map(({ telling }) => telling));
    },
  };
}
