/**
 * The limiter over many nodes: one count in Redis, on the Redis server's clock.
 *
 * - A key is a list of the times, in microseconds, at which requests were let through, oldest first. One script decides
 *   and counts, so no two requests can take the same place, and equal times are simply two entries.
 * - One key a script, within a hash tag, so it works in Redis Cluster. It expires by itself.
 * - `take` never rejects and never waits long: when Redis is away, slow or failing, this node goes by its own count.
 *   That count is kept all along, so going over to it forgets nothing that this node let through.
 */
import type { Limiter, LimitRule, LimitVerdict } from './limiter.ts';
import { createRedisPlaces, type PlacesClient } from './redis-places.ts';
import { createRedisScript } from './redis-script.ts';

// The second condition drops what a clock that was set back left in the far future. Times are formatted by hand because
// Lua would print so large a number with too few digits. The expiry has a second to spare: it only frees memory.
const SCRIPT = `
local key, limit, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local oldest = tonumber(redis.call('LINDEX', key, 0) or '')
while oldest and (oldest + window <= now or oldest > now + window) do
  redis.call('LPOP', key)
  oldest = tonumber(redis.call('LINDEX', key, 0) or '')
end
local count = redis.call('LLEN', key)
if count >= limit then
  return {0, 0, oldest + window - now}
end
redis.call('RPUSH', key, string.format('%.0f', now))
redis.call('PEXPIRE', key, math.ceil(window / 1000) + 1000)
return {1, limit - count - 1, (oldest or now) + window - now}
`;

export interface RedisLimiterOptions {
  /** Stays the caller's: `close` does not end it. */
  readonly client: PlacesClient;
  /** This node's own count. */
  readonly fallback: Limiter;
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

  function takeAlone(key: string, rule: LimitRule): LimitVerdict | Promise<LimitVerdict> {
    onFallback();
    return fallback.take(key, rule);
  }

  async function takeShared(key: string, rule: LimitRule): Promise<LimitVerdict> {
    try {
      const verdict = readVerdict(await script.run(`namjai:limit:{${key}}`, [rule.limit, rule.windowMs * 1000]));
      if (verdict.allowed) await fallback.take(key, rule);
      return verdict;
    } catch {
      return takeAlone(key, rule);
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

function readVerdict(reply: unknown): LimitVerdict {
  if (!Array.isArray(reply)) throw new TypeError('unexpected reply of the limiter script');
  const [allowed, remaining, resetMicroseconds] = reply.map(Number);
  if (remaining === undefined || resetMicroseconds === undefined) throw new TypeError('short reply of the script');
  return { allowed: allowed === 1, remaining, resetSeconds: Math.ceil(resetMicroseconds / 1_000_000) };
}
