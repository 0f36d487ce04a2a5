/**
 * The limiter over many nodes: one count in Redis, on the Redis server's clock. Invariants:
 *
 * - A key is a list of the times, in microseconds, at which requests were let through, oldest first. One script decides
 *   and counts, so no two requests are counted as one. Equal times are two elements. The key expires by itself.
 * - All requests of one iteration of the event loop are decided by one call of the script, one after the other, as if each
 *   had come by itself. One that fails does not affect the others.
 * - `take` never rejects and never waits long: when Redis is away, slow or failing, this node decides by its own count.
 *   That count is always kept, so falling back forgets nothing that this node let through.
 */
import type { Limiter, LimitRule, LimitVerdict } from './limiter.ts';
import type { MemoryLimiter } from './memory.ts';
import { createRedisScript } from './redis-script.ts';
import { createRedisSlots, type SlotsClient } from './redis-slots.ts';

// A time further ahead than a whole window was written before the clock was set back; the script drops it too. Times
// are formatted by hand because Lua would print so large a number with too few digits. The expiry only frees memory, and
// has a second to spare. Each key yields three numbers; the first is -1 where Redis refused a command.
const luaScript = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stamp = string.format('%.0f', now)
local function take(key, limit, window, expiry, cost)
  local oldest = tonumber(redis.call('LINDEX', key, '0') or '')
  while oldest and (oldest + window <= now or oldest > now + window) do
    redis.call('LPOP', key)
    oldest = tonumber(redis.call('LINDEX', key, '0') or '')
  end
  local count = oldest and redis.call('LLEN', key) or 0
  local excess = count + cost - limit
  if excess > 0 then
    return 0, math.max(0, limit - count), redis.call('LINDEX', key, excess - 1) + window - now
  end
  for _ = 1, cost do redis.call('RPUSH', key, stamp) end
  redis.call('PEXPIRE', key, expiry)
  return 1, limit - count - cost, (oldest or now) + window - now
end
local replies = {}
for i, key in ipairs(KEYS) do
  local limit, window, expiry, cost = tonumber(ARGV[4 * i - 3]), tonumber(ARGV[4 * i - 2]), ARGV[4 * i - 1], tonumber(ARGV[4 * i])
  local done, allowed, remaining, reset = pcall(take, key, limit, window, expiry, cost)
  if not done then allowed, remaining, reset = -1, 0, 0 end
  replies[3 * i - 2], replies[3 * i - 1], replies[3 * i] = allowed, remaining, reset
end
return replies
`;

/** The most requests in one call of the script: Redis serves nobody else while it runs. */
const maxBatch = 64;

interface PendingTake {
  readonly key: string;
  readonly rule: LimitRule;
  readonly cost: number;
  readonly resolve: (verdict: LimitVerdict) => void;
}

export interface RedisLimiterOptions {
  /** Owned by the caller: `close` does not close it. */
  readonly client: SlotsClient;
  /** This node's own count. */
  readonly fallback: MemoryLimiter;
  /** Called for each request and each connection slot that this node decided by its own count. */
  readonly onFallback?: () => void;
  /** How long a request waits for Redis. */
  readonly deadlineMs?: number;
  /** How long the connection slots of a node that died stay taken. */
  readonly leaseMs?: number;
}

export function createRedisLimiter(options: RedisLimiterOptions): Limiter {
  const { client, fallback, onFallback = () => {}, deadlineMs = 1_000, leaseMs } = options;
  const script = createRedisScript(client, luaScript, deadlineMs);
  const connectionSlots = createRedisSlots({ client, onFallback, leaseMs });

  let pending: PendingTake[] = [];

  function takeLocally(key: string, rule: LimitRule, cost: number): LimitVerdict {
    onFallback();
    return fallback.take(key, rule, cost);
  }

  function takeFromRedis(key: string, rule: LimitRule, cost: number): Promise<LimitVerdict> {
    return new Promise((resolve) => {
      // `nextTick` runs after all promise callbacks that are due, so requests whose grants were read together are
      // decided together.
      if (pending.length === 0) process.nextTick(flush);
      pending.push({ key, rule, cost: Math.min(cost, rule.limit), resolve });
    });
  }

  function flush(): void {
    const takes = pending;
    pending = [];
    for (let at = 0; at < takes.length; at += maxBatch) void decide(takes.slice(at, at + maxBatch));
  }

  async function decide(takes: readonly PendingTake[]): Promise<void> {
    let replies: unknown;
    try {
      replies = await script.run(
        takes.map(({ key }) => `namjai:limit:{${key}}`),
        takes.flatMap(({ rule: { limit, windowMs }, cost }) => [limit, windowMs * 1000, windowMs + 1000, cost]),
      );
    } catch {
      // Without replies each request falls back to this node's count.
    }
    for (const [i, { key, rule, cost, resolve }] of takes.entries()) {
      const verdict = readVerdict(replies, i);
      if (verdict?.allowed) fallback.take(key, rule, cost);
      resolve(verdict ?? takeLocally(key, rule, cost));
    }
  }

  return {
    take: (key, rule, cost = 1) => (script.isAvailable ? takeFromRedis(key, rule, cost) : takeLocally(key, rule, cost)),
    connectionSlots,
    async close() {
      await connectionSlots.close();
      await fallback.close();
    },
  };
}

/** The verdict on the request at `index`, if Redis replied with one. */
function readVerdict(replies: unknown, index: number): LimitVerdict | undefined {
  if (!Array.isArray(replies)) return undefined;
  const [allowed, remaining, resetMicroseconds] = replies.slice(3 * index, 3 * index + 3).map(Number);
  if ((allowed !== 0 && allowed !== 1) || remaining === undefined || resetMicroseconds === undefined) return undefined;
  return { allowed: allowed === 1, remaining, resetSeconds: Math.ceil(resetMicroseconds / 1_000_000) };
}
