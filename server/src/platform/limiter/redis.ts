/**
 * The limiter over many nodes: one count in Redis, on the Redis server's clock.
 *
 * - A key is a list of the times, in microseconds, at which requests were let through, oldest first. One script decides
 *   and counts, so no two requests can take the same place, and equal times are simply two entries. It expires by
 *   itself.
 * - What is asked in one go of the event loop is asked by one call of the script. It decides one after the other, as if
 *   each had come by itself; one that fails fails alone.
 * - `take` never rejects and never waits long: when Redis is away, slow or failing, this node goes by its own count.
 *   That count is kept all along, so going over to it forgets nothing that this node let through.
 */
import type { Limiter, LimitRule, LimitVerdict } from './limiter.ts';
import type { MemoryLimiter } from './memory.ts';
import { createRedisPlaces, type PlacesClient } from './redis-places.ts';
import { createRedisScript } from './redis-script.ts';

// The second condition drops what a clock that was set back left in the far future. Times are formatted by hand because
// Lua would print so large a number with too few digits. The expiry has a second to spare: it only frees memory. For
// each key three numbers come back; the first is neither 0 nor 1 where Redis refused a command.
const SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stamp = string.format('%.0f', now)
local function take(key, limit, window, expiry)
  local oldest = tonumber(redis.call('LINDEX', key, '0') or '')
  while oldest and (oldest + window <= now or oldest > now + window) do
    redis.call('LPOP', key)
    oldest = tonumber(redis.call('LINDEX', key, '0') or '')
  end
  local count = oldest and redis.call('LLEN', key) or 0
  if count >= limit then
    return 0, 0, oldest + window - now
  end
  redis.call('RPUSH', key, stamp)
  redis.call('PEXPIRE', key, expiry)
  return 1, limit - count - 1, (oldest or now) + window - now
end
local replies = {}
for i, key in ipairs(KEYS) do
  local limit, window, expiry = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), ARGV[3 * i]
  local done, allowed, remaining, reset = pcall(take, key, limit, window, expiry)
  if not done then allowed, remaining, reset = -1, 0, 0 end
  replies[3 * i - 2], replies[3 * i - 1], replies[3 * i] = allowed, remaining, reset
end
return replies
`;

/** How many are asked for at once, so that Redis does nothing else for no more than a moment. */
const most = 64;

interface Asked {
  readonly key: string;
  readonly rule: LimitRule;
  readonly resolve: (verdict: LimitVerdict) => void;
}

export interface RedisLimiterOptions {
  /** Stays the caller's: `close` does not end it. */
  readonly client: PlacesClient;
  /** This node's own count. */
  readonly fallback: MemoryLimiter;
  /** Called for each request and each place that was decided on this node alone. */
  readonly onFallback?: () => void;
  /** How long a request waits for Redis. */
  readonly deadlineMs?: number;
  /** How long the places of a node that died stay taken. */
  readonly leaseMs?: number;
}

export function createRedisLimiter(options: RedisLimiterOptions): Limiter {
  const { client, fallback, onFallback = () => {}, deadlineMs = 1_000, leaseMs } = options;
  const script = createRedisScript(client, SCRIPT, deadlineMs);
  const places = createRedisPlaces({ client, onFallback, leaseMs });

  let waiting: Asked[] = [];

  function takeAlone(key: string, rule: LimitRule): LimitVerdict {
    onFallback();
    return fallback.take(key, rule);
  }

  function takeShared(key: string, rule: LimitRule): Promise<LimitVerdict> {
    return new Promise((resolve) => {
      // After all promises that are due: those whose grants were read together come here together.
      if (waiting.length === 0) process.nextTick(askForAll);
      waiting.push({ key, rule, resolve });
    });
  }

  function askForAll(): void {
    const all = waiting;
    waiting = [];
    for (let at = 0; at < all.length; at += most) void ask(all.slice(at, at + most));
  }

  async function ask(calls: readonly Asked[]): Promise<void> {
    let replies: unknown;
    try {
      replies = await script.run(
        calls.map(({ key }) => `namjai:limit:{${key}}`),
        calls.flatMap(({ rule: { limit, windowMs } }) => [limit, windowMs * 1000, windowMs + 1000]),
      );
    } catch {
      // Each goes by this node's count.
    }
    for (const [i, { key, rule, resolve }] of calls.entries()) {
      const verdict = readVerdict(replies, i);
      if (verdict?.allowed) fallback.take(key, rule);
      resolve(verdict ?? takeAlone(key, rule));
    }
  }

  return {
    take: (key, rule) => (script.answers ? takeShared(key, rule) : takeAlone(key, rule)),
    places,
    async close() {
      await places.close();
      await fallback.close();
    },
  };
}

/** That of the call at this place, if there is one. */
function readVerdict(replies: unknown, place: number): LimitVerdict | undefined {
  if (!Array.isArray(replies)) return undefined;
  const [allowed, remaining, resetMicroseconds] = replies.slice(3 * place, 3 * place + 3).map(Number);
  if ((allowed !== 0 && allowed !== 1) || remaining === undefined || resetMicroseconds === undefined) return undefined;
  return { allowed: allowed === 1, remaining, resetSeconds: Math.ceil(resetMicroseconds / 1_000_000) };
}
