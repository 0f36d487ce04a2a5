import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../../../sdk/test/until.ts';
import { connectionSlotsConformance } from '../../../test/conformance/limiter.ts';
import {
  openTestRedis,
  skipWithoutRedis,
  skipWithoutRedisServer,
  startRedisServer,
  type TestRedis,
} from '../../../test/redis.ts';
import { startStopwatch } from '../../../test/stopwatch.ts';
import { connectRedis } from '../redis.ts';
import { createRedisSlots } from './redis-slots.ts';

interface Options {
  readonly leaseMs?: number;
}

async function openNode(t: TestContext, url: string, options: Options = {}) {
  const { client, close } = await connectRedis({ url });
  const node = { fallbacks: 0 };
  const slots = createRedisSlots({
    client,
    onFallback: () => {
      node.fallbacks += 1;
    },
    ...options,
  });
  t.after(async () => {
    await slots.close();
    close();
  });
  return Object.assign(node, { client, slots, die: close });
}

type Node = Awaited<ReturnType<typeof openNode>>;

/** How many slots of the key each node is said to hold. */
async function counts({ client }: Node, key: string): Promise<number[]> {
  const entries = await client.hVals(`namjai:places:{${key}}`);
  return entries.map((entry) => Number.parseInt(entry, 10)).sort();
}

async function take({ slots }: Node, key: string, max: number, times: number): Promise<number> {
  const taken = await Promise.all(Array.from({ length: times }, () => slots.acquire(key, max)));
  return taken.filter(Boolean).length;
}

describe('connection slots in redis', { skip: skipWithoutRedis }, () => {
  let redis: TestRedis;
  before(async () => {
    redis = await openTestRedis();
  });
  after(() => redis?.stop());

  connectionSlotsConformance('redis', async (t) => {
    const [here, there] = await Promise.all([openNode(t, redis.url), openNode(t, redis.url)]);
    t.after(() => assert.equal(here.fallbacks + there.fallbacks, 0, 'decided without Redis'));
    return [here.slots, there.slots];
  });

  it('waits a little for a slot that is on its way back', async (t) => {
    const [here, there] = await Promise.all([openNode(t, redis.url), openNode(t, redis.url)]);
    // On a busy machine the wait may be over before the slot is back.
    const key = await until('a slot that comes back is granted', async () => {
      const key = randomUUID();
      assert.equal(await take(here, key, 1, 1), 1);
      const early = there.slots.acquire(key, 1);
      // Answered after the first request for a slot, which found none.
      await there.client.ping();
      here.slots.release(key);
      return (await early) && key;
    });
    const stopwatch = startStopwatch();
    assert.equal(await here.slots.acquire(key, 1), false);
    assert.ok(stopwatch() < 2_000, 'refused in good time');
  });

  it('leaves nothing behind in Redis once all is released, and tells so before it closes', async (t) => {
    const [node, witness] = await Promise.all([openNode(t, redis.url), openNode(t, redis.url)]);
    const key = randomUUID();
    await take(node, key, 5, 4);
    assert.deepEqual(await counts(witness, key), [4]);
    const life = await witness.client.pTTL(`namjai:places:{${key}}`);
    assert.ok(life > 10_000 && life <= 15_000, `it would last for ${life} ms by itself`);
    for (let i = 0; i < 4; i++) node.slots.release(key);
    await node.slots.close();
    assert.equal(await witness.client.exists(`namjai:places:{${key}}`), 0);
  });

  it('frees the slots of a node that died after its lease, and renews those of the living', async (t) => {
    const leaseMs = 5_000;
    const [dead, alive] = await Promise.all([openNode(t, redis.url, { leaseMs }), openNode(t, redis.url, { leaseMs })]);
    const key = randomUUID();
    assert.equal(await take(dead, key, 5, 2), 2);
    assert.equal(await take(alive, key, 5, 2), 2);
    const diedAt = performance.now();
    // When it was asked for and not when it was refused, so that a busy machine does not count.
    let refusedAfter = 0;
    dead.die();
    assert.equal(await take(alive, key, 5, 2), 1, 'not before');
    await until('its slots are free', async () => {
      const askedAfter = performance.now() - diedAt;
      if ((await take(alive, key, 5, 1)) === 1) return true;
      refusedAfter = askedAfter;
      return false;
    });
    assert.ok(refusedAfter < leaseMs + 2_000, `still refused after ${refusedAfter} ms`);
    await sleep(1.5 * leaseMs);
    assert.deepEqual(await counts(alive, key), [4], 'and the others are still held');
    assert.equal(await take(alive, key, 5, 2), 1);
  });

  it('lets a node that slept past its lease keep its slots, and nobody else in until there are free ones', async (t) => {
    const [here, there] = await Promise.all([openNode(t, redis.url), openNode(t, redis.url)]);
    const key = randomUUID();
    await take(here, key, 3, 2);
    await there.client.del(`namjai:places:{${key}}`);
    assert.equal(await take(there, key, 3, 4), 3);
    assert.equal(await take(here, key, 3, 1), 0);
    assert.deepEqual(await counts(here, key), [2, 3]);
    there.slots.release(key);
    there.slots.release(key);
    assert.equal(await take(here, key, 3, 1), 0);
    there.slots.release(key);
    assert.equal(await take(here, key, 3, 2), 1);
  });

  it('forgets what a clock that was set back left in the far future', async (t) => {
    const node = await openNode(t, redis.url);
    const key = randomUUID();
    await node.client.hSet(`namjai:places:{${key}}`, 'other', `5 ${Date.now() + 3_600_000}`);
    assert.equal(await take(node, key, 5, 6), 5);
    assert.deepEqual(await counts(node, key), [5]);
  });

  it('goes by its own count when Redis answers with an error, and tells it once Redis takes it', async (t) => {
    const node = await openNode(t, redis.url, { leaseMs: 1_500 });
    const key = randomUUID();
    await node.client.set(`namjai:places:{${key}}`, 'not a hash', { PX: 60_000 });
    assert.equal(await take(node, key, 3, 4), 3);
    assert.equal(node.fallbacks, 4);
    node.slots.release(key);
    await node.client.del(`namjai:places:{${key}}`);
    await until('it is told', async () => (await counts(node, key))[0] === 2);
  });
});

describe('connection slots without Redis', { skip: skipWithoutRedisServer }, () => {
  it('counts on each node while Redis is killed, cuts nobody, and counts over all once it is back', async (t) => {
    const server = await startRedisServer();
    t.after(() => server.stop());
    // With so long a lease nothing is renewed for its age while this test lasts.
    const leaseMs = 120_000;
    const [here, there] = await Promise.all([
      openNode(t, server.url, { leaseMs }),
      openNode(t, server.url, { leaseMs }),
    ]);
    const [key, left, same] = [randomUUID(), randomUUID(), randomUUID()];
    assert.equal(await take(here, same, 5, 4), 4);
    assert.equal(await take(here, key, 5, 3), 3);
    assert.equal(await take(there, left, 5, 2), 2);
    await server.kill();
    await until('both know', () => !here.client.isReady && !there.client.isReady);
    assert.equal(await take(here, key, 5, 4), 2, 'what it let in before counts');
    assert.equal(await take(there, key, 5, 7), 5);
    for (let i = 0; i < 2; i++) there.slots.release(left);
    there.slots.release(key);

    await server.restart();
    await until('both have told', async () => here.client.isReady && String(await counts(here, key)) === '4,5');
    await until('also what had not changed', async () => String(await counts(here, same)) === '4');
    assert.equal(await take(there, key, 5, 1), 0);
    for (let i = 0; i < 5; i++) here.slots.release(key);
    assert.equal(await take(there, key, 5, 2), 1);
    assert.equal(await take(here, left, 5, 6), 5, 'what was released meanwhile is free');
  });

  it('waits once for a Redis that stopped answering, and loses no slot by it', async (t) => {
    const server = await startRedisServer();
    t.after(() => server.stop());
    const [here, there] = await Promise.all([openNode(t, server.url), openNode(t, server.url)]);
    const key = randomUUID();
    assert.equal(await take(here, key, 4, 2), 2);
    server.pause();
    const first = startStopwatch();
    assert.equal(await take(here, key, 4, 3), 2);
    assert.ok(first() < 2_000, 'the first waited too long');
    const later = startStopwatch();
    for (let i = 0; i < 50; i++) assert.equal(await take(here, randomUUID(), 1, 1), 1);
    assert.ok(later() < 1_000, 'later ones waited');
    here.slots.release(key);
    server.resume();
    await until('it is told', async () => String(await counts(there, key)) === '3');
    assert.equal(await take(there, key, 4, 2), 1);
  });

  it('forgets keys that came and went while Redis was away', async (t) => {
    const server = await startRedisServer();
    t.after(() => server.stop());
    await server.kill();
    const node = await openNode(t, server.url, { leaseMs: 300 });
    const keys = Array.from({ length: 100 }, () => randomUUID());
    for (const key of keys) assert.equal(await take(node, key, 1, 1), 1);
    assert.equal(node.slots.keyCount(), 100);
    for (const key of keys) node.slots.release(key);
    await until('none is left', () => node.slots.keyCount() === 0);
  });
});
