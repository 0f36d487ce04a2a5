/**
 * The limiter over many nodes: one count in Redis, on the Redis server's clock.
 *
 * - A key is a list of the times, in microseconds, at which requests were let through, oldest first. One script decides
 *   and counts, so no two requests can take the same place, and equal times are simply two entries.
 * - One key a script, within a hash tag, so it works in Redis Cluster. It expires by itself.
 * - `take` never rejects and never waits long: when Redis is away, slow or failing, this node goes by its own count.
 *   That count is kept all along, so going over to it forgets nothing that this node let through.
 */
import { createHash } from 'node:crypto';
import { withinDeadline } from './deadline.ts';
import type { Limiter, LimitRule, LimitVerdict } from './limiter.ts';

const DEADLINE_MS = 250;

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
const SCRIPT_SHA = createHash('sha1').update(SCRIPT).digest('hex');

interface ScriptArguments {
  keys: string[];
  arguments: string[];
}

/** The part of a Redis client that is used here. */
export interface ScriptClient {
  readonly isReady: boolean;
  evalSha(sha: string, options: ScriptArguments): Promise<unknown>;
  eval(script: string, options: ScriptArguments): Promise<unknown>;
}

export interface RedisLimiterOptions {
  /** Stays the caller's: `close` does not end it. */
  readonly client: ScriptClient;
  /** This node's own count. */
  readonly fallback: Limiter;
  /** Called for each request that was decided by the fallback. */
  readonly onFallback?: () => void;
}

export function createRedisLimiter({ client, fallback, onFallback = () => {} }: RedisLimiterOptions): Limiter {
  /** Redis has let a deadline pass and has not answered since; until it does, nobody waits for it again. */
  let overdue = false;

  function takeAlone(key: string, rule: LimitRule): LimitVerdict | Promise<LimitVerdict> {
    onFallback();
    return fallback.take(key, rule);
  }

  async function takeShared(key: string, rule: LimitRule): Promise<LimitVerdict> {
    const answer = runScript(client, key, rule).finally(() => {
      overdue = false;
    });
    try {
      const verdict = await withinDeadline(answer, DEADLINE_MS, () => {
        overdue = true;
      });
      if (verdict.allowed) await fallback.take(key, rule);
      return verdict;
    } catch {
      return takeAlone(key, rule);
    }
  }

  return {
    take: (key, rule) => (client.isReady && !overdue ? takeShared(key, rule) : takeAlone(key, rule)),
    close: () => fallback.close(),
  };
}

async function runScript(client: ScriptClient, key: string, { limit, windowMs }: LimitRule): Promise<LimitVerdict> {
  const options = { keys: [`namjai:limit:{${key}}`], arguments: [String(limit), String(windowMs * 1000)] };
  const reply = await client.evalSha(SCRIPT_SHA, options).catch((error: unknown) => {
    // A server that was restarted does not know the script any more.
    if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return client.eval(SCRIPT, options);
    throw error;
  });
  if (!Array.isArray(reply)) throw new TypeError('unexpected reply of the limiter script');
  const [allowed, remaining, resetMicroseconds] = reply.map(Number);
  if (remaining === undefined || resetMicroseconds === undefined) throw new TypeError('short reply of the script');
  return { allowed: allowed === 1, remaining, resetSeconds: Math.ceil(resetMicroseconds / 1_000_000) };
}
