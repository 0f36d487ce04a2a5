import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { after, before, describe, it, type TestContext } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { hubConformance } from '../../../test/conformance/hub.ts';
import {
  openTestRedis,
  skipWithoutRedis,
  skipWithoutRedisServer,
  startRedisServer,
  type TestRedis,
} from '../../../test/redis.ts';
import { connectRedis, type RedisClient } from '../redis.ts';
import { createRedisHub } from './redis.ts';

async function openNode(t: TestContext, url: string, heartbeatMs = 1_000) {
  const { client, close } = await connectRedis({ url, heartbeatMs });
  const listenerErrors: unknown[] = [];
  const hub = createRedisHub({ client, onListenerError: (error) => listenerErrors.push(error) });
  t.after(async () => {
    await hub.close();
    close();
  });
  return { client, hub, listenerErrors };
}

/** What a connection sent before has taken effect when its PING is answered, and what it was sent before has arrived. */
async function settle(clients: RedisClient[]): Promise<void> {
  await new Promise(setImmediate);
  for (const client of [...clients, ...clients]) await client.ping();
}

async function subscriberCount(client: RedisClient, topic: string): Promise<number> {
  const channel = `namjai:hub:${topic}`;
  return Number((await client.pubSubNumSub([channel]))[channel]);
}

describe('redis hub', { skip: skipWithoutRedis }, () => {
  let redis: TestRedis;
  before(async () => {
    redis = await openTestRedis();
  });
  after(() => redis?.stop());

  hubConformance('redis', async (t) => {
    const [here, there] = [await openNode(t, redis.url), await openNode(t, redis.url)];
    return {
      here: here.hub,
      there: there.hub,
      settle: () => settle([here.client, there.client]),
      listenerErrors: here.listenerErrors,
    };
  });

  it('tells subscribers of this node without waiting for Redis', async (t) => {
    const { hub } = await openNode(t, redis.url);
    const heard: string[] = [];
    hub.subscribe('topic', (message) => heard.push(message));
    hub.publish('topic', 'hint');
    await new Promise(setImmediate);
    assert.deepEqual(heard, ['hint']);
  });

  it('sends what was published before it was closed, and nothing after', async (t) => {
    const [here, there] = [await openNode(t, redis.url), await openNode(t, redis.url)];
    const topic = randomUUID();
    const heard: string[] = [];
    there.hub.subscribe(topic, (message) => heard.push(message));
    await settle([here.client, there.client]);
    here.hub.publish(topic, 'before');
    await here.hub.close();
    here.hub.publish(topic, 'after');
    await settle([here.client, there.client]);
    assert.deepEqual(heard, ['before']);
  });

  it('holds a channel of Redis only while somebody listens', async (t) => {
    const { client, hub } = await openNode(t, redis.url);
    const topic = randomUUID();
    const stops = [hub.subscribe(topic, () => {}), hub.subscribe(topic, () => {})];
    assert.equal(await subscriberCount(client, topic), 1);
    stops[0]?.();
    assert.equal(await subscriberCount(client, topic), 1);
    stops[1]?.();
    assert.equal(await subscriberCount(client, topic), 0);
    hub.subscribe(topic, () => {});
    assert.equal(await subscriberCount(client, topic), 1);
    await hub.close();
    assert.equal(await subscriberCount(client, topic), 0);
  });
});

describe('redis hub with a Redis that comes and goes', { skip: skipWithoutRedisServer }, () => {
  it('sends what one iteration has for a topic to Redis at once, and all of it arrives', async (t) => {
    const server = await startRedisServer();
    t.after(() => server.stop());
    const [here, there] = [await openNode(t, server.url), await openNode(t, server.url)];
    const heard: string[] = [];
    for (const topic of ['one', 'two']) there.hub.subscribe(topic, (message) => heard.push(`${topic} ${message}`));
    await settle([here.client, there.client]);
    for (let i = 0; i < 1_000; i++) {
      here.hub.publish('one', String(i % 3));
      here.hub.publish('two', 'hint');
    }
    await settle([here.client, there.client]);
    assert.deepEqual(heard, ['one 0', 'one 1', 'one 2', 'two hint']);
    assert.match(await here.client.info('commandstats'), /cmdstat_publish:calls=2,/);
  });

  it('subscribes to a channel once, however many listen', async (t) => {
    const server = await startRedisServer();
    t.after(() => server.stop());
    const { client, hub } = await openNode(t, server.url);
    for (let i = 0; i < 100; i++) hub.subscribe('topic', () => {});
    await settle([client]);
    assert.match(await client.info('commandstats'), /cmdstat_subscribe:calls=1,/);
  });

  it('subscribes again after Redis was killed: to what it had, what was asked for since, not what was given up', async (t) => {
    const server = await startRedisServer();
    t.after(() => server.stop());
    const [here, there] = [await openNode(t, server.url), await openNode(t, server.url)];
    const heard: string[] = [];
    const listenTo = (topic: string) => here.hub.subscribe(topic, (message) => heard.push(`${topic} ${message}`));
    listenTo('kept');
    const giveUp = listenTo('given up');
    const thinkAgain = listenTo('thought again');
    await settle([here.client, there.client]);

    await server.kill();
    await until('both notice', () => !here.client.isReady && !there.client.isReady);
    listenTo('asked for');
    giveUp();
    thinkAgain();
    listenTo('thought again');
    here.hub.publish('kept', 'alone');
    await new Promise(setImmediate);
    assert.deepEqual(heard, ['kept alone']);

    await server.restart();
    await until('both return', () => here.client.isReady && there.client.isReady);
    await settle([here.client, there.client]);
    for (const topic of ['kept', 'asked for', 'given up', 'thought again']) there.hub.publish(topic, 'again');
    await settle([here.client, there.client]);
    assert.deepEqual(heard, ['kept alone', 'kept again', 'asked for again', 'thought again again']);
    assert.equal(await subscriberCount(there.client, 'given up'), 0);
  });

  it('opens a new connection when the old one is open but dead, and another when that one hangs', async (t) => {
    const server = await startRedisServer();
    t.after(() => server.stop());
    const line = await openLine(t, Number(new URL(server.url).port));
    const [here, there] = [await openNode(t, line.url, 50), await openNode(t, server.url)];
    const heard: string[] = [];
    here.hub.subscribe('topic', (message) => heard.push(message));
    await settle([here.client, there.client]);
    line.silence();
    await until('hints arrive again', () => {
      here.hub.publish('elsewhere', 'still writing');
      there.hub.publish('topic', 'hint');
      return heard.length > 0;
    });
  });
});

/** A line to Redis that can fall silent without being closed; connections made after that work, but for the first. */
async function openLine(t: TestContext, port: number) {
  const open = new Set<Socket>();
  let hangNext = false;
  const line = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    if (!hangNext) near.pipe(far).pipe(near);
    hangNext = false;
    for (const socket of [near, far]) open.add(socket.on('error', () => {}));
  }).listen(0, '127.0.0.1');
  await once(line, 'listening');
  t.after(() => {
    line.close();
    for (const socket of open) socket.destroy();
  });
  const address = line.address();
  assert.ok(address !== null && typeof address === 'object');
  return {
    url: `redis://127.0.0.1:${address.port}`,
    silence() {
      hangNext = true;
      for (const socket of open) socket.unpipe().pause();
    },
  };
}
