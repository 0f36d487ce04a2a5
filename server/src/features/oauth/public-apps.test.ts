import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { basic, makeApp, makeCreator, makePublicApp } from '../../../test/factories.ts';
import {
  approve,
  assertRefused,
  type Client,
  callMe,
  challengeOf,
  exchange,
  introspect,
  type Party,
  post,
  redirectUri,
  refresh,
  revoke,
  type TokenSet,
  tokensOf,
  verifier,
} from '../../../test/oauth.ts';
import { signedInVisitor } from '../../../test/visitor.ts';

const day = 86_400_000;
const withChallenge = { codeChallenge: challengeOf(verifier) };
const withVerifier = { code_verifier: verifier };

async function setup(t: TestContext) {
  const app = await buildApp(t);
  const creator = await makeCreator(app.runtime);
  const client = await makePublicApp(app.runtime);
  return { ...app, app, creator, client };
}

/** One more device of the creator. */
async function connectDevice(app: TestApp, creator: Party, client: Client, scope: string): Promise<TokenSet> {
  const code = await approve(app.runtime, creator, client, { scope, ...withChallenge });
  return tokensOf(await exchange(app.http, client, code, withVerifier));
}

async function grantScope({ runtime }: TestApp, { creatorId }: Party): Promise<string | undefined> {
  return (await runtime.grants.connections(creatorId))[0]?.scope;
}

test('a public app exchanges, refreshes and revokes by its client_id alone', async (t) => {
  const { app, http, creator, client } = await setup(t);
  const first = await connectDevice(app, creator, client, 'tips.read');
  const second = tokensOf(await refresh(http, client, first.refresh_token));
  assert.equal((await callMe(http, second.access_token)).statusCode, 200);
  assert.equal((await revoke(http, client, second.refresh_token)).statusCode, 200);
  assert.equal((await callMe(http, second.access_token)).statusCode, 403);
});

test('security 48: with a secret it is refused, and its code stays good', async (t) => {
  const { runtime, http, creator, client } = await setup(t);
  const code = await approve(runtime, creator, client, withChallenge);
  const wrong = { ...client, clientSecret: 'njs_anything' };
  assertRefused(await exchange(http, wrong, code, withVerifier), 401, 'invalid_client');
  const body = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, ...withVerifier };
  assertRefused(await post(http, '/v1/oauth/token', body, basic(wrong)), 401, 'invalid_client');
  assertRefused(await exchange(http, client, code), 400, 'invalid_grant');
  // HTTP Basic with an empty secret is no secret.
  tokensOf(await post(http, '/v1/oauth/token', body, basic(client)));
});

test('security 48: an app with a secret is not let in without one', async (t) => {
  const { runtime, http, creator } = await setup(t);
  const confidential = await makeApp(runtime);
  const code = await approve(runtime, creator, confidential);
  const bare = { ...confidential, clientSecret: '' };
  assertRefused(await exchange(http, bare, code), 400, 'invalid_request');
  const body = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
  assertRefused(await post(http, '/v1/oauth/token', body, basic(bare)), 401, 'invalid_client');
  assertRefused(await revoke(http, bare, 'x'), 400, 'invalid_request');
  tokensOf(await exchange(http, confidential, code));
});

test('security 48: without code_challenge, or with plain, the authorization page refuses', async (t) => {
  const { app, creator, client } = await setup(t);
  const visitor = await signedInVisitor(app, creator.creatorId);
  const open = async (more: Record<string, string>) => {
    const query = { client_id: client.clientId, redirect_uri: redirectUri, state: 's', scope: 'tips.read', ...more };
    return visitor.get(`/oauth/authorize?${new URLSearchParams(query)}`);
  };
  for (const more of [
    {},
    { code_challenge: verifier, code_challenge_method: 'plain' },
    { code_challenge: challengeOf(verifier) },
    { code_challenge_method: 'S256' },
  ]) {
    const location = String((await open(more)).headers.location);
    assert.ok(location.startsWith(`${redirectUri}?`), location);
    assert.equal(new URL(location).searchParams.get('error'), 'invalid_request');
  }
  const shown = await open({ code_challenge: challengeOf(verifier), code_challenge_method: 'S256' });
  assert.equal(shown.statusCode, 200);
  assert.match(shown.body, /cannot prove/);
  // Redirects are compared as for all apps, and loopback ones are no exception.
  const elsewhere = await open({ redirect_uri: `${redirectUri}/` });
  assert.deepEqual([elsewhere.statusCode, elsewhere.headers.location], [400, undefined]);
});

test('security 48: it can neither use webhooks nor introspect', async (t) => {
  const { app, http, creator, client } = await setup(t);
  const { access_token: token } = await connectDevice(app, creator, client, 'tips.read events.subscribe');
  for (const clientSecret of ['', 'njs_anything']) {
    const answer = await http.inject({ url: '/v1/webhooks', headers: basic({ ...client, clientSecret }) });
    assert.equal(answer.statusCode, 401);
  }
  assertRefused(await introspect(http, client, token), 401, 'invalid_client');
  assertRefused(await post(http, '/v1/oauth/introspect', { token }, basic(client)), 401, 'invalid_client');
});

test('security 48: approving, narrowing or revoking one device leaves the other as it was', async (t) => {
  const { app, http, creator, client } = await setup(t);
  const one = await connectDevice(app, creator, client, 'tips.read alerts.create');
  assert.equal(await grantScope(app, creator), 'tips.read alerts.create');
  const code = await approve(app.runtime, creator, client, { scope: 'profile.read', ...withChallenge });
  assert.equal(await grantScope(app, creator), 'tips.read alerts.create', 'approving touches only the new family');
  const two = tokensOf(await exchange(http, client, code, withVerifier));
  assert.equal(two.scope, 'profile.read');
  assert.equal(await grantScope(app, creator), 'profile.read tips.read alerts.create');

  const reads = async ({ access_token }: TokenSet) =>
    Promise.all(
      ['/v1/tips', '/v1/profile'].map(
        async (url) => (await http.inject({ url, headers: { authorization: `Bearer ${access_token}` } })).statusCode,
      ),
    );
  assert.deepEqual(
    [await reads(one), await reads(two)],
    [
      [200, 403],
      [403, 200],
    ],
  );
  const next = tokensOf(await refresh(http, client, one.refresh_token));
  assert.equal(next.scope, 'tips.read alerts.create');
  assertRefused(await refresh(http, client, next.refresh_token, { scope: 'profile.read' }), 400, 'invalid_scope');

  await revoke(http, client, one.refresh_token);
  assert.equal((await callMe(http, next.access_token)).statusCode, 403);
  assert.deepEqual(await reads(two), [403, 200]);
  assert.equal(await grantScope(app, creator), 'profile.read');
  tokensOf(await refresh(http, client, two.refresh_token));
});

test('the last device that disconnects ends the grant, unless another one is about to connect', async (t) => {
  const { app, http, creator, client } = await setup(t);
  const one = await connectDevice(app, creator, client, 'tips.read');
  const code = await approve(app.runtime, creator, client, { scope: 'tips.read', ...withChallenge });
  await revoke(http, client, one.access_token);
  const two = tokensOf(await exchange(http, client, code, withVerifier));
  assert.equal((await callMe(http, two.access_token)).statusCode, 200);
  await revoke(http, client, two.refresh_token);
  assert.deepEqual(await app.runtime.grants.connections(creator.creatorId), []);
  // An old token ends nothing of a new grant.
  const three = await connectDevice(app, creator, client, 'tips.read');
  await revoke(http, client, two.refresh_token);
  assert.equal((await callMe(http, three.access_token)).statusCode, 200);
});

test('the creator disconnects all devices at once', async (t) => {
  const { app, http, creator, client } = await setup(t);
  const devices = [
    await connectDevice(app, creator, client, 'tips.read'),
    await connectDevice(app, creator, client, 'profile.read'),
  ];
  await app.runtime.grants.revoke(creator.creatorId, client.clientId, 'creator');
  for (const { access_token, refresh_token } of devices) {
    assert.equal((await callMe(http, access_token)).statusCode, 403);
    assertRefused(await refresh(http, client, refresh_token), 400, 'invalid_grant');
  }
});

test('a reuse ends the family of one device, and its scopes leave the grant', async (t) => {
  const { app, http, clock, creator, client } = await setup(t);
  const one = await connectDevice(app, creator, client, 'tips.read');
  const two = await connectDevice(app, creator, client, 'profile.read');
  tokensOf(await refresh(http, client, one.refresh_token));
  clock.advance(60_000);
  assertRefused(await refresh(http, client, one.refresh_token), 400, 'invalid_grant');
  assert.equal((await callMe(http, one.access_token)).statusCode, 403);
  assert.equal((await callMe(http, two.access_token)).statusCode, 200);
  assert.equal(await grantScope(app, creator), 'profile.read');
});

test('devices that connect and disconnect at once, on two servers: the scopes are those of all that live', async (t) => {
  const { app, http, creator, client } = await setup(t);
  const other = await buildApp(t, app.env);
  const names = ['profile.read', 'tips.read', 'tips.create', 'alerts.create', 'events.subscribe'];
  const codes: string[] = [];
  for (const scope of names) codes.push(await approve(app.runtime, creator, client, { scope, ...withChallenge }));
  const at = (i: number) => (i % 2 ? http : other.http);
  const answers = await Promise.all(codes.map((code, i) => exchange(at(i), client, code, withVerifier)));
  const devices = answers.map(tokensOf);
  assert.equal(await grantScope(app, creator), names.join(' '));
  await Promise.all(devices.slice(1).map(({ refresh_token }, i) => revoke(at(i), client, refresh_token)));
  assert.equal(await grantScope(app, creator), 'profile.read');
  await Promise.all([0, 1].map((i) => revoke(at(i), client, devices[0]?.refresh_token ?? '')));
  assert.equal(await grantScope(app, creator), undefined);
});

test('a device that is unused for 30 days has to connect again', async (t) => {
  const { app, http, clock, creator, client } = await setup(t);
  const idle = await connectDevice(app, creator, client, 'tips.read');
  let { refresh_token } = await connectDevice(app, creator, client, 'profile.read');
  clock.advance(30 * day - 1);
  ({ refresh_token } = tokensOf(await refresh(http, client, refresh_token)));
  clock.advance(1);
  assertRefused(await refresh(http, client, idle.refresh_token), 400, 'invalid_grant');
  // Once it is forgotten, its scopes are too.
  for (let i = 0; i < 2; i++) {
    clock.advance(29 * day);
    ({ refresh_token } = tokensOf(await refresh(http, client, refresh_token)));
  }
  clock.advance(3 * day);
  await app.runtime.grants.pruneTokens();
  assert.equal(await grantScope(app, creator), 'profile.read');
  tokensOf(await refresh(http, client, refresh_token));
});

test('the hundred-and-first device of an app ends the first', async (t) => {
  const { app, http, clock, creator, client } = await setup(t);
  const { grants } = app.runtime;
  const add = (scope: string) => {
    clock.advance(1);
    return grants.addByOperator(creator.creatorId, client.clientId, scope);
  };
  const first = await add('tips.create');
  const second = await add('tips.read');
  for (let i = 0; i < 98; i++) await add('');
  assert.equal((await callMe(http, first.access_token)).statusCode, 200);
  await add('');
  assert.equal((await callMe(http, first.access_token)).statusCode, 403);
  assert.equal((await callMe(http, second.access_token)).statusCode, 200);
  assert.equal(await grantScope(app, creator), 'tips.read');
});

test('the command line’s own app is made once, is public, and stands in the metadata', async (t) => {
  const app = await buildApp(t);
  const other = await buildApp(t, app.env);
  const allMetadata = await Promise.all(
    [app, other, app, other].map(async ({ http }) =>
      (await http.inject('/.well-known/oauth-authorization-server')).json(),
    ),
  );
  const ids = new Set(allMetadata.map((metadata) => metadata.namjai_cli_client_id));
  assert.equal(ids.size, 1);
  const [id = ''] = ids;
  const row = await app.runtime.apps.byId(id);
  assert.deepEqual([row.public, row.owner_id, row.redirect_uris], [1, null, '[]']);
  assert.equal((await app.runtime.db.all('SELECT id FROM apps')).length, 1);
  assert.ok(allMetadata[0].token_endpoint_auth_methods_supported.includes('none'));
});

test('whatever a stranger shows in the name of a public app is refused without a write', async (t) => {
  const { app, http, runtime, creator, client } = await setup(t);
  const ended = await connectDevice(app, creator, client, 'tips.read');
  await revoke(http, client, ended.refresh_token);
  const live = await connectDevice(app, creator, client, 'tips.read');
  const used = await approve(runtime, creator, client, withChallenge);
  tokensOf(await exchange(http, client, used, withVerifier));
  app.clock.advance(10_001);
  assertRefused(await exchange(http, client, used, withVerifier), 400, 'invalid_grant');
  const code = await approve(runtime, creator, client, withChallenge);
  const { write } = runtime.db;
  let written = 0;
  Object.assign(runtime.db, {
    write: (...args: Parameters<typeof write>) => {
      written += 1;
      return write.apply(runtime.db, args);
    },
  });
  assertRefused(await refresh(http, client, `njr_${'x'.repeat(53)}`), 400, 'invalid_grant');
  assertRefused(await refresh(http, client, ended.refresh_token), 400, 'invalid_grant');
  assertRefused(await refresh(http, client, live.refresh_token, { scope: 'tips.create' }), 400, 'invalid_scope');
  assertRefused(await exchange(http, client, `njc_${'x'.repeat(43)}`, withVerifier), 400, 'invalid_grant');
  assertRefused(await exchange(http, client, code, { code_verifier: 'x'.repeat(43) }), 400, 'invalid_grant');
  assertRefused(await exchange(http, client, used, withVerifier), 400, 'invalid_grant');
  assert.equal((await revoke(http, client, ended.refresh_token)).statusCode, 200);
  Object.assign(runtime.db, { write });
  assert.equal(written, 0);
  tokensOf(await refresh(http, client, live.refresh_token));
  tokensOf(await exchange(http, client, code, withVerifier));
});

test('a used code ends its device only if it comes with its verifier and redirect_uri', async (t) => {
  const { app, http, runtime, creator, client } = await setup(t);
  const code = await approve(runtime, creator, client, withChallenge);
  const { access_token } = tokensOf(await exchange(http, client, code, withVerifier));
  app.clock.advance(10_001);
  for (const wrong of [
    {},
    { code_verifier: 'x'.repeat(43) },
    { ...withVerifier, redirect_uri: 'https://app.example/x' },
  ])
    assertRefused(await exchange(http, client, code, wrong), 400, 'invalid_grant');
  assert.equal((await callMe(http, access_token)).statusCode, 200);
  assertRefused(await exchange(http, client, code, withVerifier), 400, 'invalid_grant');
  assert.equal((await callMe(http, access_token)).statusCode, 403);
});
