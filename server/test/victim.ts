/**
 * Another creator's app, which calls at an even pace while somebody attacks (lines 36 to 42 of the security requirements):
 * it gets no error, and its slowest answer stays within five times its slowest in peace, at least 50 ms allowed.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent } from 'undici';
import type { Pair } from './factories.ts';

export interface Victim {
  /** The answers of one stretch of time, in milliseconds, slowest first. */
  callEvenly(goesOn: () => boolean): Promise<{ taken: number[]; errors: string[] }>;
}

const callsPerSecond = 40;
/** Every fourth call records a tip. */
const recordEvery = 4;
const minimumMs = 50;

/** Of as many pairs as the limits of tips require: each may record ten a minute. */
export function createVictim(url: string, pairs: readonly Pair[]): Victim {
  let calls = 0;
  return {
    async callEvenly(goesOn) {
      const agent = new Agent({ connections: 32, pipelining: 1 });
      const [taken, errors]: [number[], string[]] = [[], []];
      const under: Promise<void>[] = [];
      const [started, first] = [performance.now(), calls];
      async function call(index: number): Promise<void> {
        const records = index % recordEvery === 0;
        const { headers } = pairs[Math.floor(index / (records ? recordEvery : 1)) % pairs.length]!;
        const before = performance.now();
        const { statusCode, body } = await agent.request({
          origin: url,
          path: records ? '/v1/tips' : '/v1/me',
          method: records ? 'POST' : 'GET',
          headers: { ...headers, ...(records ? { 'content-type': 'application/json' } : {}) },
          ...(records ? { body: '{"amount":5,"name":"VICTIM"}' } : {}),
        });
        await body.dump();
        taken.push(performance.now() - before);
        if (statusCode !== (records ? 201 : 200)) errors.push(`${records ? 'tip' : 'me'} ${statusCode}`);
      }
      while (goesOn()) {
        under.push(call(calls++).catch((error: Error) => void errors.push(error.message)));
        await delay(Math.max(0, started + ((calls - first) * 1000) / callsPerSecond - performance.now()));
      }
      await Promise.all(under);
      await agent.destroy();
      return { taken: taken.sort((a, b) => b - a), errors };
    },
  };
}

/** Does all that a round of attack needs, and returns what attacks. */
export type PrepareAttack = () => Promise<() => Promise<unknown>>;

/** A round that others on the machine have slowed down is measured again. */
const rounds = 5;

/**
 * Measures peace, then the attack, and again if that was slow. On a busy machine a server that has much to do waits for a
 * processor: by as much as it was slowed down, its answers may take longer. An error is not forgiven.
 */
export async function assertUnharmed(
  victim: Victim,
  serverPid: number,
  prepare: PrepareAttack,
  allowedMs = minimumMs,
): Promise<void> {
  const seen: string[] = [];
  // The first answers of a server are slow by themselves.
  const warmUntil = performance.now() + 500;
  await victim.callEvenly(() => performance.now() < warmUntil);
  for (let round = 0; round < rounds; round += 1) {
    const attack = await prepare();
    const peaceUntil = performance.now() + 2_000;
    const peace = await victim.callEvenly(() => performance.now() < peaceUntil);
    let attacking = true;
    const slowdown = measureSlowdown(serverPid);
    const attacked = attack().finally(() => {
      attacking = false;
    });
    const [during] = await Promise.all([victim.callEvenly(() => attacking), attacked]);
    const slower = slowdown();
    assert.deepEqual([...peace.errors, ...during.errors], []);
    const [quiet, slowest] = [peace.taken[0] ?? 0, during.taken[0] ?? 0];
    if (slowest <= Math.max(allowedMs * slower, 5 * quiet)) return;
    seen.push(`${slowest.toFixed(0)} ms on ${slower.toFixed(1)} times the time, in peace ${quiet.toFixed(0)} ms`);
  }
  assert.fail(`the victim waited in every round: ${seen.join('; ')}`);
}

/** How much longer the process's main thread takes than it would with a processor of its own; 1 where nobody tells. */
function measureSlowdown(pid: number): () => number {
  const before = schedulingOf(pid);
  return () => {
    const after = schedulingOf(pid);
    const [ran, waited] = [after.ran - before.ran, after.waited - before.waited];
    return ran > 0 ? (ran + waited) / ran : 1;
  };
}

/** Nanoseconds on a processor, and waiting for one (proc_pid_schedstat in Linux). */
function schedulingOf(pid: number): { ran: number; waited: number } {
  const file = `/proc/${pid}/schedstat`;
  const [ran = 0, waited = 0] = existsSync(file) ? readFileSync(file, 'utf8').split(' ').map(Number) : [];
  return { ran, waited };
}
