import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../../sdk/test/until.ts';
import { basic, type Pair } from '../factories.ts';
import { assertLedger } from '../ledger.ts';
import { follow, type Nodes, prepareNodes } from '../nodes.ts';
import { skipWithoutRedisServer } from '../redis.ts';
import { range } from '../sockets.ts';
import { startStopwatch } from '../stopwatch.ts';
import { makePairs, withStore } from '../store.ts';

interface Answer {
  readonly status: number;
  readonly ms: number;
  readonly id: string;
}

/** A tip without a key: what is refused is not tried again, so that half of one would be found. */
async function tip(nodes: Nodes, index: number, { headers }: Pair): Promise<Answer> {
  const stopwatch = startStopwatch(nodes.node(index).child.pid);
  const answer = await fetch(`${nodes.urls[index]}/v1/tips`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ amount: 1, name: 'OUTAGE' }),
  });
  const { id } = (await answer.json()) as { id: string };
  return { status: answer.status, ms: stopwatch(), id };
}

describe('two nodes', { concurrency: true, skip: skipWithoutRedisServer }, () => {
  test('PostgreSQL stopped for ten seconds under load: 502 meanwhile, nothing half recorded, back by itself', async (t) => {
    const nodes = await prepareNodes(t, 2);
    const pairs = await withStore(nodes.env, (runtime) => makePairs(runtime, 20, 20));
    await Promise.all([0, 1].map(nodes.start));
    const answers: Answer[] = [];
    let [loading, next] = [true, 0];
    const load = Promise.all(
      Array.from({ length: 16 }, async () => {
        while (loading) {
          const i = next++;
          answers.push(await tip(nodes, i % 2, pairs[i % pairs.length]!));
          await delay(100);
        }
      }),
    );
    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    await until('tips are recorded', () => count(201) > 50);
    await nodes.postgres.stop();
    // Twice as long as a call may take.
    await delay(10_000);
    await until('tips are refused', () => count(502) > 20);
    await nodes.postgres.start();
    const before = count(201);
    await until('the service is back', () => count(201) > before + 50);
    loading = false;
    await load;
    assert.deepEqual([...new Set(answers.map(({ status }) => status))].sort(), [201, 502]);
    const slowest = Math.max(...answers.map(({ ms }) => ms));
    assert.ok(slowest < 5_000, `one was answered after ${slowest} ms`);
    const ids = await withStore(nodes.env, ({ db }) => assertLedger(db));
    for (const { status, id } of answers)
      if (status === 201) assert.ok(ids.has(id), `${id} was answered 201 and is gone`);
    t.diagnostic(`${count(201)} recorded, ${count(502)} refused, the slowest in ${Math.round(slowest)} ms`);
  });

  test('PostgreSQL stopped: a node that is asked to end finishes its requests and ends well', async (t) => {
    const nodes = await prepareNodes(t, 1, { LOG_LEVEL: 'info' });
    const [pair] = await withStore(nodes.env, (runtime) => makePairs(runtime, 1, 1));
    await nodes.start(0);
    await nodes.postgres.stop();
    const { child } = nodes.node(0);
    const ended = once(child, 'exit');
    // It needs the storage only after its body: until then it is under way.
    const headers = { ...basic(pair!), 'content-type': 'application/x-www-form-urlencoded', expect: '100-continue' };
    const asked = request(`${nodes.urls[0]}/v1/oauth/token`, { method: 'POST', headers });
    let isAnswered = false;
    const answered = once(asked, 'response').finally(() => (isAnswered = true));
    asked.flushHeaders();
    await once(asked, 'continue');
    child.kill('SIGTERM');
    await until('it is going away', () => nodes.node(0).output().includes('"msg":"going away'));
    assert.ok(!isAnswered, 'it is still under way');
    asked.end(new URLSearchParams({ grant_type: 'refresh_token', refresh_token: pair!.refreshToken }).toString());
    const [answer] = (await answered) as [IncomingMessage];
    assert.equal(answer.resume().statusCode, 502);
    assert.deepEqual(await ended, [0, null], nodes.node(0).output());
  });

  test('Redis stopped: the API goes on, sockets get every event by the sweep, and all recovers by itself', async (t) => {
    const nodes = await prepareNodes(t, 2);
    const pairs = await withStore(nodes.env, (runtime) => makePairs(runtime, 1, 12));
    await Promise.all([0, 1].map(nodes.start));
    const here = nodes.urls[0];
    const follower = await follow(t, [here!], pairs[0]!, 0);
    let [expected, next] = [0, 0];
    /** Ten apps by turns: each may record ten a minute. */
    const latency = async (events: number) => {
      const stopwatch = startStopwatch(...[0, 1].map((index) => nodes.node(index).child.pid));
      for (let i = 0; i < events; i++) assert.equal((await tip(nodes, 1, pairs[1 + (next++ % 10)]!)).status, 201);
      expected += events;
      await until('the other node’s events have come', () => follower.sequences.at(-1) === expected);
      return stopwatch();
    };
    await latency(10);
    const { reconnects } = follower;

    await nodes.redis.kill();
    const away = await latency(10);
    const me = await Promise.all(range(1, 130).map(() => fetch(`${here}/v1/me`, { headers: pairs[11]!.headers })));
    const passed = me.filter(({ status }) => status === 200).length;
    assert.deepEqual(
      [passed, me.filter(({ status }) => status === 429).length],
      [120, 10],
      'each node limits on its own',
    );

    await nodes.redis.restart();
    // A sweep takes up to ten seconds, so this quick it can only be a hint.
    for (let tries = 1; (await latency(1)) > 1_000; tries++) assert.ok(tries < 20, 'hints never came back');
    assert.deepEqual(follower.sequences, range(1, expected), 'in order, none twice, none missing');
    assert.equal(follower.reconnects, reconnects);
    t.diagnostic(`ten events took ${Math.round(away)} ms by the sweep`);
  });
});
