import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { buildApp, type TestApp } from '../../../../test/build-app.ts';
import { callMe, connect, parties, refresh, tokensOf } from '../../../../test/oauth.ts';

const hour = 3_600_000;
const kidOf = (token: string) => decodeProtectedHeader(token).kid;
const keySet = async (app: TestApp): Promise<JSONWebKeySet> =>
  (await app.http.inject({ url: '/.well-known/jwks.json' })).json();
const kids = async (app: TestApp) => (await keySet(app)).keys.map(({ kid }) => kid);

test('security 22: after a rotation old tokens verify to their end, and a retired key leaves once they have ended', async (t) => {
  const app = await buildApp(t, { ACCESS_TOKEN_SECONDS: '86400' });
  const { creator, client } = await parties(app);
  const { keys } = app.runtime;
  const before = await connect(app, creator, client);
  app.clock.advance(hour);
  const kid = await keys.rotate();
  assert.deepEqual((await kids(app)).sort(), [kid, kidOf(before.access_token)].sort());
  // Announced, so that whoever keeps the set for a while knows the key before its first token.
  const meanwhile = tokensOf(await refresh(app.http, client, before.refresh_token));
  assert.equal(kidOf(meanwhile.access_token), kidOf(before.access_token));
  app.clock.advance(30_000);
  const after = tokensOf(await refresh(app.http, client, meanwhile.refresh_token));
  assert.equal(kidOf(after.access_token), kid);
  for (const { access_token } of [before, meanwhile, after]) {
    assert.equal((await callMe(app.http, access_token)).statusCode, 200);
    await jwtVerify(access_token, createLocalJWKSet(await keySet(app)), { currentDate: new Date(app.clock()) });
  }
  app.clock.advance(24 * hour - 30_001);
  await keys.prune();
  assert.equal((await callMe(app.http, meanwhile.access_token)).statusCode, 200);
  app.clock.advance(hour + 30_002);
  await keys.prune();
  assert.deepEqual(await kids(app), [kid]);
  app.clock.advance(1000 * hour);
  await keys.prune();
  assert.deepEqual(await kids(app), [kid], 'the key that signs is never removed');
  const last = tokensOf(await refresh(app.http, client, after.refresh_token));
  assert.equal((await callMe(app.http, last.access_token)).statusCode, 200);
});

test('security 22: the key set has no private part, and every site may read it', async (t) => {
  const app = await buildApp(t);
  assert.equal((await kids(app)).length, 1);
  await app.runtime.keys.rotate();
  const answer = await app.http.inject({ url: '/.well-known/jwks.json' });
  assert.equal(answer.headers['access-control-allow-origin'], '*');
  assert.equal(answer.json().keys.length, 2);
  for (const key of answer.json().keys) {
    assert.deepEqual(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
    assert.deepEqual([key.kty, key.crv, key.alg, key.use], ['EC', 'P-256', 'ES256', 'sig']);
  }
});

test('security 22: `namjai keys rotate` in another process breaks no live token, and takes effect here', async (t) => {
  const app = await buildApp(t);
  app.clock.set(Date.now());
  const { creator, client } = await parties(app);
  const before = await connect(app, creator, client);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(import.meta.dirname, '../../../../bin/namjai.js'), 'keys', 'rotate', '--json'],
    { env: { ...process.env, ...app.env } },
  );
  const { kid } = JSON.parse(stdout);
  assert.equal((await callMe(app.http, before.access_token)).statusCode, 200);
  assert.ok((await kids(app)).includes(kid));
  // The other process has the real clock; this one is told to be past the announcement.
  app.clock.set(Date.now() + 60_000);
  const after = tokensOf(await refresh(app.http, client, before.refresh_token));
  assert.equal(kidOf(after.access_token), kid);
  assert.equal((await callMe(app.http, after.access_token)).statusCode, 200);
});

test('those who ask at once for the very first key get the same one', async (t) => {
  const app = await buildApp(t);
  const asked = await Promise.all(Array.from({ length: 10 }, () => app.runtime.keys.signing()));
  assert.deepEqual([...new Set(asked.map(({ kid }) => kid))], await kids(app));
});

test('those who find the keys old at once read them once', async (t) => {
  const app = await buildApp(t);
  const { keys, db } = app.runtime;
  await keys.signing();
  await keys.rotate();
  const all = t.mock.method(db, 'all');
  await Promise.all(Array.from({ length: 10 }, () => keys.verifying()));
  assert.equal(all.mock.callCount(), 1);
});

test('access tokens are those of RFC 9068', async (t) => {
  const app = await buildApp(t, { BASE_URL: 'http://localhost:8080', AUTH_URL: 'http://127.0.0.1:8080' });
  const { creator, client } = await parties(app);
  const { access_token } = await connect(app, creator, client, 'tips.read profile.read');
  const { payload, protectedHeader } = await jwtVerify(access_token, createLocalJWKSet(await keySet(app)), {
    currentDate: new Date(app.clock()),
  });
  assert.deepEqual([protectedHeader.typ, protectedHeader.alg], ['at+jwt', 'ES256']);
  const { jti, grant_id, family_id, iat, exp, ...rest } = payload;
  assert.deepEqual(rest, {
    iss: 'http://127.0.0.1:8080',
    aud: 'http://localhost:8080',
    sub: creator.creatorId,
    client_id: client.clientId,
    scope: 'profile.read tips.read',
  });
  assert.match(`${grant_id} ${family_id}`, /^grt_[0-9a-z]{26} fam_[0-9a-z]{26}$/);
  assert.ok(typeof jti === 'string' && jti.length > 20);
  assert.equal(Number(exp) - Number(iat), 3600);
});

test('the metadata of RFC 8414 names every endpoint on its own host', async (t) => {
  const app = await buildApp(t, { BASE_URL: 'http://localhost:8080', AUTH_URL: 'http://127.0.0.1:8081' });
  const answer = await app.http.inject({ url: '/.well-known/oauth-authorization-server' });
  assert.equal(answer.headers['access-control-allow-origin'], '*');
  const methods = ['client_secret_basic', 'client_secret_post'];
  const { namjai_cli_client_id, ...metadata } = answer.json();
  assert.match(namjai_cli_client_id, /^app_[0-9a-z]{26}$/);
  assert.deepEqual(metadata, {
    issuer: 'http://127.0.0.1:8081',
    authorization_endpoint: 'http://127.0.0.1:8081/oauth/authorize',
    token_endpoint: 'http://localhost:8080/v1/oauth/token',
    device_authorization_endpoint: 'http://localhost:8080/v1/oauth/device_authorization',
    revocation_endpoint: 'http://localhost:8080/v1/oauth/revoke',
    introspection_endpoint: 'http://localhost:8080/v1/oauth/introspect',
    jwks_uri: 'http://127.0.0.1:8081/.well-known/jwks.json',
    service_documentation: 'http://127.0.0.1:8081/docs',
    scopes_supported: ['profile.read', 'tips.read', 'tips.create', 'alerts.create', 'events.subscribe'],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    token_endpoint_auth_methods_supported: [...methods, 'none'],
    revocation_endpoint_auth_methods_supported: [...methods, 'none'],
    introspection_endpoint_auth_methods_supported: methods,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    ui_locales_supported: ['en', 'th'],
  });
});
