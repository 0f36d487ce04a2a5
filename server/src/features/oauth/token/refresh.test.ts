import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp, type TestApp } from '../../../../test/build-app.ts';
import { makeApp } from '../../../../test/factories.ts';
import {
  approve,
  assertRefused,
  callMe,
  connect,
  everything,
  exchange,
  introspect,
  parties,
  refresh,
  tokensOf,
} from '../../../../test/oauth.ts';
import { signedInVisitor } from '../../../../test/visitor.ts';

const day = 86_400_000;

async function connected(t: Parameters<typeof buildApp>[0], env: Record<string, string> = {}) {
  const app = await buildApp(t, env);
  const { creator, client } = await parties(app);
  return { ...app, app, creator, client, first: await connect(app, creator, client) };
}

async function assertDead({ http }: Pick<TestApp, 'http'>, accessToken: string): Promise<void> {
  const answer = await callMe(http, accessToken);
  assert.deepEqual([answer.statusCode, answer.json().error.code], [403, 'grant_unusable']);
}

test('each refresh answers new tokens; the access token before stays valid to its end', async (t) => {
  const { http, clock, client, first } = await connected(t);
  const second = tokensOf(await refresh(http, client, first.refresh_token));
  assert.notEqual(second.refresh_token, first.refresh_token);
  assert.equal(second.scope, everything);
  for (const { access_token } of [first, second]) assert.equal((await callMe(http, access_token)).statusCode, 200);
  clock.advance(3_600_000);
  assert.equal((await callMe(http, first.access_token)).json().error.code, 'token_expired');
});

test('security 13: fifty refreshes of one token at once: one 200, and the winner’s token works', async (t) => {
  const { http, client, first } = await connected(t);
  const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(http, client, first.refresh_token)));
  const won = answers.filter(({ statusCode }) => statusCode === 200);
  assert.equal(won.length, 1);
  for (const answer of answers) if (answer !== won[0]) assertRefused(answer, 400, 'invalid_grant');
  const tokens = tokensOf(won[0]!);
  assert.equal((await callMe(http, tokens.access_token)).statusCode, 200);
  tokensOf(await refresh(http, client, tokens.refresh_token));
});

test('security 13: the same across two servers on one database', async (t) => {
  const { http, client, first, creator, app } = await connected(t);
  const other = await buildApp(t, app.env);
  const code = await approve(app.runtime, creator, client);
  for (const attempt of [
    (at: TestApp['http']) => refresh(at, client, first.refresh_token),
    (at: TestApp['http']) => exchange(at, client, code),
  ]) {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => attempt(i % 2 ? http : other.http)));
    const statuses = answers.map(({ statusCode }) => statusCode).sort();
    assert.deepEqual(statuses, [200, ...Array.from({ length: 49 }, () => 400)]);
    const tokens = tokensOf(answers.find(({ statusCode }) => statusCode === 200)!);
    assert.equal((await callMe(http, tokens.access_token)).statusCode, 200);
    assert.equal((await callMe(other.http, tokens.access_token)).statusCode, 200);
    tokensOf(await refresh(other.http, client, tokens.refresh_token));
  }
});

test('security 15: RT1, RT2, RT3, then RT1 again: all of the family is dead', async (t) => {
  const { http, app, creator, client, first } = await connected(t);
  const elsewhere = await connect(app, creator, client);
  const second = tokensOf(await refresh(http, client, first.refresh_token));
  const third = tokensOf(await refresh(http, client, second.refresh_token));
  assertRefused(await refresh(http, client, first.refresh_token), 400, 'invalid_grant');
  assertRefused(await refresh(http, client, third.refresh_token), 400, 'invalid_grant');
  for (const { access_token } of [first, second, third]) await assertDead(app, access_token);
  // Only this family: another sign-in of the same app goes on.
  assert.equal((await callMe(http, elsewhere.access_token)).statusCode, 200);
  tokensOf(await refresh(http, client, elsewhere.refresh_token));
});

test('what ends a family by reuse is a row of the audit log, once, which the creator sees', async (t) => {
  const { http, app, clock, creator, client, first } = await connected(t);
  const { runtime } = app;
  const rows = () => runtime.audit.list({ action: 'grant.reuse_detected' }, { limit: 100 });
  const code = await approve(runtime, creator, client);
  tokensOf(await exchange(http, client, code));
  tokensOf(await refresh(http, client, first.refresh_token));
  // Within the race window nothing has ended.
  assertRefused(await exchange(http, client, code), 400, 'invalid_grant');
  assertRefused(await refresh(http, client, first.refresh_token), 400, 'invalid_grant');
  assert.deepEqual(await rows(), []);
  clock.advance(10_001);
  for (const [count, reuse] of [
    () => exchange(http, client, code),
    () => refresh(http, client, first.refresh_token),
  ].entries()) {
    for (const answer of await Promise.all(Array.from({ length: 20 }, reuse)))
      assertRefused(answer, 400, 'invalid_grant');
    assertRefused(await reuse(), 400, 'invalid_grant');
    assert.equal((await rows()).length, count + 1);
  }
  for (const { actor, creator_id, client_id } of await rows())
    assert.deepEqual([actor, creator_id, client_id], [client.clientId, creator.creatorId, client.clientId]);
  const visitor = await signedInVisitor(app, creator.creatorId);
  assert.match((await visitor.get('/account/activity')).body, /A used code or refresh token of an app came back/);
  assert.match((await visitor.get('/account/activity?lang=th')).body, /refresh token ของแอปที่ใช้ไปแล้วมาใช้ซ้ำ/);
});

test('the immediate predecessor is forgiven within the race window, while its successor is unused', async (t) => {
  const { http, app, clock, client, first } = await connected(t);
  const second = tokensOf(await refresh(http, client, first.refresh_token));
  clock.advance(10_000);
  assertRefused(await refresh(http, client, first.refresh_token), 400, 'invalid_grant');
  const third = tokensOf(await refresh(http, client, second.refresh_token));
  // Second was rotated just now and its successor is unused: forgiven. First no longer is.
  assertRefused(await refresh(http, client, second.refresh_token), 400, 'invalid_grant');
  assert.equal((await callMe(http, third.access_token)).statusCode, 200);
  assertRefused(await refresh(http, client, first.refresh_token), 400, 'invalid_grant');
  await assertDead(app, third.access_token);
});

test('later than the race window the predecessor ends the family', async (t) => {
  const { http, app, clock, client, first } = await connected(t);
  const second = tokensOf(await refresh(http, client, first.refresh_token));
  clock.advance(10_001);
  assertRefused(await refresh(http, client, first.refresh_token), 400, 'invalid_grant');
  await assertDead(app, second.access_token);
  assertRefused(await refresh(http, client, second.refresh_token), 400, 'invalid_grant');
});

test('with REFRESH_RACE_SECONDS=0 nothing is forgiven', async (t) => {
  const { http, app, client, first } = await connected(t, { REFRESH_RACE_SECONDS: '0' });
  const second = tokensOf(await refresh(http, client, first.refresh_token));
  assertRefused(await refresh(http, client, first.refresh_token), 400, 'invalid_grant');
  await assertDead(app, second.access_token);
});

test('security 16: more scopes are invalid_scope and use nothing up; fewer hold for one access token', async (t) => {
  const { http, app, creator, client } = await connected(t);
  const tokens = await connect(app, creator, client, 'profile.read tips.read');
  for (const scope of ['tips.create', 'tips.read tips.create', 'tips', 'TIPS.READ', 'tips.read,profile.read'])
    assertRefused(await refresh(http, client, tokens.refresh_token, { scope }), 400, 'invalid_scope');
  const narrow = tokensOf(await refresh(http, client, tokens.refresh_token, { scope: 'tips.read' }));
  assert.equal(narrow.scope, 'tips.read');
  const headers = { authorization: `Bearer ${narrow.access_token}` };
  assert.equal((await http.inject({ url: '/v1/tips', headers })).statusCode, 200);
  assert.equal((await http.inject({ url: '/v1/profile', headers })).statusCode, 403);
  const full = tokensOf(await refresh(http, client, narrow.refresh_token));
  assert.equal(full.scope, 'profile.read tips.read');
});

test('a refresh yields what its family was approved for and the grant still has: never more', async (t) => {
  const { http, app, creator, client } = await connected(t);
  const tokens = await connect(app, creator, client, 'profile.read tips.read');
  await approve(app.runtime, creator, client, { scope: 'tips.read alerts.create' });
  const less = tokensOf(await refresh(http, client, tokens.refresh_token));
  assert.equal(less.scope, 'tips.read');
  assertRefused(await refresh(http, client, less.refresh_token, { scope: 'alerts.create' }), 400, 'invalid_scope');
  await approve(app.runtime, creator, client, { scope: everything });
  assert.equal(tokensOf(await refresh(http, client, less.refresh_token)).scope, 'profile.read tips.read');
});

test('a refresh token unused for 90 days ends; used in time it lives on, for a year at most', async (t) => {
  const { http, app, clock, creator, client, first } = await connected(t);
  const idle = await connect(app, creator, client);
  let { refresh_token } = first;
  for (let passed = 0; passed + 89 < 365; passed += 89) {
    clock.advance(89 * day);
    ({ refresh_token } = tokensOf(await refresh(http, client, refresh_token)));
  }
  assertRefused(await refresh(http, client, idle.refresh_token), 400, 'invalid_grant');
  clock.advance(9 * day - 1);
  assert.equal((await introspect(http, client, refresh_token)).json().active, true);
  clock.advance(1);
  assertRefused(await refresh(http, client, refresh_token), 400, 'invalid_grant');
  assert.deepEqual((await introspect(http, client, refresh_token)).json(), { active: false });
});

test('another app’s refresh token is invalid_grant and stays good for its owner', async (t) => {
  const { http, app, client, first } = await connected(t);
  const stranger = await makeApp(app.runtime);
  assertRefused(await refresh(http, stranger, first.refresh_token), 400, 'invalid_grant');
  const second = tokensOf(await refresh(http, client, first.refresh_token));
  app.clock.advance(60_000);
  // A used one in a stranger's hands ends nothing either: he could not have used it anyway.
  assertRefused(await refresh(http, stranger, first.refresh_token), 400, 'invalid_grant');
  tokensOf(await refresh(http, client, second.refresh_token));
});

test('suspension refuses without using anything up: creator 400, app 401; restoring revives', async (t) => {
  const { http, app, clock, creator, client, first } = await connected(t);
  const { grants } = app.runtime;
  const pause = {
    creator: (at: number | null) => grants.suspend('creator', creator.creatorId, at),
    app: (at: number | null) => grants.suspend('app', client.clientId, at),
  };
  let tokens = first;
  for (const [who, status, error] of [
    ['creator', 400, 'invalid_grant'],
    ['app', 401, 'invalid_client'],
  ] as const) {
    await pause[who](clock());
    assertRefused(await refresh(http, client, tokens.refresh_token), status, error);
    await assertDead(app, tokens.access_token);
    clock.advance(60_000);
    await pause[who](null);
    assert.equal((await callMe(http, tokens.access_token)).statusCode, 200);
    tokens = tokensOf(await refresh(http, client, tokens.refresh_token));
  }
});
