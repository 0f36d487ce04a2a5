/** Scripts that run in Redis, for callers who can go on without it and so wait for it only briefly. */
import { createHash } from 'node:crypto';
import { withinDeadline } from './deadline.ts';

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

export interface RedisScript {
  /** Redis is there and, as far as is known, answers in time. */
  readonly answers: boolean;
  /** What the script returned. Rejects when Redis is away, slow or failing; a slow one may still have run it. */
  run(keys: string[], args: readonly (string | number)[]): Promise<unknown>;
}

export function createRedisScript(client: ScriptClient, script: string, deadlineMs: number): RedisScript {
  const sha = createHash('sha1').update(script).digest('hex');
  /** Redis has let a deadline pass and has not answered since; until it does, nobody waits for it again. */
  let overdue = false;

  async function evaluate(options: ScriptArguments): Promise<unknown> {
    try {
      return await client.evalSha(sha, options);
    } catch (error) {
      // A server that was restarted does not know the script any more.
      if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return client.eval(script, options);
      throw error;
    }
  }

  return {
    get answers() {
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
