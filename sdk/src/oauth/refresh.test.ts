import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connected, isToken, lost, ok } from '../../test/oauth-setup.ts';
import { NamjaiError, ReauthorizationRequired } from '../error.ts';
import type { Store } from './index.ts';

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
