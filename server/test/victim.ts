/**
 * Another creator's app, which calls at an even pace while somebody attacks (lines 36 to 42 of the security requirements):
 * it gets no error, and its slowest answer stays within five times its slowest in peace, at least 50 ms allowed.
 */
import assert from 'node:assert/strict';
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

/**
 * Measures peace, then the attack. A busy machine delays answers by itself, so a slow round is measured again, with its
 * own peace; an error is not forgiven.
 */
export async function assertUnharmed(
  victim: Victim,
  attack: (round: number) => Promise<unknown>,
  rounds: number,
): Promise<void> {
  const seen: string[] = [];
  // The first answers of a server are slow by themselves.
  const warmUntil = performance.now() + 1_500;
  await victim.callEvenly(() => performance.now() < warmUntil);
  for (let round = 0; round < rounds; round += 1) {
    const peaceUntil = performance.now() + 3_000;
    const peace = await victim.callEvenly(() => performance.now() < peaceUntil);
    let attacking = true;
    const attacked = attack(round).finally(() => {
      attacking = false;
    });
    const during = await victim.callEvenly(() => attacking);
    await attacked;
    assert.deepEqual([...peace.errors, ...during.errors], []);
    const [quiet, slowest] = [peace.taken[0] ?? 0, during.taken[0] ?? 0];
    if (slowest <= Math.max(minimumMs, 5 * quiet)) return;
    seen.push(`${slowest.toFixed(0)} ms, in peace ${quiet.toFixed(0)} ms`);
  }
  assert.fail(`the victim waited in every round: ${seen.join('; ')}`);
}
