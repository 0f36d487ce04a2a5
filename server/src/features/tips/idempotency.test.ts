import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { until } from '../../../../sdk/test/until.ts';
import { send } from '../../../test/api-cases.ts';
import { buildApp, onNodes, type TestApp } from '../../../test/build-app.ts';
import { makePair, type Pair } from '../../../test/factories.ts';
import { waitingSessions } from '../../../test/postgres.ts';

const good = { amount: 100, name: 'SOMCHAI' };

const post = (app: TestApp, pair: Pair, key: string, body: object = good) =>
  send(app, pair, { method: 'POST', url: '/v1/tips', body, headers: { 'idempotency-key': key } });

const recorded = async ({ runtime }: TestApp, { creatorId }: Pair) => {
  const head = await runtime.events.head(creatorId);
  return [head?.sequence, head?.tip_count, head?.total_minor];
};

test('ten requests at once with one key record one tip and get the same answer; an eleventh gets 429', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  const answers = await Promise.all(Array.from({ length: 10 }, () => post(app, pair, 'key')));
  assert.deepEqual(
    answers.map(({ statusCode }) => statusCode),
    Array(10).fill(201),
  );
  assert.equal(new Set(answers.map(({ body }) => body)).size, 1);
  assert.equal(answers.filter(({ headers }) => headers['idempotency-replayed'] === 'true').length, 9);
  assert.equal(new Set(answers.map(({ headers }) => headers.location)).size, 1);
  assert.equal((await post(app, pair, 'key')).statusCode, 429);
  assert.deepEqual(await recorded(app, pair), [1, 1, 10_000]);
});

test('a hundred at once below the limiter record one tip', async (t) => {
  const app = await buildApp(t);
  const { creatorId, clientId } = await makePair(app.runtime);
  const input = {
    creatorId,
    app: { id: clientId, name: 'App' },
    ...good,
    displayName: null,
    message: null,
    idempotencyKey: 'key',
  };
  const results = await Promise.all(Array.from({ length: 100 }, () => app.runtime.tips.record(input)));
  assert.equal(results.filter(({ replayed }) => !replayed).length, 1);
  assert.equal(new Set(results.map(({ tip }) => JSON.stringify(tip))).size, 1);
  assert.equal((await app.runtime.events.head(creatorId))?.sequence, 1);
});

test('a key with another request is refused, and what is equal after parsing is the same request', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  const first = await post(app, pair, 'key', { amount: 100, name: 'SOMCHAI', message: null, extra: 1 });
  assert.equal(first.statusCode, 201);
  const again = await send(app, pair, {
    method: 'POST',
    url: '/v1/tips',
    raw: '{ "name": "SOMCHAI", "amount": 1e2 }',
    headers: { 'idempotency-key': 'key' },
  });
  assert.equal(again.headers['idempotency-replayed'], 'true');
  assert.equal(again.body, first.body);
  for (const other of [{ amount: 100.01 }, { name: 'SOMCHAI2' }, { message: '' }, { display_name: 'x' }]) {
    const answer = await post(app, pair, 'key', { ...good, ...other });
    assert.equal(answer.statusCode, 422);
    assert.equal(answer.json().error.code, 'idempotency_key_reused');
  }
  assert.deepEqual(await recorded(app, pair), [1, 1, 10_000]);
});

test('keys belong to an app and a creator, keep no refused answer, and live for 24 hours', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  const otherApp = await makePair(app.runtime, { creator: pair });
  assert.equal((await post(app, pair, 'key', { ...good, amount: 0 })).statusCode, 422);
  assert.equal((await post(app, pair, 'key')).headers['idempotency-replayed'], undefined);
  assert.equal((await post(app, otherApp, 'key')).headers['idempotency-replayed'], undefined);
  assert.deepEqual(await recorded(app, pair), [2, 2, 20_000]);

  const { creatorId, clientId } = pair;
  const input = {
    creatorId,
    app: { id: clientId, name: 'App' },
    ...good,
    displayName: null,
    message: null,
    idempotencyKey: 'key',
  };
  app.clock.advance(24 * 3_600_000 - 1);
  assert.equal((await app.runtime.tips.record(input)).replayed, true);
  app.clock.advance(1);
  assert.equal((await app.runtime.tips.record(input)).replayed, false);
  assert.equal((await app.runtime.tips.record(input)).replayed, true);
  await app.runtime.tips.pruneKeys();
  assert.equal((await app.runtime.tips.record(input)).replayed, true, 'a live key is not pruned');
  app.clock.advance(24 * 3_600_000);
  await app.runtime.tips.pruneKeys();
  assert.deepEqual(await app.runtime.db.all('SELECT key FROM idempotency_keys'), []);
});

test('a key that is used again while old keys are deleted is kept', { skip: !onNodes }, async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  assert.equal((await post(app, pair, 'key')).statusCode, 201);
  app.clock.advance(86_400_001);
  const other = new pg.Client({ connectionString: String(app.env.DATABASE_URL) });
  // Its database is dropped after the test.
  other.on('error', () => {});
  await other.connect();
  // As a request does that uses the key again.
  await other.query('BEGIN');
  await other.query('UPDATE idempotency_keys SET created_at = $1', [app.clock()]);
  const pruned = app.runtime.tips.pruneKeys();
  await until('the deletion waits for the key', async () => (await waitingSessions(other)).length > 0);
  await other.query('COMMIT');
  await pruned;
  await other.end();
  assert.equal((await app.runtime.db.all('SELECT key FROM idempotency_keys')).length, 1);
});
