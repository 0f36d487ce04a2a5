/** Lua scripts in Redis, for callers that have a fallback and so wait only briefly. */
import { createHash } from 'node:crypto';

interface ScriptArguments {
  keys: string[];
  arguments: string[];
}

/** The part of a Redis client that scripts need. */
export interface ScriptClient {
  readonly isReady: boolean;
  evalSha(sha: string, options: ScriptArguments): Promise<unknown>;
  eval(script: string, options: ScriptArguments): Promise<unknown>;
}

export interface RedisScript {
  /** Redis is connected and answered the latest call in time. */
  readonly isAvailable: boolean;
  /**
   * Resolves to the script's reply. Rejects when Redis is away, slow or failing; after a timeout Redis may still have
   * run the script.
   */
  run(keys: string[], args: readonly (string | number)[]): Promise<unknown>;
}

export function createRedisScript(client: ScriptClient, script: string, deadlineMs: number): RedisScript {
  const sha = createHash('sha1').update(script).digest('hex');
  /** A call has timed out, and none was answered since. Until one is, no caller waits for Redis again. */
  let overdue = false;

  async function evaluate(options: ScriptArguments): Promise<unknown> {
    try {
      return await client.evalSha(sha, options);
    } catch (error) {
      // A restarted server has lost its script cache.
      if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return client.eval(script, options);
      throw error;
    }
  }

  return {
    get isAvailable() {
      return client.isReady && !overdue;
    },
    run(keys, args) {
      const answer = evaluate({ keys, arguments: args.map(String) }).finally(() => {
        overdue = false;
      });
      return withinDeadline(answer, deadlineMs, () => {
        overdue = true;
      });
    },
  };
}

const ticksOfDeadline = 5;

/**
 * Settles as `answer` does, or rejects and calls `onLate` after `ms`.
 *
 * Only time in which this process ran counts. After a pause (the process was stopped, or the event loop was blocked)
 * timers fire before the replies that arrived meanwhile are read, so a plain timer would report a timeout that Redis did
 * not cause. This one counts ticks, and a pause of any length is one tick.
 */
function withinDeadline<T>(answer: Promise<T>, ms: number, onLate: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
      if (ticks < ticksOfDeadline) return;
      clearInterval(timer);
      onLate();
      reject(new Error(`no answer within ${ms} ms`));
    }, ms / ticksOfDeadline);
    answer.finally(() => clearInterval(timer)).then(resolve, reject);
  });
}
