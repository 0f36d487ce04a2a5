import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connected, isToken, lost, ok } from '../../test/oauth-setup.ts';
import { until } from '../../test/until.ts';
import { NamjaiError } from '../error.ts';
import type { OAuthOptions, Store } from './index.ts';

/** For a process whose lease is to run out soon. Others wait as long as its lease says, whatever they use themselves. */
const shortTimeoutMs = 1000;

test('200 calls of four processes with one expired token make one refresh', async () => {
  const { server, start } = await connected();
  server.expireAccess();
  // Long enough for the others to look at the store again and again.
  server.disturb(async (path, arrive) => {
    if (isToken(path)) await sleep(150);
    return arrive();
  });
  const processes = Array.from({ length: 4 }, () => start());
  const calls = Array.from({ length: 200 }, (_, index) => processes[index % 4]?.as('crt_1').me());
  for (const answer of await Promise.all(calls)) assert.deepEqual(answer, ok);
  assert.equal(server.refreshes().length, 1);
});

test('a process that ends at any point leaves what the next one needs', async () => {
  for (const end of ['before the request', 'after the request', 'before the pair is stored'] as const) {
    const { server, store, start } = await connected();
    server.expireAccess();
    const never = new Promise<never>(() => {});
    let writes = 0;
    const dying: Store = {
      ...store,
      write: (...parameters) =>
        ++writes === 2 && end === 'before the pair is stored' ? never : store.write(...parameters),
    };
    const disturbed = async (...[input, init]: Parameters<typeof fetch>) => {
      if (!isToken(new URL(String(input)).pathname)) return server.fetch(input, init);
      if (end === 'before the request') return never;
      const response = await server.fetch(input, init);
      return end === 'after the request' ? never : response;
    };
    void start({ store: dying, fetch: disturbed, timeoutMs: shortTimeoutMs }).as('crt_1').me();
    const before = await store.read('creator/api.example/app_1/crt_1');
    await until('it holds the lease', async () => (await store.read('creator/api.example/app_1/crt_1')) !== before);
    assert.deepEqual(await start().as('crt_1').me(), ok, end);
    server.expireAccess();
    assert.deepEqual(await start().as('crt_1').me(), ok, 'and the pair that it stored works');
    assert.ok(server.refreshes().every(({ error }) => error === null));
  }
});

test('a request that arrives after its lease has run out costs nothing', async () => {
  const { server, store, start } = await connected();
  server.expireAccess();
  let arriveLate = async (): Promise<unknown> => assert.fail('nothing was sent');
  const slow = start({
    timeoutMs: shortTimeoutMs,
    fetch: async (input, init) => {
      if (!isToken(new URL(String(input)).pathname)) return server.fetch(input, init);
      // Stopped while it sends: its timeout does not run either.
      return new Promise<Response>((resolve) => {
        arriveLate = async () => resolve(await server.fetch(input, init));
      });
    },
  });
  const waiting = slow.as('crt_1').me();
  const before = await store.read('creator/api.example/app_1/crt_1');
  await until('it holds the lease', async () => (await store.read('creator/api.example/app_1/crt_1')) !== before);
  assert.deepEqual(await start().as('crt_1').me(), ok);
  // Now the server replaces the pair that the other process has stored.
  await arriveLate();
  assert.deepEqual(await waiting, ok, 'the slow process uses the pair that is stored');
  for (let again = 0; again < 3; again += 1) {
    server.expireAccess();
    assert.deepEqual(await start().as('crt_1').me(), ok);
  }
  assert.ok(server.refreshes().every(({ error }) => error === null));
});

test('a request that was given up and arrives after its repeat costs nothing', async () => {
  const { server, start } = await connected();
  server.expireAccess();
  let arriveLate: (() => Promise<unknown>) | undefined;
  const oauth = start({
    fetch: async (input, init) => {
      if (arriveLate || !isToken(new URL(String(input)).pathname)) return server.fetch(input, init);
      arriveLate = () => server.fetch(input, init);
      return lost();
    },
  });
  assert.deepEqual(await oauth.as('crt_1').me(), ok);
  await arriveLate?.();
  for (let again = 0; again < 3; again += 1) {
    server.expireAccess();
    assert.deepEqual(await oauth.as('crt_1').me(), ok);
  }
  assert.ok(server.refreshes().every(({ error }) => error === null));
  assert.equal(new Set(server.refreshes().map(({ key }) => key)).size, 3, 'the first of the three repeats once more');
});

test('a holder who renews the lease is waited for, whatever the clocks say', async () => {
  const { server, start } = await connected();
  server.expireAccess();
  const sent: string[] = [];
  const requestMs = 2000;
  /** A process whose first tries go unanswered: together for longer than a lease, one by one far shorter. */
  const startAs = (name: string, unanswered: number, more: Partial<OAuthOptions>) =>
    start({
      ...more,
      timeoutMs: requestMs,
      fetch: async (input, init) => {
        if (!isToken(new URL(String(input)).pathname)) return server.fetch(input, init);
        sent.push(name);
        if (sent.length > unanswered) return server.fetch(input, init);
        await sleep(0.55 * requestMs);
        return lost();
      },
    });
  const holding = startAs('holder', 3, { random: () => 0 })
    .as('crt_1')
    .me();
  await until('it holds the lease', () => sent.length === 1);
  await Promise.all([
    holding,
    startAs('other', 0, { now: () => Date.now() + 300_000 })
      .as('crt_1')
      .me(),
  ]);
  assert.deepEqual(sent, ['holder', 'holder', 'holder', 'holder']);
});

test('a holder whose store was slow renews the lease before it sends', async () => {
  const { server, store, start } = await connected();
  server.expireAccess();
  const order: string[] = [];
  const slow: Store = {
    ...store,
    async write(...parameters) {
      order.push('write');
      const written = await store.write(...parameters);
      if (order.length === 1) await sleep(1100);
      return written;
    },
  };
  server.disturb(async (path, arrive) => {
    if (isToken(path)) order.push('refresh');
    return arrive();
  });
  // Half of what its lease is longer than a request: a second.
  assert.deepEqual(await start({ store: slow, timeoutMs: 4000 }).as('crt_1').me(), ok);
  assert.deepEqual(order, ['write', 'write', 'refresh', 'write']);
});

test('with a store that is always slow nothing is sent, and nothing lost', async () => {
  const { server, store, oauth, start } = await connected();
  server.expireAccess();
  const slow: Store = {
    ...store,
    async write(...parameters) {
      const written = await store.write(...parameters);
      // Longer than half of what its lease is longer than a request.
      await sleep(shortTimeoutMs / 2);
      return written;
    },
  };
  const failed = start({ store: slow, timeoutMs: shortTimeoutMs, random: () => 0 })
    .as('crt_1')
    .me();
  await assert.rejects(failed, (error) => error instanceof NamjaiError && error.code === 'store_failed');
  assert.equal(server.refreshes().length, 0);
  assert.deepEqual(await oauth.as('crt_1').me(), ok);
});

test('a lease that was left behind minutes ago is taken at once', async (t) => {
  const { server, store, start } = await connected();
  server.expireAccess();
  const dying = start({
    timeoutMs: 60_000,
    fetch: (input, init) =>
      isToken(new URL(String(input)).pathname) ? new Promise<never>(() => {}) : server.fetch(input, init),
  });
  void dying.as('crt_1').me();
  const before = await store.read('creator/api.example/app_1/crt_1');
  await until('it holds the lease', async () => (await store.read('creator/api.example/app_1/crt_1')) !== before);
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 151_000 });
  assert.deepEqual(await start({ timeoutMs: 60_000 }).as('crt_1').me(), ok);
  assert.equal(server.refreshes().length, 1);
});
