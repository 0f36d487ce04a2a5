import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { tokenServer } from '../../test/token-server.ts';
import { until } from '../../test/until.ts';
import { NamjaiError, ReauthorizationRequired } from '../error.ts';
import { createOAuth, memoryStore, type OAuthOptions, type Store } from './index.ts';

/** Short, so that a lease runs out soon. */
const timeoutMs = 200;

async function connected() {
  const server = tokenServer();
  const store = memoryStore();
  /** The app in one process of several. */
  const start = (more: Partial<OAuthOptions> = {}) =>
    createOAuth({
      baseUrl: 'https://api.example',
      clientId: 'app_1',
      clientSecret: 'njs_secret',
      redirectUri: 'https://app.example/callback',
      scope: 'tips.read',
      store,
      encryptionKey: 'a key of thirty-two bytes or more',
      fetch: server.fetch,
      timeoutMs,
      ...more,
    });
  const oauth = start();
  await oauth.callback('session', server.approve((await oauth.authorize('session')).url));
  return { server, store, oauth, start };
}

const ok = { id: 'crt_1' };
const isToken = (path: string) => path === '/v1/oauth/token';
const lost = () => Promise.reject(new TypeError('fetch failed'));

test('200 calls of four processes with one expired token make one refresh', async () => {
  const { server, start } = await connected();
  server.expireAccess();
  // Long enough for the others to look at the store again and again.
  server.disturb(async (path, arrive) => {
    if (isToken(path)) await sleep(150);
    return arrive();
  });
  const processes = Array.from({ length: 4 }, () => start({ timeoutMs: 60_000 }));
  const calls = Array.from({ length: 200 }, (_, index) => processes[index % 4]?.as('crt_1').me());
  for (const answer of await Promise.all(calls)) assert.deepEqual(answer, ok);
  assert.equal(server.refreshes().length, 1);
});

test('calls at once read the store once', async () => {
  const { store, start } = await connected();
  let reads = 0;
  const counting: Store = {
    ...store,
    read(key) {
      reads += 1;
      return store.read(key);
    },
  };
  const oauth = start({ store: counting });
  await Promise.all(Array.from({ length: 50 }, () => oauth.as('crt_1').me()));
  assert.equal(reads, 1);
});

test('a token is refreshed before it expires by the clock', async () => {
  const { server, start } = await connected();
  let now = Date.now() + 3_560_000;
  const oauth = start({ now: () => now });
  await oauth.as('crt_1').me();
  assert.equal(server.refreshes().length, 0);
  now += 20_000;
  await Promise.all([
    oauth.as('crt_1').me(),
    oauth.as('crt_1').me(),
    start({ now: () => now })
      .as('crt_1')
      .me(),
  ]);
  assert.equal(server.refreshes().length, 1);
});

test('the key is stored before the request, and the new pair before its use', async () => {
  const { server, store, start } = await connected();
  const order: string[] = [];
  const watched: Store = {
    ...store,
    write(...parameters) {
      order.push('write');
      return store.write(...parameters);
    },
  };
  server.expireAccess();
  server.disturb(async (path, arrive) => {
    const response = await arrive();
    order.push(isToken(path) ? 'refresh' : `me ${response.status}`);
    return response;
  });
  await start({ store: watched }).as('crt_1').me();
  assert.deepEqual(order, ['me 401', 'write', 'refresh', 'write', 'me 200']);
});

test('a lost answer costs nothing: the same refresh is repeated with the same key', async () => {
  const { server, oauth } = await connected();
  for (let round = 0; round < 6; round += 1) {
    const before = server.refreshes().length;
    let cut = 2;
    server.disturb(async (path, arrive) => {
      const response = await arrive();
      return isToken(path) && cut-- > 0 ? lost() : response;
    });
    server.expireAccess();
    assert.deepEqual(await oauth.as('crt_1').me(), ok);
    const sent = server.refreshes().slice(before);
    assert.equal(sent.length, 3);
    assert.equal(new Set(sent.map(({ key, fields }) => `${key} ${fields.refresh_token}`)).size, 1);
  }
  assert.ok(server.refreshes().every(({ error }) => error === null));
});

test('a server that is away loses no connection, whichever process comes next', async () => {
  const { server, oauth, start } = await connected();
  server.expireAccess();
  const answers = [lost, async () => new Response('', { status: 503 }), async () => new Response('<html>')];
  for (const answer of answers) {
    server.disturb(async (path, arrive) => {
      if (!isToken(path)) return arrive();
      await arrive();
      return answer();
    });
    const before = server.refreshes().length;
    await assert.rejects(
      oauth.as('crt_1').me(),
      (error) => error instanceof NamjaiError && error.code !== 'invalid_grant',
    );
    assert.equal(server.refreshes().length, before + 4, 'three more tries');
  }
  server.disturb(null);
  assert.deepEqual(await start().as('crt_1').me(), ok);
  assert.equal(new Set(server.refreshes().map(({ key }) => key)).size, 1);
});

test('Retry-After is obeyed; a long one is left to the caller', async () => {
  const { server, start } = await connected();
  const slept: number[] = [];
  const oauth = start({ sleep: async (ms) => void slept.push(ms) });
  let wait = '3';
  const limited = async () => new Response('{}', { status: 429, headers: { 'retry-after': wait } });
  let left = 2;
  server.disturb(async (path, arrive) => (isToken(path) && left-- > 0 ? limited() : arrive()));
  server.expireAccess();
  await oauth.as('crt_1').me();
  assert.deepEqual(slept, [3000, 3000]);
  wait = '30';
  left = 9;
  server.expireAccess();
  await assert.rejects(oauth.as('crt_1').me(), (error) => error instanceof NamjaiError && error.status === 429);
  server.disturb(null);
  await oauth.as('crt_1').me();
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
    void start({ store: dying, fetch: disturbed }).as('crt_1').me();
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
      await sleep(timeoutMs);
      return written;
    },
  };
  const failed = start({ store: slow, random: () => 0 })
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

test('a creator who disconnected is told once to the server, and remembered', async () => {
  const { server, oauth, start } = await connected();
  server.endGrants();
  let now = Date.now();
  const all = [oauth, start(), start({ now: () => now })];
  const calls = Array.from({ length: 30 }, (_, index) => all[index % 3]?.as('crt_1').me());
  for (const { status, reason } of (await Promise.allSettled(calls)) as PromiseRejectedResult[])
    assert.ok(status === 'rejected' && reason instanceof ReauthorizationRequired, String(reason));
  assert.equal(server.refreshes().length, 1);
  const requests = server.log.length;
  await assert.rejects(start().as('crt_1').me(), ReauthorizationRequired);
  assert.equal(server.log.length, requests, 'nothing is sent any more');
  now += 1_000_000;
  await assert.rejects(all[2]?.as('crt_1').me() ?? Promise.resolve(), ReauthorizationRequired);
  assert.equal(server.refreshes().length, 2, 'asked again after a while, because a suspension may have ended');
  await oauth.callback('session', server.approve((await oauth.authorize('session')).url));
  assert.deepEqual(await start().as('crt_1').me(), ok);
});

test('an expired token of a creator who disconnected means the same', async () => {
  const { server, start } = await connected();
  server.endGrants();
  server.expireAccess();
  await assert.rejects(start().as('crt_1').me(), ReauthorizationRequired);
  await assert.rejects(start().as('crt_1').me(), ReauthorizationRequired);
  await assert.rejects(start().as('crt_unknown').me(), ReauthorizationRequired);
  assert.equal(server.refreshes().length, 1);
});

test('wrong credentials of the app end no connection', async () => {
  const { server, oauth, start } = await connected();
  server.expireAccess();
  const wrong = start({ clientSecret: 'njs_other' });
  await assert.rejects(
    wrong.as('crt_1').me(),
    (error) => error instanceof NamjaiError && error.code === 'invalid_client',
  );
  assert.deepEqual(await oauth.as('crt_1').me(), ok);
});

test('connecting again during a refresh wins over it', async () => {
  const { server, oauth, start } = await connected();
  server.expireAccess();
  const back = server.approve((await oauth.authorize('session')).url);
  let connectedAgain = false;
  server.disturb(async (path, arrive) => {
    const response = await arrive();
    if (isToken(path) && !connectedAgain) {
      connectedAgain = true;
      await oauth.callback('session', back);
    }
    return response;
  });
  assert.deepEqual(await start().as('crt_1').me(), ok);
  server.disturb(null);
  assert.equal(server.refreshes().length, 1);
  assert.deepEqual(await start().as('crt_1').me(), ok);
  assert.equal(server.refreshes().length, 1);
});

test('a store whose answers get lost keeps the connection', async () => {
  const { server, store, start } = await connected();
  let count = 0;
  const flaky: Store = {
    ...store,
    async write(...parameters) {
      count += 1;
      if (count % 3 === 1) throw new Error('connection lost before');
      const written = await store.write(...parameters);
      if (count % 3 === 2) throw new Error('connection lost after');
      return written;
    },
  };
  for (let round = 0; round < 5; round += 1) {
    server.expireAccess();
    assert.deepEqual(await start({ store: flaky }).as('crt_1').me(), ok);
  }
  assert.equal(server.refreshes().length, 5);
});
