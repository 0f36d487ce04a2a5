import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { tokenServer } from '../../test/token-server.ts';
import { NamjaiError, ReauthorizationRequired } from '../error.ts';
import { AccessDenied, createOAuth, memoryStore, OAuthError, type OAuthOptions, type Store } from './index.ts';

const encryptionKey = 'a key of thirty-two bytes or more';
const redirectUri = 'https://app.example/callback';

type Server = ReturnType<typeof tokenServer>;

/** An app as one process of several would make it. */
function appOf(server: Server, store: Store = memoryStore(), more: Partial<OAuthOptions> = {}) {
  return createOAuth({
    baseUrl: 'https://api.example',
    clientId: 'app_1',
    clientSecret: 'njs_secret',
    redirectUri,
    scope: 'tips.read',
    store,
    encryptionKey,
    fetch: server.fetch,
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 5))),
    ...more,
  });
}

async function connected(more: Partial<OAuthOptions> = {}) {
  const server = tokenServer();
  const store = memoryStore();
  const oauth = appOf(server, store, more);
  const { url } = await oauth.authorize('session');
  await oauth.callback('session', server.approve(url));
  return { server, store, oauth };
}

const code = (expected: string) => (error: unknown) => error instanceof OAuthError && error.code === expected;

/** The callback address with one parameter changed, or left out. */
function changed(address: string, name: string, value: string | null): string {
  const url = new URL(address);
  if (value === null) url.searchParams.delete(name);
  else url.searchParams.set(name, value);
  return url.href;
}

test('a creator connects, and the app calls the API for them', async () => {
  const server = tokenServer();
  const oauth = appOf(server);
  const { url } = await oauth.authorize('session');
  const query = new URL(url).searchParams;
  assert.equal(url.split('?')[0], 'https://auth.example/oauth/authorize');
  assert.deepEqual(
    ['client_id', 'redirect_uri', 'scope', 'response_type', 'code_challenge_method'].map((name) => query.get(name)),
    ['app_1', redirectUri, 'tips.read', 'code', 'S256'],
  );
  assert.equal(query.get('state')?.length, 43, '256 bits');
  assert.deepEqual(await oauth.callback('session', server.approve(url)), { creatorId: 'crt_1', scope: 'tips.read' });
  assert.deepEqual(await oauth.as('crt_1').me(), { id: 'crt_1' });
  assert.equal(server.refreshes().length, 0);
});

test('the callback takes a path, as Node.js gives it', async () => {
  const server = tokenServer();
  const oauth = appOf(server);
  const address = new URL(server.approve((await oauth.authorize('session')).url));
  assert.equal((await oauth.callback('session', address.pathname + address.search)).creatorId, 'crt_1');
});

test('a state is of one session, works once, and no code is exchanged without it', async () => {
  const server = tokenServer();
  const store = memoryStore();
  const oauth = appOf(server, store);
  const victim = server.approve((await oauth.authorize('attacker')).url, 'crt_attacker');
  const address = server.approve((await oauth.authorize('session')).url);
  const refused = [
    ['session', victim, 'the address of another session'],
    ['other', address, 'a session that began nothing'],
    ['session', changed(address, 'state', null), 'no state'],
    ['session', changed(address, 'state', 'A'.repeat(43)), 'another state'],
    ['session', `${address}&state=x`, 'two states'],
  ] as const;
  for (const [session, url, what] of refused)
    await assert.rejects(oauth.callback(session, url), code('state_invalid'), what);
  assert.equal(server.log.filter(({ path }) => path === '/v1/oauth/token').length, 0);
  // Five at once, in two processes: one goes on.
  const apps = [oauth, appOf(server, store)];
  const results = await Promise.allSettled(
    Array.from({ length: 5 }, (_, index) => apps[index % 2]?.callback('session', address)),
  );
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.equal(server.log.filter(({ path }) => path === '/v1/oauth/token').length, 1);
  await assert.rejects(oauth.callback('session', address), code('state_invalid'), 'again');
});

test('a session can sign in from two tabs, and five at most', async () => {
  const server = tokenServer();
  const oauth = appOf(server);
  const tabs: string[] = [];
  for (let tab = 0; tab < 6; tab += 1) tabs.push(server.approve((await oauth.authorize('session')).url, `crt_${tab}`));
  await assert.rejects(oauth.callback('session', tabs[0] ?? ''), code('state_invalid'));
  for (const tab of [3, 1, 5]) assert.equal((await oauth.callback('session', tabs[tab] ?? '')).creatorId, `crt_${tab}`);
});

test('a sign-in lasts an hour', async () => {
  const server = tokenServer();
  let now = Date.now();
  const oauth = appOf(server, memoryStore(), { now: () => now });
  const [first, second] = [await oauth.authorize('a'), await oauth.authorize('b')];
  now += 3_599_000;
  await oauth.callback('a', server.approve(first.url));
  now += 2000;
  await assert.rejects(oauth.callback('b', server.approve(second.url)), code('state_invalid'));
});

test('the response of another server is not used', async () => {
  for (const iss of ['https://evil.example', null, 'https://auth.example/']) {
    const server = tokenServer();
    const oauth = appOf(server);
    const address = server.approve((await oauth.authorize('session')).url);
    await assert.rejects(oauth.callback('session', changed(address, 'iss', iss)), code('issuer_mismatch'));
    assert.equal(server.log.filter(({ path }) => path === '/v1/oauth/token').length, 0);
    await assert.rejects(oauth.callback('session', address), code('state_invalid'), 'and the state is used up');
  }
});

test('errors of the authorization are typed', async () => {
  const server = tokenServer();
  const oauth = appOf(server);
  const failed = async (error: string) => {
    const address = changed(server.approve((await oauth.authorize('session')).url), 'code', null);
    return oauth.callback('session', changed(address, 'error', error));
  };
  await assert.rejects(
    failed('access_denied'),
    (error) => error instanceof AccessDenied && error instanceof NamjaiError,
  );
  await assert.rejects(failed('invalid_scope'), code('invalid_scope'));
  const address = changed(server.approve((await oauth.authorize('session')).url), 'code', null);
  await assert.rejects(oauth.callback('session', address), code('invalid_request'));
});

test('a wrong configuration is told at once', async () => {
  const server = tokenServer();
  const wrong: [Partial<OAuthOptions>, RegExp][] = [
    [{ encryptionKey: 'short' }, /encryptionKey must have at least 32 bytes/],
    [{ encryptionKey: JSON.parse('null') }, /encryptionKey must have at least 32 bytes. Make one with: openssl rand/],
    [{ encryptionKey: [] }, /encryptionKey must have at least 32 bytes/],
    [{ encryptionKey: [encryptionKey, new Uint8Array(31)] }, /encryptionKey must have at least 32 bytes/],
    [{ baseUrl: 'http://tips.example' }, /baseUrl must be an https: address/],
    [{ baseUrl: 'tips.example' }, /baseUrl must be an https: address/],
    [{ clientSecret: '' }, /clientSecret is empty/],
  ];
  for (const [options, message] of wrong) assert.throws(() => appOf(server, memoryStore(), options), message);
  await assert.rejects(appOf(server, memoryStore(), { redirectUri: undefined }).authorize('session'), /redirectUri/);
  await assert.rejects(appOf(server).authorize(''), /sessionId/);
});

test('nothing secret is stored in clear, told in an error, or sent to another address', async () => {
  const { server, store, oauth } = await connected();
  const texts: string[] = [inspect(oauth, { depth: 9 })];
  await oauth.authorize('njx_session_secret');
  const watched: Store = {
    read: store.read,
    remove: store.remove,
    write(key, value, expected) {
      texts.push(key, value);
      return store.write(key, value, expected);
    },
  };
  const other = appOf(server, watched);
  await other.authorize('njx_session_secret');
  server.expireAccess();
  for (const answer of ['njr_secret {"refresh_token": "njr_secret', '{"access_token":"njr_secret"}', '"njr_secret']) {
    server.disturb(async (path, arrive) => (path === '/v1/oauth/token' ? new Response(answer) : arrive()));
    const error = await other
      .as('crt_1')
      .me()
      .catch((caught: unknown) => caught);
    assert.ok(error instanceof NamjaiError);
    texts.push(inspect(error, { depth: 9 }));
  }
  server.disturb(null);
  await other.as('crt_1').me();
  for (const text of texts) assert.doesNotMatch(text, /secret|"sub"|verifier/);
});

test('a stored value opens under its own key only, and with the old encryption key while it is listed', async () => {
  const { server, store } = await connected();
  const next = 'another key of thirty-two bytes!!';
  await assert.rejects(appOf(server, store, { encryptionKey: next }).as('crt_1').me(), code('store_unreadable'));
  await appOf(server, store, { encryptionKey: [next, encryptionKey] })
    .as('crt_1')
    .me();
  server.expireAccess();
  await appOf(server, store, { encryptionKey: [next, encryptionKey] })
    .as('crt_1')
    .me();
  await appOf(server, store, { encryptionKey: next }).as('crt_1').me();
  await assert.rejects(
    appOf(server, store).as('crt_1').me(),
    code('store_unreadable'),
    'the refresh encrypted it anew',
  );
  await store.write(
    'creator/api.example/app_1/crt_2',
    (await store.read('creator/api.example/app_1/crt_1')) ?? '',
    null,
  );
  await assert.rejects(appOf(server, store, { encryptionKey: next }).as('crt_2').me(), code('store_unreadable'));
  // Connecting again replaces what cannot be opened.
  const oauth = appOf(server, store);
  await oauth.callback('session', server.approve((await oauth.authorize('session')).url));
  await oauth.as('crt_1').me();
});

test('the tokens of one server are not sent to another that shares the store', async () => {
  const { store } = await connected();
  const evil = tokenServer();
  const there = appOf(evil, store, { baseUrl: 'https://evil.example' });
  await assert.rejects(there.as('crt_1').me(), ReauthorizationRequired);
  await there.disconnect('crt_1');
  assert.deepEqual(evil.log, []);
});

test('disconnecting revokes and forgets; a revocation that failed can be repeated', async () => {
  const { server, store, oauth } = await connected();
  server.disturb(async (path, arrive) => (path.endsWith('/revoke') ? new Response('', { status: 502 }) : arrive()));
  await assert.rejects(oauth.disconnect('crt_1'), (error) => error instanceof NamjaiError && error.status === 502);
  server.disturb(null);
  await oauth.as('crt_1').me();
  await oauth.disconnect('crt_1');
  assert.equal(await store.read('creator/api.example/app_1/crt_1'), null);
  await assert.rejects(oauth.as('crt_1').me(), ReauthorizationRequired);
  await oauth.disconnect('crt_1');
  assert.equal(server.refreshes().length, 0);
});

test('tokens that came in another way are adopted, if they are tokens', async () => {
  const oauth = appOf(tokenServer());
  const claims = Buffer.from(JSON.stringify({ sub: 'crt_9' })).toString('base64url');
  const tokens = { accessToken: `x.${claims}.x`, refreshToken: 'njr_1', expiresIn: 3600, scope: 'tips.read' };
  assert.deepEqual(await oauth.adopt(tokens), { creatorId: 'crt_9', scope: 'tips.read' });
  for (const wrong of [{ accessToken: 'x' }, { refreshToken: '' }, { expiresIn: 0 }])
    await assert.rejects(oauth.adopt({ ...tokens, ...wrong }), code('unknown_error'));
});
