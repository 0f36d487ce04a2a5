import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { buildApp, type TestApp } from '../../../../test/build-app.ts';
import {
  assertRefused,
  callMe,
  connect,
  introspect,
  parties,
  refresh,
  type TokenSet,
  tokensOf,
} from '../../../../test/oauth.ts';

const hour = 3_600_000;

async function connected(t: TestContext) {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const first = await connect(app, creator, client);
  const send = (token: string, key?: string, more: object = {}, http = app.http) =>
    refresh(http, client, token, more, key === undefined ? {} : { 'idempotency-key': key });
  const lives = async ({ refresh_token }: TokenSet) =>
    (await introspect(app.http, client, refresh_token)).json().active as boolean;
  return { ...app, app, creator, client, first, send, lives };
}

async function assertFamily({ http }: Pick<TestApp, 'http'>, { access_token }: TokenSet, status: 200 | 403) {
  assert.equal((await callMe(http, access_token)).statusCode, status);
}

test('the same refresh with the same key gets a new pair in place of the one that was lost', async (t) => {
  const { app, clock, first, send, lives } = await connected(t);
  const lost = tokensOf(await send(first.refresh_token, 'key'));
  clock.advance(hour / 2);
  const found = tokensOf(await send(first.refresh_token, 'key'));
  assert.notEqual(found.refresh_token, lost.refresh_token);
  assert.deepEqual([await lives(lost), await lives(found)], [false, true]);
  for (const tokens of [first, lost, found]) await assertFamily(app, tokens, 200);
  // Lost once more; then the pair is used, and its own refresh can be repeated too.
  const again = tokensOf(await send(first.refresh_token, 'key'));
  tokensOf(await send(again.refresh_token, 'another'));
  const last = tokensOf(await send(again.refresh_token, 'another'));
  await assertFamily(app, last, 200);
  assert.deepEqual(await Promise.all([lost, found, again, last].map(lives)), [false, false, false, true]);
});

test('it can be repeated for 24 hours; later it is a reuse', async (t) => {
  for (const [after, status] of [
    [24 * hour, 200],
    [24 * hour + 1, 400],
  ] as const) {
    const { clock, first, send, lives } = await connected(t);
    const lost = tokensOf(await send(first.refresh_token, 'key'));
    clock.advance(after);
    assert.equal((await send(first.refresh_token, 'key')).statusCode, status);
    assert.equal(await lives(lost), false);
  }
});

test('security 56: another key, no key, and a key of another token are a reuse, which ends the family', async (t) => {
  const { app, clock, creator, client, send } = await connected(t);
  const other = await connect(app, creator, client);
  tokensOf(await send(other.refresh_token, 'of-another'));
  for (const key of ['wrong', undefined, 'of-another', 'KEY', 'keykey']) {
    const first = await connect(app, creator, client);
    const second = tokensOf(await send(first.refresh_token, 'key'));
    // Two requests at once are refused without ending the family, as without keys.
    assertRefused(await send(first.refresh_token, key), 400, 'invalid_grant');
    await assertFamily(app, second, 200);
    clock.advance(10_001);
    assertRefused(await send(first.refresh_token, key), 400, 'invalid_grant');
    await assertFamily(app, second, 403);
    assertRefused(await send(first.refresh_token, 'key'), 400, 'invalid_grant');
    assertRefused(await send(second.refresh_token), 400, 'invalid_grant');
  }
  await assertFamily(app, other, 200);
});

test('security 56: a refresh that had no key cannot be repeated with one', async (t) => {
  const { app, clock, first, send } = await connected(t);
  tokensOf(await send(first.refresh_token));
  clock.advance(10_001);
  assertRefused(await send(first.refresh_token, 'key'), 400, 'invalid_grant');
  await assertFamily(app, first, 403);
});

test('security 56: a repeat after the successor was used ends the family', async (t) => {
  const { app, first, send } = await connected(t);
  const second = tokensOf(await send(first.refresh_token, 'key'));
  const third = tokensOf(await send(second.refresh_token, 'key'));
  assertRefused(await send(first.refresh_token, 'key'), 400, 'invalid_grant');
  await assertFamily(app, third, 403);
  assertRefused(await send(third.refresh_token, 'key'), 400, 'invalid_grant');
});

test('a replaced pair is dead at once; shown later than a race could, it ends the family', async (t) => {
  const { app, clock, first, send, lives } = await connected(t);
  const lost = tokensOf(await send(first.refresh_token, 'key'));
  const found = tokensOf(await send(first.refresh_token, 'key'));
  assertRefused(await send(lost.refresh_token, 'key'), 400, 'invalid_grant');
  assert.equal(await lives(found), true);
  clock.advance(10_001);
  assertRefused(await send(lost.refresh_token, 'key'), 400, 'invalid_grant');
  await assertFamily(app, found, 403);
});

test('security 56: fifty repeats at once, on one server and on two: one living successor', async (t) => {
  const { app, creator, client, send, lives } = await connected(t);
  const other = await buildApp(t, app.env);
  for (const servers of [[app.http], [app.http, other.http]]) {
    const first = await connect(app, creator, client);
    const lost = tokensOf(await send(first.refresh_token, 'key'));
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => send(first.refresh_token, 'key', {}, servers[i % servers.length])),
    );
    const pairs = answers.map(tokensOf);
    const living = (await Promise.all(pairs.map(lives))).filter(Boolean).length;
    assert.deepEqual([living, await lives(lost)], [1, false]);
    for (const pair of [lost, ...pairs]) await assertFamily(app, pair, 200);
    const refreshed = await Promise.all(pairs.map(({ refresh_token }) => send(refresh_token)));
    assert.equal(refreshed.filter(({ statusCode }) => statusCode === 200).length, 1);
  }
});

test('security 56: repeats beside uses of the pair: never two living successors, and no 5xx', async (t) => {
  const { app, creator, client, send, lives } = await connected(t);
  const other = await buildApp(t, app.env);
  for (let round = 0; round < 10; round++) {
    const first = await connect(app, creator, client);
    const second = tokensOf(await send(first.refresh_token, 'key'));
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        send(i % 3 ? first.refresh_token : second.refresh_token, 'key', {}, i % 2 ? app.http : other.http),
      ),
    );
    for (const { statusCode } of answers) assert.ok([200, 400].includes(statusCode), String(statusCode));
    const pairs = answers.filter(({ statusCode }) => statusCode === 200).map(tokensOf);
    assert.ok((await Promise.all(pairs.map(lives))).filter(Boolean).length <= 1);
  }
});

test('a repeat that is refused for another reason uses nothing up', async (t) => {
  const { app, clock, creator, first, send, lives } = await connected(t);
  const lost = tokensOf(await send(first.refresh_token, 'key'));
  clock.advance(hour / 2);
  assertRefused(await send(first.refresh_token, 'key', { scope: 'more' }), 400, 'invalid_scope');
  await app.runtime.grants.suspend('creator', creator.creatorId, clock());
  assertRefused(await send(first.refresh_token, 'key'), 400, 'invalid_grant');
  await app.runtime.grants.suspend('creator', creator.creatorId, null);
  assert.equal(await lives(lost), true);
  const narrow = tokensOf(await send(first.refresh_token, 'key', { scope: 'tips.read' }));
  assert.equal(narrow.scope, 'tips.read');
  assert.equal(await lives(lost), false);
});

test('a key of another form is invalid_request and uses nothing up', async (t) => {
  const { first, send } = await connected(t);
  for (const key of ['', 'two words', 'x'.repeat(256), 'ก'])
    assertRefused(await send(first.refresh_token, key), 400, 'invalid_request');
  tokensOf(await send(first.refresh_token, 'x'.repeat(255)));
});

test('replaced tokens are deleted like rotated ones', async (t) => {
  const { app, clock, first, send } = await connected(t);
  const { db, grants } = app.runtime;
  const count = async () => (await db.all('SELECT hash FROM refresh_tokens')).length;
  for (let i = 0; i < 20; i++) tokensOf(await send(first.refresh_token, 'key'));
  const last = tokensOf(await send(first.refresh_token, 'key'));
  assert.equal(await count(), 22);
  clock.advance(31 * 24 * hour);
  await grants.pruneTokens();
  assert.equal(await count(), 1);
  tokensOf(await send(last.refresh_token));
});

test('a family with many replaced tokens is deleted whole', async (t) => {
  const { app, clock, creator, client, first, send } = await connected(t);
  const { db, grants } = app.runtime;
  for (let i = 0; i < 5; i++) tokensOf(await send(first.refresh_token, 'key'));
  await grants.revoke(creator.creatorId, client.clientId, 'creator');
  clock.advance(31 * 24 * hour);
  await grants.pruneEnded();
  assert.deepEqual(await db.all('SELECT hash FROM refresh_tokens'), []);
});
