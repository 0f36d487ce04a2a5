import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  AccessDenied,
  createOAuth,
  type DeviceCode,
  DeviceCodeExpired,
  fileStore,
  OAuthError,
  type OAuthOptions,
  ReauthorizationRequired,
} from '@namjai/sdk/oauth';
import { buildApp } from '../build-app.ts';
import { makeApp, makeCreator, makePublicApp } from '../factories.ts';
import { freePort } from '../free-port.ts';
import { redirectUri } from '../oauth.ts';
import { signedInVisitor } from '../visitor.ts';

/** The listening server, a creator in a browser, and an app made with the SDK. */
async function listening(t: Pick<TestContext, 'after'>, makeClient: typeof makeApp = makeApp) {
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const app = await buildApp(t, { PORT: String(port), BASE_URL: url, AUTH_URL: url });
  app.clock.set(Date.now());
  const refreshes: (string | null)[] = [];
  const counted: typeof fetch = (input, init) => {
    if (String(init?.body).includes('grant_type=refresh_token'))
      refreshes.push(new Headers(init?.headers).get('idempotency-key'));
    return fetch(input, init);
  };
  await app.http.listen({ host: 'localhost', port });
  const creator = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creator.creatorId);
  const client = await makeClient(app.runtime);
  /** The app in one process of several, which share a file. */
  const start = (file = 'tokens.json', more: Partial<OAuthOptions> = {}) =>
    createOAuth({
      baseUrl: url,
      clientId: client.clientId,
      clientSecret: client.clientSecret || undefined,
      redirectUri,
      scope: 'profile.read tips.read',
      store: fileStore(join(app.directory, file)),
      encryptionKey: 'a key of thirty-two bytes or more',
      now: app.clock,
      fetch: counted,
      ...more,
    });
  return {
    ...app,
    start,
    creator,
    refreshes,
    async decide(address: string, decision: 'approve' | 'deny'): Promise<string> {
      const { pathname, search } = new URL(address);
      const page = await visitor.get(`${pathname}${search}`);
      const request = /name="request" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
      return String((await visitor.post('/oauth/authorize', { request, decision })).headers.location);
    },
    /** The creator types the code of a device. */
    async decideDevice({ userCode }: DeviceCode, decision: 'approve' | 'deny'): Promise<void> {
      const page = await visitor.post('/device', { user_code: userCode });
      const request = /name="request" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
      await visitor.post('/device/decision', { request, decision });
    },
    disconnect: () => app.runtime.grants.revoke(creator.creatorId, client.clientId, 'creator'),
    suspend: (at: number | null) => app.runtime.grants.suspend('creator', creator.creatorId, at),
  };
}

test('the SDK connects a creator, refreshes once for all, and disconnects', async (t) => {
  const { start, decide, creator, clock, refreshes } = await listening(t);
  const oauth = start();
  const denied = await decide((await oauth.authorize('session')).url, 'deny');
  await assert.rejects(oauth.callback('session', denied), AccessDenied);
  const address = await decide((await oauth.authorize('session')).url, 'approve');
  const { creatorId, scope } = await oauth.callback('session', address);
  assert.deepEqual([creatorId, scope], [creator.creatorId, 'profile.read tips.read']);
  await assert.rejects(
    oauth.callback('session', address),
    (error) => error instanceof OAuthError && error.code === 'state_invalid',
  );
  assert.equal((await oauth.as(creatorId).me()).username, creator.username);

  const apps = [oauth, start(), start()];
  for (let round = 1; round <= 3; round += 1) {
    clock.advance(3_600_000);
    const calls = Array.from({ length: 30 }, (_, index) => apps[index % 3]?.as(creatorId).me());
    for (const me of await Promise.all(calls)) assert.equal(me?.id, creatorId);
    assert.equal(refreshes.length, round);
  }
  assert.equal(new Set(refreshes).size, 3, 'each with a key of its own');

  await oauth.disconnect(creatorId);
  await assert.rejects(start().as(creatorId).me(), ReauthorizationRequired);
  assert.equal(refreshes.length, 3);
});

test('a creator who disconnects on the dashboard has to connect again; one who was suspended has not', async (t) => {
  const { start, decide, creator, clock, refreshes, disconnect, suspend } = await listening(t);
  const oauth = start();
  const connect = async () =>
    oauth.callback('session', await decide((await oauth.authorize('session')).url, 'approve'));
  const { creatorId } = await connect();
  await suspend(clock());
  await assert.rejects(oauth.as(creatorId).me(), ReauthorizationRequired);
  await suspend(null);
  clock.advance(1_000_000);
  assert.equal((await oauth.as(creatorId).me()).id, creatorId);
  const before = refreshes.length;
  await disconnect();
  for (let call = 0; call < 5; call += 1) await assert.rejects(start().as(creatorId).me(), ReauthorizationRequired);
  assert.equal(refreshes.length, before + 1, 'the server was asked once');
  await connect();
  assert.equal((await start().as(creatorId).me()).id, creator.creatorId);
});

test('a public app connects without a secret, by its page and on devices of their own', async (t) => {
  const { start, decide, decideDevice, creator, clock, refreshes } = await listening(t, makePublicApp);
  const sleep = async (ms: number) => clock.advance(ms);
  const [site, deck, mod] = ['site.json', 'deck.json', 'mod.json'].map((file) => start(file, { sleep }));
  if (!site || !deck || !mod) return assert.fail();
  const { creatorId } = creator;
  await site.callback('session', await decide((await site.authorize('session')).url, 'approve'));
  for (const device of [deck, mod]) {
    const connected = await device.device({ onCode: (code) => decideDevice(code, 'approve') });
    assert.deepEqual(connected, { creatorId, scope: 'profile.read tips.read' });
  }
  await assert.rejects(
    start('no.json', { sleep }).device({ onCode: (code) => decideDevice(code, 'deny') }),
    AccessDenied,
  );
  await assert.rejects(start('no.json', { sleep }).device({ onCode: () => {} }), DeviceCodeExpired);

  clock.advance(3_600_000);
  for (const each of [site, deck, mod]) assert.equal((await each.as(creatorId).me()).id, creatorId);
  assert.equal(refreshes.length, 3);
  await deck.disconnect(creatorId);
  await assert.rejects(deck.as(creatorId).me(), ReauthorizationRequired);
  for (const each of [site, mod]) assert.equal((await each.as(creatorId).me()).id, creatorId, 'the others stay');
});
