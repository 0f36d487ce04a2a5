import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp, type TestApp } from '../../../../test/build-app.ts';
import { makeApp, makeCreator } from '../../../../test/factories.ts';
import {
  assertRefused,
  type Client,
  callMe,
  connect,
  parties,
  refresh,
  type TokenSet,
  tokensOf,
} from '../../../../test/oauth.ts';
import { makeSandboxPair } from '../../../../test/sandbox-pair.ts';

const hour = 3_600_000;
const most = 6000;

const tokenRows = async ({ runtime }: TestApp): Promise<number> =>
  Number((await runtime.db.get<{ n: number }>('SELECT count(*) AS n FROM refresh_tokens'))?.n);

/** Refreshes one after another. Each third one is repeated with its key, which leaves a row like any other. */
async function rotate({ http }: TestApp, client: Client, first: TokenSet, times: number): Promise<TokenSet> {
  let newest = first;
  for (let done = 0; done < times; ) {
    const old = newest.refresh_token;
    for (let again = done % 3 === 0 ? 2 : 1; again > 0 && done < times; again -= 1, done += 1)
      newest = tokensOf(await refresh(http, client, old, {}, { 'idempotency-key': old }));
  }
  return newest;
}

/** As if so many refreshes had been let through just now. */
async function spend({ runtime }: TestApp, key: string, times: number, windowMs = hour): Promise<void> {
  assert.equal((await runtime.limiter.take(`refresh:${key}`, { limit: most, windowMs }, times)).allowed, true);
}

test(`of one app and creator ${most} refreshes an hour succeed, over all families and repeats; then 429 uses nothing up`, async (t) => {
  const app = await buildApp(t);
  const { http, clock } = app;
  const { creator, client } = await parties(app);
  const families = await Promise.all(Array.from({ length: 10 }, () => connect(app, creator, client)));
  const others = [
    { client, tokens: await connect(app, await makeCreator(app.runtime), client) },
    await makeApp(app.runtime).then(async (other) => ({ client: other, tokens: await connect(app, creator, other) })),
  ];
  const before = await tokenRows(app);
  const last = 300;
  await spend(app, `${client.clientId}:${creator.creatorId}`, most - last);
  const newest = await Promise.all(families.map((first) => rotate(app, client, first, last / 10)));
  assert.equal(await tokenRows(app), before + last);

  clock.advance(60_000);
  for (const { refresh_token } of newest) {
    const over = await refresh(http, client, refresh_token);
    assertRefused(over, 429, 'too_many_requests');
    assert.equal(over.headers['retry-after'], '3540');
  }
  assert.equal(await tokenRows(app), before + last, 'what is refused leaves nothing');
  for (const other of others) tokensOf(await refresh(http, other.client, other.tokens.refresh_token));

  // The limit hides no theft.
  assertRefused(await refresh(http, client, families[0]!.refresh_token), 400, 'invalid_grant');
  assert.equal((await callMe(http, newest[0]!.access_token)).statusCode, 403);
  assert.equal((await callMe(http, newest[1]!.access_token)).statusCode, 200);

  clock.advance(hour - 60_000);
  tokensOf(await refresh(http, client, newest[1]!.refresh_token));
});

test('refreshes that would fail for another reason are not counted', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const { refresh_token } = await connect(app, creator, client);
  await spend(app, `${client.clientId}:${creator.creatorId}`, most - 1);
  const thief = await makeApp(app.runtime);
  assertRefused(await refresh(app.http, client, refresh_token, { scope: 'no.such' }), 400, 'invalid_scope');
  assertRefused(await refresh(app.http, thief, refresh_token), 400, 'invalid_grant');
  assertRefused(await refresh(app.http, { ...client, clientSecret: 'njs_x' }, refresh_token), 401, 'invalid_client');
  const next = tokensOf(await refresh(app.http, client, refresh_token));
  assertRefused(await refresh(app.http, client, refresh_token), 400, 'invalid_grant');
  assertRefused(await refresh(app.http, client, next.refresh_token), 429, 'too_many_requests');
});

test('where access tokens live for a minute, the limit is of a minute', async (t) => {
  const app = await buildApp(t, { ACCESS_TOKEN_SECONDS: '60' });
  const { creator, client } = await parties(app);
  const { refresh_token } = await connect(app, creator, client);
  await spend(app, `${client.clientId}:${creator.creatorId}`, most, 60_000);
  const over = await refresh(app.http, client, refresh_token);
  assertRefused(over, 429, 'too_many_requests');
  assert.equal(over.headers['retry-after'], '60');
  app.clock.advance(60_000);
  tokensOf(await refresh(app.http, client, refresh_token));
});

test('a developer’s own account and sandbox creators count as one, whatever the app; other creators count apart', async (t) => {
  const app = await buildApp(t);
  const { runtime, http } = app;
  const pair = await makeSandboxPair(runtime);
  const { developerId } = pair;
  const second = await makeApp(runtime, undefined, developerId);
  const creator = await runtime.sandbox.create(developerId, 'Another');
  const tokens = await runtime.sandbox.connect(developerId, creator.id, second.clientId, ['tips.read']);
  const own = await connect(app, { creatorId: developerId, username: '' }, second);
  await spend(app, developerId, most - 1);
  const next = tokensOf(await refresh(http, pair, pair.refreshToken));
  assertRefused(await refresh(http, second, tokens!.refresh_token), 429, 'too_many_requests');
  assertRefused(await refresh(http, pair, next.refresh_token), 429, 'too_many_requests');

  assertRefused(await refresh(http, second, own.refresh_token), 429, 'too_many_requests');

  const visitor = await connect(app, await makeCreator(runtime), second);
  tokensOf(await refresh(http, second, visitor.refresh_token));
  const foreign = await makeApp(runtime);
  const connected = await connect(app, { creatorId: developerId, username: '' }, foreign);
  tokensOf(await refresh(http, foreign, connected.refresh_token));
  const stranger = await makeSandboxPair(runtime);
  tokensOf(await refresh(http, stranger, stranger.refreshToken));
});

test('for whom a token of a refresh counts is known without a read, and theft is found all the same', async (t) => {
  const app = await buildApp(t);
  const { runtime, http, clock } = app;
  const { creator, client } = await parties(app);
  const first = tokensOf(await refresh(http, client, (await connect(app, creator, client)).refresh_token));
  const { mock } = t.mock.method(runtime.db, 'get');
  const second = tokensOf(await refresh(http, client, first.refresh_token));
  const reads = mock.calls.filter(({ arguments: [sql] }) => JSON.stringify(sql).includes('FROM refresh_tokens'));
  assert.equal(reads.length, 0);

  assertRefused(await refresh(http, await makeApp(runtime), second.refresh_token), 400, 'invalid_grant');
  const third = tokensOf(await refresh(http, client, second.refresh_token));
  await spend(app, `${client.clientId}:${creator.creatorId}`, most - 3);
  for (let again = 0; again < 2; again++)
    assertRefused(await refresh(http, client, third.refresh_token), 429, 'too_many_requests');
  assertRefused(await refresh(http, client, first.refresh_token), 400, 'invalid_grant');
  clock.advance(hour);
  assertRefused(await refresh(http, client, third.refresh_token), 400, 'invalid_grant');
});
