import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../../../sdk/test/until.ts';
import { limiterConformance } from '../../../test/conformance/limiter.ts';
import {
  openTestRedis,
  skipWithoutRedis,
  skipWithoutRedisServer,
  startRedisServer,
  type TestRedis,
} from '../../../test/redis.ts';
import { startStopwatch } from '../../../test/stopwatch.ts';
import { connectRedis, type RedisClient } from '../redis.ts';
import { createMemoryLimiter } from './memory.ts';
import { createRedisLimiter } from './redis.ts';

/** For what only Redis can decide, however busy the machine is. */
const patient = { deadlineMs: 20_000 };

async function openNode(t: TestContext, url: string, options: { deadlineMs?: number } = {}) {
  const node = { fallbacks: 0, errors: 0 };
  const { client, close } = await connectRedis({
    url,
    onError: () => {
      node.errors += 1;
    },
  });
  const limiter = createRedisLimiter({
    client,
    fallback: createMemoryLimiter(),
    onFallback: () => {
      node.fallbacks += 1;
    },
    ...options,
  });
  t.after(async () => {
    await limiter.close();
    close();
  });
  return Object.assign(node, { client, limiter });
}

describe('redis limiter', { skip: skipWithoutRedis }, () => {
  let redis: TestRedis;
  before(async () => {
    redis = await openTestRedis();
  });
  after(() => redis?.stop());

  limiterConformance('redis', async (t) => {
    const node = await openNode(t, redis.url, patient);
    t.after(() => assert.equal(node.fallbacks, 0, 'decided without Redis'));
    return { limiter: node.limiter, advance: (ms) => sleep(ms + 2).then(() => {}) };
  });

  it('lets nodes that race for one key through no more often than the limit in any window', async (t) => {
    const nodes = await Promise.all([openNode(t, redis.url, patient), openNode(t, redis.url, patient)]);
    const key = randomUUID();
    const rule = { limit: 20, windowMs: 300 };
    const allowed: { from: number; to: number }[] = [];
    const [enough, giveUpAt] = [5 * rule.limit, performance.now() + 30_000];
    const race = async ({ limiter }: (typeof nodes)[number]) => {
      while (allowed.length < enough && performance.now() < giveUpAt) {
        const from = performance.now();
        const verdict = await limiter.take(key, rule);
        if (verdict.allowed) allowed.push({ from, to: performance.now() });
      }
    };
    await Promise.all(nodes.flatMap((node) => Array.from({ length: 8 }, () => race(node))));

    for (const { from } of allowed) {
      const within = allowed.filter((other) => other.from >= from && other.to < from + rule.windowMs);
      assert.ok(within.length <= rule.limit, `${within.length} let through in one window`);
    }
    assert.ok(allowed.length >= enough, `only ${allowed.length} let through`);
    assert.deepEqual(
      nodes.map((node) => node.fallbacks),
      [0, 0],
    );
  });

  it('lets one of those asked for at once fail alone', async (t) => {
    const node = await openNode(t, redis.url, patient);
    const [before, bad, after] = [randomUUID(), randomUUID(), randomUUID()];
    await node.client.set(`namjai:limit:{${bad}}`, 'not a list', { PX: 60_000 });
    const rule = { limit: 3, windowMs: 60_000 };
    const keys = [before, bad, bad, after, before];
    const verdicts = await Promise.all(keys.map((key) => node.limiter.take(key, rule)));
    assert.deepEqual(
      verdicts.map(({ allowed, remaining }) => [allowed, remaining]),
      [
        [true, 2],
        [true, 2],
        [true, 1],
        [true, 2],
        [true, 1],
      ],
    );
    assert.equal(node.fallbacks, 2);
    const counted = [before, after].map((key) => node.client.lLen(`namjai:limit:{${key}}`));
    assert.deepEqual(await Promise.all(counted), [2, 1]);
  });

  it('leaves nothing behind in Redis once the window has passed', async (t) => {
    const { client, limiter } = await openNode(t, redis.url, patient);
    const key = randomUUID();
    const stored = `namjai:limit:{${key}}`;
    for (let i = 0; i < 5; i++) await limiter.take(key, { limit: 3, windowMs: 60_000 });
    const times = await client.lRange(stored, 0, -1);
    assert.equal(times.length, 3);
    for (const time of times) assert.match(time, /^\d{16}$/, 'whole microseconds');
    const life = await client.pTTL(stored);
    assert.ok(life > 0 && life <= 61_000, `it would last for ${life} ms`);
  });

  it('forgets what a clock that was set back left in the far future, and nothing else', async (t) => {
    const { client, limiter } = await openNode(t, redis.url, patient);
    const rule = { limit: 1, windowMs: 60_000 };
    const key = randomUUID();
    const inAnHour = (Date.now() + 3_600_000) * 1000;
    await client.rPush(`namjai:limit:{${key}}`, String(inAnHour));
    assert.deepEqual(await limiter.take(key, rule), { allowed: true, remaining: 0, resetSeconds: 60 });
    assert.equal((await limiter.take(key, rule)).allowed, false);
  });

  it('goes by its own count when Redis answers with an error', async (t) => {
    const node = await openNode(t, redis.url);
    const key = randomUUID();
    await node.client.set(`namjai:limit:{${key}}`, 'not a list', { PX: 60_000 });
    const rule = { limit: 1, windowMs: 60_000 };
    assert.equal((await node.limiter.take(key, rule)).allowed, true);
    assert.equal((await node.limiter.take(key, rule)).allowed, false);
    assert.equal(node.fallbacks, 2);
  });

  it('does not take a pause of its own process for one of Redis', async (t) => {
    const node = await openNode(t, redis.url);
    const rule = { limit: 1, windowMs: 60_000 };
    const key = randomUUID();
    await node.limiter.take(key, rule);
    const verdicts: unknown[] = [];
    for (const sent of [() => {}, () => new Promise(setImmediate)]) {
      // Begins among the timers, which run before anything is sent or received.
      await sleep(1);
      const pending = node.limiter.take(key, rule);
      await sent();
      // Longer than the whole deadline.
      blockFor(1_500);
      verdicts.push((await pending).allowed);
    }
    assert.deepEqual(verdicts, [false, false]);
    assert.equal(node.fallbacks, 0);
  });
});

describe('redis limiter with a Redis of its own, that comes and goes', { skip: skipWithoutRedisServer }, () => {
  const rule = { limit: 3, windowMs: 60_000 };

  it('asks for what comes in one iteration at once, and decides as if each had come by itself', async (t) => {
    const server = await startRedisServer();
    t.after(() => server.stop());
    const nodes = await Promise.all([openNode(t, server.url, patient), openNode(t, server.url, patient)]);
    const [few, many, alone] = [randomUUID(), randomUUID(), randomUUID()];
    const asked = [
      ...Array.from({ length: 6 }, () => ({ key: few, rule: { limit: 4, windowMs: 60_000 } })),
      ...Array.from({ length: 150 }, () => ({ key: many, rule: { limit: 200, windowMs: 30_000 } })),
      { key: alone, rule: { limit: 1, windowMs: 2_000 } },
    ];
    const verdicts = await Promise.all(
      nodes.map(({ limiter }) => Promise.all(asked.map(({ key, rule }) => limiter.take(key, rule)))),
    );
    const calls = await scriptCalls(nodes[0]!.client);
    // In bites of 64, twice; each is refused and sent again with the script at worst.
    assert.ok(calls <= 12, `${calls} calls`);
    const allowed = (key: string) =>
      verdicts.flatMap((own) => own.filter((verdict, i) => asked[i]!.key === key && verdict.allowed));
    assert.deepEqual(
      [few, many, alone].map((key) => allowed(key).length),
      [4, 200, 1],
    );
    for (const [key, limit] of [
      [few, 4],
      [many, 200],
    ] as const)
      assert.deepEqual(
        allowed(key)
          .map(({ remaining }) => remaining)
          .sort((a, b) => b - a),
        Array.from({ length: limit }, (_, i) => limit - 1 - i),
      );
    assert.deepEqual(new Set(allowed(few).map(({ resetSeconds }) => resetSeconds)), new Set([60]));
    assert.deepEqual(new Set(allowed(alone).map(({ resetSeconds }) => resetSeconds)), new Set([2]));
    assert.deepEqual(
      nodes.map((node) => node.fallbacks),
      [0, 0],
    );
  });

  it('goes on when Redis is killed, forgetting nothing of its own, and returns to Redis by itself', async (t) => {
    const server = await startRedisServer();
    t.after(() => server.stop());
    const node = await openNode(t, server.url);
    const key = randomUUID();
    assert.equal((await node.limiter.take(key, rule)).remaining, 2);
    const other = await openNode(t, server.url);
    const taken = randomUUID();
    for (let i = 0; i < 3; i++) await other.limiter.take(taken, rule);
    assert.equal((await node.limiter.take(taken, rule)).allowed, false);

    await server.kill();
    const alone = [];
    for (let i = 0; i < 4; i++) alone.push(await node.limiter.take(key, rule));
    assert.deepEqual(
      alone.map((verdict) => [verdict.allowed, verdict.remaining]),
      [
        [true, 1],
        [true, 0],
        [false, 0],
        [false, 0],
      ],
    );
    assert.equal(node.fallbacks, 4);
    assert.equal((await node.limiter.take(taken, rule)).remaining, 2, 'refused ones count nowhere');

    await server.restart();
    await until('the connection returns', () => node.client.isReady);
    assert.equal((await node.limiter.take(key, rule)).remaining, 2, 'Redis starts anew');
    assert.equal(node.fallbacks, 5);
  });

  it('waits once for a Redis that stopped answering, then not at all until it answers again', async (t) => {
    const server = await startRedisServer();
    t.after(() => server.stop());
    const node = await openNode(t, server.url);
    const key = randomUUID();
    await node.limiter.take(key, rule);

    server.pause();
    assert.ok((await timeOf(() => node.limiter.take(key, rule))) < 2_000, 'the first took too long');
    assert.equal(node.fallbacks, 1);
    const later = await timeOf(async () => {
      for (let i = 0; i < 50; i++) await node.limiter.take(randomUUID(), rule);
    });
    assert.ok(later < 1_000, 'later ones waited');
    assert.equal(node.fallbacks, 51);

    server.resume();
    await until('Redis decides again', async () => {
      const fallbacks = node.fallbacks;
      await node.limiter.take(randomUUID(), rule);
      return node.fallbacks === fallbacks;
    });
  });

  it('answers all that were asked for at once when Redis is killed before it answers', async (t) => {
    const server = await startRedisServer();
    t.after(() => server.stop());
    const node = await openNode(t, server.url, patient);
    const keys = Array.from({ length: 100 }, () => randomUUID());
    for (const key of keys) await node.limiter.take(key, rule);
    server.pause();
    const pending = keys.map((key) => node.limiter.take(key, rule));
    await new Promise(setImmediate);
    await server.kill();
    const verdicts = await Promise.all(pending);
    assert.ok(verdicts.every(({ allowed, remaining }) => allowed && remaining === 1));
    assert.equal(node.fallbacks, keys.length);
    assert.equal((await node.limiter.take(keys[0]!, rule)).remaining, 0, 'counted once, on this node');
  });

  it('starts without Redis and takes it up when it appears', async (t) => {
    const server = await startRedisServer();
    t.after(() => server.stop());
    await server.kill();
    const node = await openNode(t, server.url);
    assert.equal((await node.limiter.take('key', rule)).allowed, true);
    assert.equal(node.fallbacks, 1);
    await until('it keeps trying', () => node.errors >= 3);
    await server.restart();
    await until('the connection appears', () => node.client.isReady);
    await node.limiter.take('key', rule);
    assert.equal(node.fallbacks, 1);
  });
});

async function scriptCalls(client: RedisClient): Promise<number> {
  const stats = await client.info('commandstats');
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

async function timeOf(work: () => unknown): Promise<number> {
  const stopwatch = startStopwatch();
  await work();
  return stopwatch();
}

function blockFor(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
