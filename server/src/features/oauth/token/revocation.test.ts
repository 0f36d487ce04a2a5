import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../../sdk/test/until.ts';
import { buildApp, type TestApp } from '../../../../test/build-app.ts';
import { makeApp } from '../../../../test/factories.ts';
import {
  approve,
  assertRefused,
  type Client,
  callMe,
  connect,
  exchange,
  introspect,
  parties,
  post,
  refresh,
  revoke,
  type TokenSet,
  tokensOf,
} from '../../../../test/oauth.ts';
import { accessTopic } from '../grants/service.ts';

async function assertNothingWorks(app: TestApp, client: Client, issued: readonly TokenSet[], codes: string[] = []) {
  for (const { access_token, refresh_token } of issued) {
    assert.equal((await callMe(app.http, access_token)).statusCode, 403);
    assertRefused(await refresh(app.http, client, refresh_token), 400, 'invalid_grant');
    for (const token of [access_token, refresh_token])
      assert.deepEqual((await introspect(app.http, client, token)).json(), { active: false });
  }
  for (const code of codes) assertRefused(await exchange(app.http, client, code), 400, 'invalid_grant');
}

test('security 17: revoking ends every family and unexchanged code; approving again revives nothing', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const issued = [await connect(app, creator, client), await connect(app, creator, client)];
  issued.push(tokensOf(await refresh(app.http, client, issued[0]!.refresh_token)));
  const code = await approve(app.runtime, creator, client);
  const other = await connect(app, creator, await makeApp(app.runtime));
  assert.equal(await app.runtime.grants.revoke(creator.creatorId, client.clientId, 'creator'), true);
  await assertNothingWorks(app, client, issued, [code]);
  const anew = await connect(app, creator, client);
  await assertNothingWorks(app, client, issued, [code]);
  for (const { access_token } of [anew, other]) assert.equal((await callMe(app.http, access_token)).statusCode, 200);
});

test('security 17: refresh and revocation racing, 200 rounds in both orders: afterwards nothing issued works', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const { grants } = app.runtime;
  let refreshed = 0;
  for (let round = 0; round < 200; round++) {
    const first = await connect(app, creator, client);
    const code = await approve(app.runtime, creator, client);
    const both = [
      () => refresh(app.http, client, first.refresh_token),
      () => exchange(app.http, client, code),
      () => grants.revoke(creator.creatorId, client.clientId, 'creator').then(() => undefined),
    ];
    if (round % 2) both.reverse();
    // Turns of the event loop in between, so that every interleaving of their steps has its round.
    const answers = await Promise.all(
      both.map(async (start, place) => {
        for (let turn = 0; turn < ((round >> 1) % 8) * place; turn++) await new Promise((next) => setImmediate(next));
        return start();
      }),
    );
    const issued = answers.filter((answer) => answer?.statusCode === 200).map((answer) => tokensOf(answer!));
    refreshed += issued.length;
    for (const { access_token, refresh_token } of [first, ...issued]) {
      assert.equal((await callMe(app.http, access_token)).statusCode, 403);
      assertRefused(await refresh(app.http, client, refresh_token), 400, 'invalid_grant');
    }
    assertRefused(await exchange(app.http, client, code), 400, 'invalid_grant');
  }
  assert.ok(refreshed > 20 && refreshed < 380, `the race was won by both sides (${refreshed} of 400 issued)`);
});

test('any token of the app ends its whole grant: access, refresh, rotated, expired', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const pick: [name: string, choose: (first: TokenSet, second: TokenSet) => string, wait: number][] = [
    ['access', (_, second) => second.access_token, 0],
    ['refresh', (_, second) => second.refresh_token, 0],
    ['rotated', (first) => first.refresh_token, 60_000],
    ['expired access', (first) => first.access_token, 3_700_000],
    ['expired refresh', (_, second) => second.refresh_token, 91 * 86_400_000],
  ];
  for (const [name, choose, wait] of pick) {
    const first = await connect(app, creator, client);
    const second = tokensOf(await refresh(app.http, client, first.refresh_token));
    app.clock.advance(wait);
    const elsewhere = await connect(app, creator, client);
    const answer = await revoke(app.http, client, choose(first, second));
    assert.deepEqual([answer.statusCode, answer.body], [200, '{}'], name);
    assert.equal((await callMe(app.http, elsewhere.access_token)).statusCode, 403, name);
    assertRefused(await refresh(app.http, client, elsewhere.refresh_token), 400, 'invalid_grant');
    // Again: still 200. And a token of the ended grant does not end the next one.
    const next = await connect(app, creator, client);
    assert.equal((await revoke(app.http, client, choose(first, second))).statusCode, 200);
    assert.equal((await callMe(app.http, next.access_token)).statusCode, 200, name);
    await app.runtime.grants.revoke(creator.creatorId, client.clientId, 'creator');
  }
});

test('security 41: dead tokens and codes, shown again and again, neither write nor disturb the creator’s other apps', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  let hints = 0;
  // Redis carries the hints of other tests too, and each of ours a little later.
  app.runtime.hub.subscribe(accessTopic, (creatorId) => {
    if (creatorId === creator.creatorId) hints += 1;
  });
  const code = await approve(app.runtime, creator, client);
  const { access_token, refresh_token } = tokensOf(await exchange(app.http, client, code));
  await until('the hint of the grant', () => hints === 1);
  app.clock.advance(10_001);
  assertRefused(await exchange(app.http, client, code), 400, 'invalid_grant');
  await until('the hint of the reuse', () => hints === 2);
  await app.runtime.grants.revoke(creator.creatorId, client.clientId, 'creator');
  await until('the hint of the end', () => hints === 3);
  const write = t.mock.method(app.runtime.db, 'write');
  for (const token of [access_token, refresh_token])
    assert.equal((await revoke(app.http, client, token)).statusCode, 200);
  assert.equal(write.mock.callCount(), 0);
  assertRefused(await exchange(app.http, client, code), 400, 'invalid_grant');
  assert.equal(await app.runtime.grants.revoke(creator.creatorId, client.clientId, 'creator'), false);
  await connect(app, creator, client);
  await until('the hint of the next grant', () => hints > 3);
  assert.equal(hints, 4);
});

test('revoking an unknown token or another app’s is 200 and changes nothing', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const tokens = await connect(app, creator, client);
  const stranger = await makeApp(app.runtime);
  const forged = `${tokens.access_token.slice(0, -4)}AAAA`;
  for (const token of [tokens.access_token, tokens.refresh_token, 'njr_unknown', 'x'.repeat(9000)])
    assert.equal((await revoke(app.http, stranger, token)).statusCode, 200);
  for (const token of [forged, 'njr_unknown']) assert.equal((await revoke(app.http, client, token)).statusCode, 200);
  assert.equal((await callMe(app.http, tokens.access_token)).statusCode, 200);
  tokensOf(await refresh(app.http, client, tokens.refresh_token));
});

test('introspection tells an app what its own live token may do, and of any other only that it is not active', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const tokens = await connect(app, creator, client, 'profile.read tips.read');
  const seconds = app.clock() / 1000;
  const common = {
    active: true,
    scope: 'profile.read tips.read',
    client_id: client.clientId,
    username: creator.username,
    iat: seconds,
    sub: creator.creatorId,
    iss: app.runtime.config.authUrl,
  };
  assert.deepEqual((await introspect(app.http, client, tokens.access_token)).json(), {
    ...common,
    token_type: 'Bearer',
    exp: seconds + 3600,
    aud: app.runtime.config.baseUrl,
  });
  assert.deepEqual((await introspect(app.http, client, tokens.refresh_token)).json(), {
    ...common,
    exp: seconds + 90 * 86_400,
  });
  const stranger = await makeApp(app.runtime);
  for (const token of [tokens.access_token, tokens.refresh_token])
    assert.deepEqual((await introspect(app.http, stranger, token)).json(), { active: false });
  // What the creator takes away is gone from both at once.
  await approve(app.runtime, creator, client, { scope: 'tips.read' });
  for (const token of [tokens.access_token, tokens.refresh_token])
    assert.equal((await introspect(app.http, client, token)).json().scope, 'tips.read');
  app.clock.advance(3_600_000);
  assert.deepEqual((await introspect(app.http, client, tokens.access_token)).json(), { active: false });
  const next = tokensOf(await refresh(app.http, client, tokens.refresh_token));
  assert.deepEqual((await introspect(app.http, client, tokens.refresh_token)).json(), { active: false });
  assert.equal((await introspect(app.http, client, next.refresh_token)).json().active, true);
});

test('revocation and introspection take forms and Basic, want a token, and refuse a wrong secret', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const { access_token } = await connect(app, creator, client);
  const login = { client_id: client.clientId, client_secret: client.clientSecret };
  for (const url of ['/v1/oauth/introspect', '/v1/oauth/revoke']) {
    assertRefused(await post(app.http, url, login), 400, 'invalid_request');
    assertRefused(await post(app.http, url, { ...login, token: [access_token] }), 400, 'invalid_request');
    assertRefused(await post(app.http, url, { token: access_token }), 400, 'invalid_request');
    const wrong = await post(app.http, url, { ...login, client_secret: 'njs_wrong', token: access_token });
    assertRefused(wrong, 401, 'invalid_client');
    assertRefused(await post(app.http, `${url}?token=x`, { ...login, token: 'x' }), 400, 'invalid_request');
    const answer = await app.http.inject({
      method: 'POST',
      url,
      payload: new URLSearchParams({ token: access_token, token_type_hint: 'refresh_token' }).toString(),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64')}`,
      },
    });
    assert.equal(answer.statusCode, 200, answer.body);
  }
  assert.equal((await callMe(app.http, access_token)).statusCode, 403);
});

test('what hung on a grant is swept a month after its end; the living is left alone', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const { db, grants } = app.runtime;
  const old = await connect(app, creator, client);
  const next = tokensOf(await refresh(app.http, client, old.refresh_token));
  tokensOf(await refresh(app.http, client, next.refresh_token));
  const beside = await connect(app, creator, client);
  tokensOf(await refresh(app.http, client, beside.refresh_token));
  await approve(app.runtime, creator, client);
  await grants.revoke(creator.creatorId, client.clientId, 'creator');
  app.clock.advance(31 * 86_400_000);
  const live = await connect(app, creator, client);
  tokensOf(await refresh(app.http, client, live.refresh_token));
  const unused = await approve(app.runtime, creator, client);
  await grants.pruneEnded();
  await grants.pruneCodes();
  const count = async (table: string) => (await db.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))?.n;
  assert.deepEqual(
    [await count('families'), await count('refresh_tokens'), await count('authorization_codes')],
    [1, 2, 2],
  );
  assertRefused(await refresh(app.http, client, old.refresh_token), 400, 'invalid_grant');
  assert.equal((await callMe(app.http, live.access_token)).statusCode, 200);
  app.clock.advance(2 * 86_400_000);
  await grants.pruneCodes();
  assert.equal(await count('authorization_codes'), 1, 'the used code of a live family stays');
  assertRefused(await exchange(app.http, client, unused), 400, 'invalid_grant');
});
