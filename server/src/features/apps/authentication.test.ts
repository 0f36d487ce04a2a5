import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertBelow } from '../../../test/assert-below.ts';
import { buildApp } from '../../../test/build-app.ts';
import { makeApp } from '../../../test/factories.ts';
import {
  assertRefused,
  type Client,
  callMe,
  connect,
  introspect,
  parties,
  refresh,
  tokensOf,
} from '../../../test/oauth.ts';
import { execute } from '../../../test/sql.ts';
import { AppError } from './index.ts';

const hour = 3_600_000;

test('security 18: after a rotation both secrets work for 24 hours, then the old one is 401', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const tokens = await connect(app, creator, client);
  const rotated = { ...client, clientSecret: await app.runtime.apps.rotateSecret(client.clientId) };
  assert.match(rotated.clientSecret, /^njs_[A-Za-z0-9]{43}$/);
  const works = async (who: Client) => (await introspect(app.http, who, tokens.refresh_token)).statusCode;
  assert.deepEqual([await works(client), await works(rotated)], [200, 200]);
  app.clock.advance(24 * hour - 1);
  assert.deepEqual([await works(client), await works(rotated)], [200, 200]);
  app.clock.advance(1);
  assertRefused(await refresh(app.http, client, tokens.refresh_token), 401, 'invalid_client');
  tokensOf(await refresh(app.http, rotated, tokens.refresh_token));
});

test('a second rotation ends the secret before the last at once; an unknown app has none', async (t) => {
  const app = await buildApp(t);
  const first = await makeApp(app.runtime);
  const { apps } = app.runtime;
  const second = { ...first, clientSecret: await apps.rotateSecret(first.clientId) };
  const third = { ...first, clientSecret: await apps.rotateSecret(first.clientId) };
  const statuses = await Promise.all([first, second, third].map((who) => introspect(app.http, who, 'x')));
  assert.deepEqual(
    statuses.map(({ statusCode }) => statusCode),
    [401, 200, 200],
  );
  await assert.rejects(apps.rotateSecret(`app_${'0'.repeat(26)}`), AppError);
});

test('security 18: a suspended app gets 401 at the token endpoint and 403 with its tokens', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const tokens = await connect(app, creator, client);
  const { grants } = app.runtime;
  await grants.suspend('app', client.clientId, app.clock());
  assertRefused(await refresh(app.http, client, tokens.refresh_token), 401, 'invalid_client');
  assert.equal((await callMe(app.http, tokens.access_token)).json().error.code, 'grant_unusable');
});

test('a client that has just been accepted, or was unknown, is judged by what other processes change too', async (t) => {
  const app = await buildApp(t);
  const client = await makeApp(app.runtime);
  const works = async (who: Client) => (await introspect(app.http, who, 'x')).statusCode;
  const { apps, grants } = (await buildApp(t, app.env)).runtime;
  assert.equal(await works(client), 200);
  const suspend = (at: number | null) => grants.suspend('app', client.clientId, at);
  await suspend(app.clock());
  assert.equal(await works(client), 401);
  await suspend(null);
  const second = { ...client, clientSecret: await apps.rotateSecret(client.clientId) };
  assert.deepEqual([await works(client), await works(second)], [200, 200]);
  const third = { ...client, clientSecret: await apps.rotateSecret(client.clientId) };
  assert.deepEqual([await works(client), await works(second), await works(third)], [401, 200, 200]);
  const clientId = `app_${'1'.repeat(26)}`;
  assert.equal(await works({ ...client, clientId }), 401);
  await execute(app.runtime.db, 'UPDATE apps SET id = $2 WHERE id = $1', [client.clientId, clientId]);
  assert.deepEqual([await works({ ...third, clientId }), await works(third)], [200, 401]);
});

test('after 20 failures a minute further ones are 429 with Retry-After; a right secret is always accepted', async (t) => {
  const app = await buildApp(t, { TRUST_PROXY: '127.0.0.1' });
  const client = await makeApp(app.runtime);
  const other = await makeApp(app.runtime);
  const wrong = { ...client, clientSecret: 'njs_wrong' };
  for (let i = 0; i < 20; i++) {
    assertRefused(await introspect(app.http, wrong, 'x'), 401, 'invalid_client');
    app.clock.advance(1000);
  }
  const throttled = await introspect(app.http, wrong, 'x');
  assertRefused(throttled, 429, 'too_many_requests');
  assert.equal(throttled.headers['retry-after'], '40');
  assert.equal((await introspect(app.http, client, 'x')).statusCode, 200);
  // Counted for each client and each address.
  assertRefused(await introspect(app.http, { ...other, clientSecret: 'njs_wrong' }, 'x'), 401, 'invalid_client');
  const elsewhere = await app.http.inject({
    method: 'POST',
    url: '/v1/oauth/introspect',
    payload: { client_id: client.clientId, client_secret: 'njs_wrong', token: 'x' },
    headers: { 'x-forwarded-for': '203.0.113.9' },
  });
  assertRefused(elsewhere, 401, 'invalid_client');
  app.clock.advance(40_000);
  assertRefused(await introspect(app.http, wrong, 'x'), 401, 'invalid_client');
});

test('an unknown client is throttled like a known one', async (t) => {
  const app = await buildApp(t);
  const unknown = { clientId: `app_${'0'.repeat(26)}`, clientSecret: 'njs_wrong' };
  for (let i = 0; i < 20; i++) assertRefused(await introspect(app.http, unknown, 'x'), 401, 'invalid_client');
  assertRefused(await introspect(app.http, unknown, 'x'), 429, 'too_many_requests');
});

test('an unknown client and a wrong secret last the same', async (t) => {
  const app = await buildApp(t);
  const client = await makeApp(app.runtime);
  const { authenticate } = app.runtime.apps;
  const timed = async (clientId: string): Promise<number> => {
    const start = performance.now();
    await authenticate({ clientId, clientSecret: 'njs_wrong' }, '192.0.2.1');
    return performance.now() - start;
  };
  // The fastest tenth was not interrupted by what else runs on the machine.
  const fast = (list: number[]) => list.sort((a, b) => a - b)[list.length / 10]!;
  const measure = async (): Promise<number> => {
    // So that each measurement begins without failures that count against the limits.
    app.clock.advance(60_000);
    const [known, unknown]: [number[], number[]] = [[], []];
    for (let i = 0; i < 600; i++) {
      known.push(await timed(client.clientId));
      unknown.push(await timed(`app_${'0'.repeat(26)}`));
    }
    return Math.abs(fast(known) - fast(unknown));
  };
  await assertBelow('ms of difference', 0.05, measure);
});

test('an address that makes up client ids is refused after 600 failures, and a right secret still works', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const tokens = await connect(app, creator, client);
  const madeUp = (n: number) => ({ ...client, clientId: `app_${String(n).padStart(26, '0')}` });
  const introspected = async (who: Client) => (await introspect(app.http, who, tokens.refresh_token)).statusCode;
  for (let n = 0; n < 600; n++) assert.equal(await introspected(madeUp(n)), 401);
  assert.equal(await introspected(madeUp(600)), 429);
  assert.equal(await introspected(client), 200);
  app.clock.advance(60_000);
  assert.equal(await introspected(madeUp(601)), 401);
});
