/**
 * Another creator's app, which calls at an even pace while somebody attacks (lines 36 to 42 of the security requirements):
 * it gets no error, and its slowest answer stays within five times its slowest in peace, at least 50 ms allowed (see
 * `minimumMs`).
 */
import assert from 'node:assert/strict';
import { setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent } from 'undici';
import type { Pair } from './factories.ts';
import { processorMs, schedulingOfThread } from './scheduling.ts';

export interface Victim {
  /** The answers of one stretch of time. */
  callEvenly(goesOn: () => boolean): Promise<{ answers: Answer[]; errors: string[] }>;
}

interface Answer {
  readonly ms: number;
  /** Processor time that the server took meanwhile, without what it does on the side. */
  readonly serverMs: number;
}

const callsPerSecond = 40;
/** Every fourth call records a tip. */
const recordEvery = 4;
/** The proof demands what the requirements say. The suite may run on a machine that others keep busy, as in CI. */
const minimumMs = process.env.PROOF ? 50 : 250;

/** Of as many pairs as the limits of tips require: each may record ten a minute. */
export function createVictim(url: string, serverPid: number, pairs: readonly Pair[]): Victim {
  let calls = 0;
  return {
    async callEvenly(goesOn) {
      const agent = new Agent({ connections: 32, pipelining: 1 });
      const [answers, errors]: [Answer[], string[]] = [[], []];
      const under: Promise<void>[] = [];
      const [started, first] = [performance.now(), calls];
      async function call(index: number): Promise<void> {
        const records = index % recordEvery === 0;
        const { headers } = pairs[Math.floor(index / (records ? recordEvery : 1)) % pairs.length]!;
        const [before, serverBefore] = [performance.now(), processorMs(serverPid)];
        const { statusCode, body } = await agent.request({
          origin: url,
          path: records ? '/v1/tips' : '/v1/me',
          method: records ? 'POST' : 'GET',
          headers: { ...headers, ...(records ? { 'content-type': 'application/json' } : {}) },
          ...(records ? { body: '{"amount":5,"name":"VICTIM"}' } : {}),
        });
        await body.dump();
        answers.push({ ms: performance.now() - before, serverMs: processorMs(serverPid) - serverBefore });
        if (statusCode !== (records ? 201 : 200)) errors.push(`${records ? 'tip' : 'me'} ${statusCode}`);
      }
      while (goesOn()) {
        under.push(call(calls++).catch((error: Error) => void errors.push(error.message)));
        await delay(Math.max(0, started + ((calls - first) * 1000) / callsPerSecond - performance.now()));
      }
      await Promise.all(under);
      await agent.destroy();
      return { answers, errors };
    },
  };
}

/**
 * Raises the priority of this process and of those that it starts later, so that other programs on the machine, such as
 * other test files, do not change the measured times. Without the right to do so, the test needs a quieter machine.
 */
export function raisePriority(): void {
  try {
    setPriority(-15);
  } catch {
    // assertUnharmed measures how much others slow it down.
  }
}

/** Does all that a round of attack needs, and returns what attacks. */
export type PrepareAttack = () => Promise<() => Promise<unknown>>;

const peaceMs = 1_000;
/** A round that others on the machine have slowed down is measured again. */
const rounds = 5;

/** From so many times the time on, a round tells nothing by the clock. */
const busy = 1.5;
/**
 * Measures peace, then the attack, and again if that was slow. On a busy machine a server that has much to do waits for a
 * processor, so by the clock its answers may take longer by as much as it was slowed down. Where that is much, what counts
 * is the processor time that the server spent on others while the victim waited: it does not depend on the machine's pace.
 * `idle` is for attacks that make the victim wait for something else than the server's processor time. An error is not
 * forgiven.
 */
export async function assertUnharmed(
  victim: Victim,
  serverPid: number,
  prepare: PrepareAttack,
  { idle = false }: { idle?: boolean } = {},
): Promise<void> {
  const seen: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const attack = await prepare();
    const peaceUntil = performance.now() + peaceMs;
    const peace = await victim.callEvenly(() => performance.now() < peaceUntil);
    let attacking = true;
    const slowdown = measureSlowdown(serverPid);
    const attacked = attack().finally(() => {
      attacking = false;
    });
    const [during] = await Promise.all([victim.callEvenly(() => attacking), attacked]);
    const slower = slowdown();
    assert.deepEqual([...peace.errors, ...during.errors], []);
    const quiet = Math.max(...peace.answers.map(({ ms }) => ms));
    const slowest = Math.max(...during.answers.map(({ ms }) => ms));
    if (slowest <= Math.max(minimumMs * slower, 5 * quiet)) return;
    const computed = Math.max(...during.answers.map(({ serverMs }) => serverMs));
    if (!idle && slower >= busy && computed <= minimumMs) return;
    const [ms, computedMs, quietMs, times] = [slowest, computed, quiet, slower].map((n) => n.toFixed(1));
    seen.push(`${ms} ms, ${computedMs} ms computed, on ${times} times the time, in peace ${quietMs} ms`);
  }
  assert.fail(`the victim waited in every round: ${seen.join('; ')}`);
}

/** How much longer the process's main thread takes than it would with a processor of its own; 1 where nobody tells. */
function measureSlowdown(pid: number): () => number {
  const folder = `/proc/${pid}`;
  const before = schedulingOfThread(folder);
  return () => {
    const after = schedulingOfThread(folder);
    const [ran, waited] = [after.ranMs - before.ranMs, after.waitedMs - before.waitedMs];
    return ran > 0 ? (ran + waited) / ran : 1;
  };
}
