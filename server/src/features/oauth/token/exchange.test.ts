import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../../test/build-app.ts';
import { makeApp, makeCreator } from '../../../../test/factories.ts';
import {
  approve,
  assertRefused,
  callMe,
  challengeOf,
  connect,
  exchange,
  introspect,
  parties,
  refresh,
  tokensOf,
  verifier,
} from '../../../../test/oauth.ts';

test('security 11: a code works at 299 seconds and not at 301', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const [early, late] = [await approve(app.runtime, creator, client), await approve(app.runtime, creator, client)];
  app.clock.advance(299_000);
  tokensOf(await exchange(app.http, client, early));
  app.clock.advance(2000);
  assertRefused(await exchange(app.http, client, late), 400, 'invalid_grant');
});

test('security 11: another redirect_uri, or another app, is invalid_grant and the code stays good', async (t) => {
  const app = await buildApp(t);
  const { creator } = await parties(app);
  const { apps } = app.runtime;
  const client = await apps.add({
    name: 'Two addresses',
    redirectUris: ['https://app.example/callback', 'https://app.example/other'],
    ownerId: null,
  });
  const stranger = await makeApp(app.runtime);
  const code = await approve(app.runtime, creator, client);
  for (const redirect_uri of [
    'https://app.example/other',
    'https://app.example/callback/',
    'https://APP.example/callback',
  ])
    assertRefused(await exchange(app.http, client, code, { redirect_uri }), 400, 'invalid_grant');
  assertRefused(await exchange(app.http, stranger, code), 400, 'invalid_grant');
  app.clock.advance(60_000);
  assertRefused(await exchange(app.http, stranger, code), 400, 'invalid_grant');
  const tokens = tokensOf(await exchange(app.http, client, code));
  // Another app that shows a used code ends nothing.
  app.clock.advance(60_000);
  assertRefused(await exchange(app.http, stranger, code), 400, 'invalid_grant');
  assert.equal((await callMe(app.http, tokens.access_token)).statusCode, 200);
});

test('security 12: PKCE: a wrong, short or missing verifier, or one without a challenge, is 400', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const bound = await approve(app.runtime, creator, client, { codeChallenge: challengeOf(verifier) });
  const cases: [verifier: string | undefined, error: string][] = [
    [`${verifier}x`, 'invalid_grant'],
    [undefined, 'invalid_grant'],
    ['', 'invalid_grant'],
    [challengeOf(verifier), 'invalid_grant'],
    [verifier.slice(1), 'invalid_request'],
    ['x'.repeat(129), 'invalid_request'],
    [`${verifier} `, 'invalid_request'],
  ];
  for (const [code_verifier, error] of cases)
    assertRefused(await exchange(app.http, client, bound, { code_verifier }), 400, error);
  tokensOf(await exchange(app.http, client, bound, { code_verifier: verifier }));
  // A challenge that was sent as the verifier itself (plain) does not count.
  const plain = await approve(app.runtime, creator, client, { codeChallenge: verifier });
  assertRefused(await exchange(app.http, client, plain, { code_verifier: verifier }), 400, 'invalid_grant');
  const free = await approve(app.runtime, creator, client);
  assertRefused(await exchange(app.http, client, free, { code_verifier: verifier }), 400, 'invalid_grant');
  tokensOf(await exchange(app.http, client, free));
});

test('security 13: fifty exchanges of one code at once: one 200, and what it issued works', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const code = await approve(app.runtime, creator, client);
  const answers = await Promise.all(Array.from({ length: 50 }, () => exchange(app.http, client, code)));
  const won = answers.filter(({ statusCode }) => statusCode === 200);
  assert.equal(won.length, 1);
  for (const answer of answers) if (answer !== won[0]) assertRefused(answer, 400, 'invalid_grant');
  const tokens = tokensOf(won[0]!);
  assert.equal((await callMe(app.http, tokens.access_token)).statusCode, 200);
  tokensOf(await refresh(app.http, client, tokens.refresh_token));
});

test('security 14: a used code again is 400; after more than ten seconds what it issued is dead too', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const elsewhere = await connect(app, creator, client);
  const code = await approve(app.runtime, creator, client);
  const tokens = tokensOf(await exchange(app.http, client, code));
  app.clock.advance(10_000);
  assertRefused(await exchange(app.http, client, code), 400, 'invalid_grant');
  assert.equal((await callMe(app.http, tokens.access_token)).statusCode, 200);
  app.clock.advance(1);
  assertRefused(await exchange(app.http, client, code), 400, 'invalid_grant');
  const dead = await callMe(app.http, tokens.access_token);
  assert.deepEqual([dead.statusCode, dead.json().error.code], [403, 'grant_unusable']);
  assertRefused(await refresh(app.http, client, tokens.refresh_token), 400, 'invalid_grant');
  // The grant's other family goes on.
  assert.equal((await callMe(app.http, elsewhere.access_token)).statusCode, 200);
});

test('with REFRESH_RACE_SECONDS=0 the second use of a code ends its family at once', async (t) => {
  const app = await buildApp(t, { REFRESH_RACE_SECONDS: '0' });
  const { creator, client } = await parties(app);
  const code = await approve(app.runtime, creator, client);
  const tokens = tokensOf(await exchange(app.http, client, code));
  assertRefused(await exchange(app.http, client, code), 400, 'invalid_grant');
  assert.equal((await callMe(app.http, tokens.access_token)).statusCode, 403);
});

test('a code says what was approved; scopes lost since are lost to it too', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const none = tokensOf(await exchange(app.http, client, await approve(app.runtime, creator, client, { scope: '' })));
  assert.equal(none.scope, '');
  assert.equal((await callMe(app.http, none.access_token)).statusCode, 200);
  const code = await approve(app.runtime, creator, client, { scope: 'tips.read profile.read' });
  await approve(app.runtime, creator, client, { scope: 'tips.read tips.create' });
  assert.equal(tokensOf(await exchange(app.http, client, code)).scope, 'tips.read');
});

test('a suspended creator’s code is refused without being used up', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const { grants } = app.runtime;
  const code = await approve(app.runtime, creator, client);
  const suspend = (at: number | null) => grants.suspend('creator', creator.creatorId, at);
  await suspend(app.clock());
  assertRefused(await exchange(app.http, client, code), 400, 'invalid_grant');
  await suspend(null);
  tokensOf(await exchange(app.http, client, code));
});

test('a code is no token: it can be neither refreshed, introspected nor called with', async (t) => {
  const app = await buildApp(t);
  const client = await makeApp(app.runtime);
  const code = await approve(app.runtime, await makeCreator(app.runtime), client);
  assertRefused(await refresh(app.http, client, code), 400, 'invalid_grant');
  assert.deepEqual((await introspect(app.http, client, code)).json(), { active: false });
  assert.equal((await callMe(app.http, code)).statusCode, 401);
});
