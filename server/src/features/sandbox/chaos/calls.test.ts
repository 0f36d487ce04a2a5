import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { rounds } from '../../../../../sdk/test/rounds.ts';
import { until } from '../../../../../sdk/test/until.ts';
import { buildApp, type TestApp } from '../../../../test/build-app.ts';
import { makeApp, makePair } from '../../../../test/factories.ts';
import { makeSandboxPair, type SandboxPair } from '../../../../test/sandbox-pair.ts';
import { execute } from '../../../../test/sql.ts';
import { decide, isAfterCommit, noShares, type Shares } from './decide.ts';
import { runs } from './runs.ts';

async function setup(t: TestContext, shares?: Partial<Shares>, env: Record<string, string> = {}) {
  const app = await buildApp(t, env);
  const pair = await makeSandboxPair(app.runtime);
  if (shares) await app.runtime.chaos.save(pair, 'seed', shares);
  return { app, pair, chaos: app.runtime.chaos };
}

const get = ({ http }: Pick<TestApp, 'http'>, { headers }: Pick<SandboxPair, 'headers'>, url = '/v1/me') =>
  http.inject({ url, headers });

const post = (
  { http }: Pick<TestApp, 'http'>,
  { headers }: Pick<SandboxPair, 'headers'>,
  key?: string,
  name = 'SOMCHAI',
) =>
  http.inject({
    method: 'POST',
    url: '/v1/tips',
    headers: { ...headers, ...(key === undefined ? {} : { 'idempotency-key': key }) },
    payload: { amount: 20, name },
  });

const refresh = ({ http }: Pick<TestApp, 'http'>, pair: SandboxPair) =>
  http.inject({
    method: 'POST',
    url: '/v1/oauth/token',
    payload: {
      grant_type: 'refresh_token',
      refresh_token: pair.refreshToken,
      client_id: pair.clientId,
      client_secret: pair.clientSecret,
    },
  });

const kindOf = ({ headers }: { headers: Record<string, unknown> }): string => String(headers['namjai-chaos'] ?? '');

const expectedKinds = (seed: string, shares: Shares, count: number): string[] =>
  Array.from({ length: count }, (_, index) => decide(seed, shares, 'call', index + 1)?.kind ?? '');

test('without chaos a sandbox creator is answered as any other', async (t) => {
  const { app, pair } = await setup(t);
  const answer = await get(app, pair);
  assert.deepEqual([answer.statusCode, kindOf(answer)], [200, '']);
});

test('rate_limited is a 429 with the headers of a real one, and says so', async (t) => {
  const { app, pair, chaos } = await setup(t, { rate_limited: 1000 });
  const answer = await post(app, pair, 'key');
  assert.equal(answer.statusCode, 429);
  assert.equal(answer.json().error.code, 'rate_limited');
  assert.equal(answer.headers['ratelimit-policy'], '"tips";q=10;w=60');
  const [, seconds] = /^"tips";r=0;t=([1-3])$/.exec(String(answer.headers.ratelimit)) ?? [];
  assert.equal(answer.headers['retry-after'], seconds);
  assert.equal(kindOf(answer), 'rate_limited');
  const [fault] = await chaos.faults(pair, 10);
  assert.deepEqual(
    [fault?.kind, fault?.n, fault?.subject, fault?.key, fault?.request_id],
    ['rate_limited', 1, 'POST /v1/tips', 'key', answer.headers['x-request-id']],
  );
  for (let call = 0; call < 130; call += 1) await get(app, pair);
  assert.doesNotMatch(app.runtime.metrics.requests.text(), /status="429"/, 'nor is it a failure in the metrics');
  await chaos.stop(pair);
  assert.equal((await get(app, pair)).statusCode, 200, 'what chaos refused was not counted by the limiter');
});

test('upstream_failed records nothing in one half, and everything but the answer in the other', async (t) => {
  const shares = { ...noShares, upstream_failed: 1000 };
  const { app, pair, chaos } = await setup(t, shares);
  const { runtime, clock } = app;
  let committed = 0;
  for (let n = 1; n <= 12; n += 1) {
    clock.advance(10_000);
    const answer = await post(app, pair, `key-${n}`, `TIP ${n}`);
    assert.equal(answer.statusCode, 502);
    assert.equal(answer.json().error.code, 'upstream_failed');
    assert.equal(kindOf(answer), 'upstream_failed');
    for (const header of ['location', 'idempotency-replayed']) assert.equal(answer.headers[header], undefined);
    const draw = decide('seed', shares, 'call', n);
    assert.ok(draw);
    if (isAfterCommit(draw)) committed += 1;
    const { all_time } = await runtime.tips.stats(pair.creatorId);
    assert.equal(all_time.count, committed, `call ${n}`);
    const [fault] = await chaos.faults(pair, 1);
    assert.equal(fault?.tip_id !== null, isAfterCommit(draw), 'the list knows the tip whose answer was lost');
  }
  assert.ok(committed > 0 && committed < 12);
  await chaos.stop(pair);
  clock.advance(60_000);
  const replayed = [];
  for (let n = 1; n <= 12; n += 1) {
    clock.advance(10_000);
    const answer = await post(app, pair, `key-${n}`, `TIP ${n}`);
    assert.equal(answer.statusCode, 201);
    if (answer.headers['idempotency-replayed'] === 'true') replayed.push(n);
  }
  assert.equal(replayed.length, committed, 'the same keys find what was recorded');
  assert.equal((await runtime.tips.stats(pair.creatorId)).all_time.count, 12);
});

test('slow answers late and rightly, token_expired as an expired token does', async (t) => {
  const { app, pair, chaos } = await setup(t, { slow: 1000 });
  const before = app.clock();
  const slow = await get(app, pair);
  const waited = app.clock() - before;
  assert.deepEqual([slow.statusCode, kindOf(slow)], [200, 'slow']);
  assert.ok(waited >= 500 && waited <= 3_000, `${waited} ms`);

  await chaos.save(pair, 'seed', { token_expired: 1000 });
  const expired = await get(app, pair);
  await chaos.stop(pair);
  app.clock.advance(3_601_000);
  const real = await get(app, pair);
  assert.deepEqual(
    [expired.statusCode, expired.json().error.code, expired.headers['www-authenticate']],
    [real.statusCode, real.json().error.code, real.headers['www-authenticate']],
  );
  assert.deepEqual([kindOf(expired), kindOf(real)], ['token_expired', '']);
});

test('revoked lasts until it is switched off, uses up no refresh token and leaves the grant as it was', async (t) => {
  const { app, pair, chaos } = await setup(t, { revoked: 1000 });
  const { runtime } = app;
  const grants = () => runtime.db.all('SELECT id, scope, ended_at FROM grants WHERE creator_id = $1', [pair.creatorId]);
  const before = await grants();
  for (let call = 0; call < 3; call += 1) {
    const answer = await get(app, pair);
    assert.deepEqual([answer.statusCode, answer.json().error.code, kindOf(answer)], [403, 'grant_unusable', 'revoked']);
  }
  const refused = await refresh(app, pair);
  assert.deepEqual([refused.statusCode, refused.json().error, kindOf(refused)], [400, 'invalid_grant', 'revoked']);
  assert.deepEqual(await grants(), before);
  // Connected anew, it stays so.
  await runtime.sandbox.disconnect(pair.developerId, pair.creatorId, pair.clientId);
  const again = await runtime.sandbox.connect(pair.developerId, pair.creatorId, pair.clientId, ['profile.read']);
  const anew = { headers: { authorization: `Bearer ${again?.access_token}` } };
  assert.equal((await get(app, anew)).statusCode, 403);
  const paused = await runtime.db.all('SELECT id FROM grants WHERE ended_at IS NULL AND paused_at IS NOT NULL');
  assert.equal(paused.length, 1);
  await chaos.stop(pair);
  assert.equal((await get(app, anew)).statusCode, 200);
});

test('what was revoked by chaos works again when it is switched off', async (t) => {
  const { app, pair, chaos } = await setup(t, { revoked: 1000 });
  assert.equal((await get(app, pair)).statusCode, 403);
  assert.equal((await refresh(app, pair)).statusCode, 400);
  await chaos.stop(pair);
  assert.equal((await get(app, pair)).statusCode, 200);
  assert.equal((await refresh(app, pair)).statusCode, 200, 'the refresh token was not used up');
});

test('a call that its token or scope does not allow is not counted', async (t) => {
  const { app, pair, chaos } = await setup(t, { rate_limited: 1000 });
  const tokens = await app.runtime.sandbox.connect(pair.developerId, pair.creatorId, pair.clientId, ['profile.read']);
  const headers = { authorization: `Bearer ${tokens?.access_token}` };
  assert.equal((await post(app, { headers })).json().error.code, 'insufficient_scope');
  assert.equal((await get(app, { headers: { authorization: 'Bearer x' } })).statusCode, 401);
  assert.equal((await chaos.of(pair))?.calls, 0);
});

test('the same seed gives the same faults over two nodes, and again after saving', async (t) => {
  const { app, pair, chaos } = await setup(t);
  const other = await buildApp(t, app.env);
  const shares = runs.bad_evening;
  const drawn = async (seed: string): Promise<string[]> => {
    await chaos.save(pair, seed, shares);
    const kinds: string[] = [];
    for (let n = 0; n < 60; n += 1) {
      app.clock.advance(1_000);
      other.clock.advance(1_000);
      kinds.push(kindOf(await get(n % 3 === 0 ? other : app, pair)));
    }
    return kinds;
  };
  const first = await drawn('same');
  assert.deepEqual(first, expectedKinds('same', shares, 60));
  assert.deepEqual(await drawn('same'), first, 'saving starts the count anew');
  assert.deepEqual(await drawn('another'), expectedKinds('another', shares, 60));
  assert.equal((await chaos.of(pair))?.calls, 60);
});

test('calls at once are counted one by one', async (t) => {
  const { app, pair, chaos } = await setup(t, runs.limits);
  const answers = await Promise.all(Array.from({ length: 40 }, () => get(app, pair)));
  assert.deepEqual(answers.map(kindOf).sort(), expectedKinds('seed', runs.limits, 40).sort());
  const numbers = (await chaos.faults(pair, 100)).map(({ n }) => n);
  assert.equal(new Set(numbers).size, numbers.length);
});

test(`${rounds(300)} calls for other creators of the same app, and of other apps for it, meet no fault`, async (t) => {
  const faults = { rate_limited: 500, upstream_failed: 250, token_expired: 250 };
  const { app, pair } = await setup(t, faults, { ACCESS_TOKEN_SECONDS: '86400' });
  const { runtime } = app;
  const real = await makePair(runtime, { app: pair });
  const sibling = await runtime.sandbox.create(pair.developerId, 'Sibling');
  const siblingTokens = await runtime.sandbox.connect(pair.developerId, sibling.id, pair.clientId, ['profile.read']);
  const otherApp = await makeApp(runtime, undefined, pair.developerId);
  const otherTokens = await runtime.sandbox.connect(pair.developerId, pair.creatorId, otherApp.clientId, []);
  const others = [
    real.headers,
    ...[siblingTokens, otherTokens].map((tokens) => ({ authorization: `Bearer ${tokens?.access_token}` })),
  ];
  let met = 0;
  for (let call = 0; call < rounds(300); call += 1) {
    app.clock.advance(500);
    const [own, ...beside] = await Promise.all([get(app, pair), ...others.map((headers) => get(app, { headers }))]);
    if (kindOf(own) !== '') met += 1;
    for (const answer of beside) assert.deepEqual([answer.statusCode, kindOf(answer)], [200, '']);
  }
  assert.equal(met, rounds(300));
});

test('a real creator costs chaos no statement', async (t) => {
  const { app, pair } = await setup(t, { rate_limited: 1000 });
  const real = await makePair(app.runtime, { app: pair });
  await execute(app.runtime.db, 'DROP TABLE chaos');
  assert.equal((await get(app, real)).statusCode, 200);
  assert.equal((await get(app, pair)).statusCode, 500, 'the sandbox creator needs it');
});

test('the list of faults is bounded and forgotten after seven days', async (t) => {
  const { app, pair, chaos } = await setup(t, { rate_limited: 1000 });
  await get(app, pair);
  app.clock.advance(7 * 24 * 3_600_000 - 1);
  await chaos.prune();
  assert.equal((await chaos.faults(pair, 10)).length, 1);
  app.clock.advance(2);
  await chaos.prune();
  assert.equal((await chaos.faults(pair, 10)).length, 0);
  await execute(app.runtime.db, 'UPDATE chaos SET faults = 2500');
  for (const number of [400, 501, 502])
    await execute(
      app.runtime.db,
      `INSERT INTO chaos_faults (creator_id, client_id, number, n, kind, at, subject) VALUES ($1, $2, $3, 1, 'slow', $4, '')`,
      [pair.creatorId, pair.clientId, number, app.clock()],
    );
  await chaos.count({ ...pair, channel: 'call', amount: 1, subject: '', requestId: null, key: null });
  assert.deepEqual(
    (await chaos.faults(pair, 10)).map(({ number }) => number),
    [2501, 502],
  );
});

test('the list of failed requests says that it was chaos', async (t) => {
  const { app, pair } = await setup(t, { token_expired: 1000 });
  await get(app, pair);
  const { failures } = app.runtime;
  const codes = async (): Promise<string[]> => {
    await failures.flush();
    const { entries } = await failures.page(pair.clientId, null, 10);
    return entries.flatMap((entry) => ('code' in entry ? [entry.code] : []));
  };
  await until('it is listed', async () => (await codes()).length > 0);
  assert.deepEqual(await codes(), ['token_expired (chaos)']);
});

test('wrong shares and seeds are refused', async (t) => {
  const { pair, chaos } = await setup(t);
  for (const shares of [{ slow: 1001 }, { slow: -1 }, { slow: 0.5 }, { slow: 600, revoked: 401 }])
    await assert.rejects(chaos.save(pair, 'seed', shares), { problem: 'shares' });
  for (const seed of ['', 'x'.repeat(65)]) await assert.rejects(chaos.save(pair, seed, {}), { problem: 'seed' });
});
