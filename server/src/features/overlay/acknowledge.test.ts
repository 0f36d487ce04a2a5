import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { execute } from '../../../test/sql.ts';
import { StorageUnavailable } from '../../platform/db/database.ts';

const page = '00000000-0000-4000-8000-000000000001';
const shown = (...sequences: number[]) => sequences.map((sequence) => ({ sequence, outcome: 'shown' }));
const fifty = Array.from({ length: 50 }, (_, i) => i);

async function open(t: TestContext) {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  const key = await app.runtime.overlays.key(pair.creatorId);
  const post = (path: string, payload: object) =>
    app.http.inject({ method: 'POST', url: `/overlay/${key}/${path}`, payload });
  return { app, pair, post, ack: (acks: object[], instance = page) => post('ack', { instance, acks }) };
}

const tip = ({ runtime }: TestApp, { creatorId }: { creatorId: string }) =>
  runtime.tips.record({ creatorId, app: null, amount: 50, name: 'SOMCHAI', displayName: null, message: null });

/** How many writes the function asks for, and how many reads. */
async function countCalls(t: TestContext, { runtime: { db } }: TestApp, run: () => Promise<unknown>) {
  const [write, all, get] = [t.mock.method(db, 'write'), t.mock.method(db, 'all'), t.mock.method(db, 'get')];
  await run();
  const counts = { writes: write.mock.callCount(), reads: all.mock.callCount() + get.mock.callCount() };
  for (const { mock } of [write, all, get]) mock.restore();
  return counts;
}

test('security 38: an overlay’s acknowledgements are counted one by one, not by the request', async (t) => {
  const { app, ack } = await open(t);
  for (let i = 0; i < 48; i++) assert.equal((await ack(shown(...fifty))).statusCode, 204);
  const refused = await ack(shown(1));
  assert.equal(refused.statusCode, 429);
  assert.equal(refused.headers['retry-after'], '60');
  app.clock.advance(60_000);
  assert.equal((await ack(shown(...fifty))).statusCode, 204);
});

test('security 38: an acknowledgement that changes nothing writes nothing', async (t) => {
  const { app, pair, post, ack } = await open(t);
  for (let i = 0; i < 3; i++) await tip(app, pair);
  await app.runtime.overlays.sendTest(pair.creatorId);
  const first = await countCalls(t, app, () => ack(shown(1, 2, 3, 4)));
  assert.equal(first.writes, 1, 'one write for all of them');
  // The events that tell of these four have sequences of their own.
  await ack(shown(8));
  app.clock.advance(1000);
  const useless = {
    duplicates: fifty.map(() => ({ sequence: 2, outcome: 'shown' })),
    'settled alerts': shown(1, 2, 3, 4),
    'a settled test alert': shown(4),
    'other words about settled alerts': [1, 2, 4].map((sequence) => ({ sequence, outcome: 'expired' })),
    'sequences that do not exist': shown(...fifty.map((i) => 1_000 + i), 0, Number.MAX_SAFE_INTEGER).slice(0, 50),
    'events that are no alerts': shown(5, 6, 7, 8),
  };
  for (const [what, acks] of Object.entries(useless)) {
    const { writes, reads } = await countCalls(t, app, () => ack(acks));
    assert.equal(writes, 0, what);
    assert.ok(reads <= 6, `${what}: ${reads} reads`);
  }
  assert.equal((await app.runtime.events.head(pair.creatorId))?.sequence, 8);
  await post('begin', { instance: page });
  app.clock.advance(1);
  const again = await countCalls(t, app, () => post('begin', { instance: page }));
  assert.equal(again.writes, 0, 'a page that begins again, with nothing to expire');
});

test('security 38: fifty alerts are settled by several writes, the position by the last', async (t) => {
  const { app, pair, ack, post } = await open(t);
  for (const _ of fifty) await tip(app, pair);
  const { db } = app.runtime;
  const write = t.mock.method(db, 'write');
  assert.equal((await ack(shown(...fifty.map((i) => i + 1)))).statusCode, 204);
  const sizes = write.mock.calls.map(({ arguments: args }) => args.flat().filter((arg) => Object(arg).event).length);
  write.mock.restore();
  assert.deepEqual(sizes, [10, 10, 10, 10, 10]);
  assert.equal((await app.runtime.events.head(pair.creatorId))?.sequence, 100);
  assert.equal((await post('begin', { instance: page })).json().position, 50);
});

test('security 38: what a failed acknowledgement has settled stays so, and a repeat settles the rest', async (t) => {
  const { app, pair, ack, post } = await open(t);
  for (const _ of fifty) await tip(app, pair);
  const { db } = app.runtime;
  const real = db.write.bind(db);
  const write = t.mock.method(db, 'write', (...args: Parameters<typeof real>) =>
    write.mock.callCount() === 2 ? Promise.reject(new StorageUnavailable('away')) : real(...args),
  );
  const all = shown(...fifty.map((i) => i + 1));
  assert.equal((await ack(all)).statusCode, 502);
  write.mock.restore();
  assert.equal((await app.runtime.events.head(pair.creatorId))?.sequence, 70, 'two writes of ten');
  assert.equal((await post('begin', { instance: page })).json().position, 0);
  assert.equal((await ack(all)).statusCode, 204);
  assert.equal((await app.runtime.events.head(pair.creatorId))?.sequence, 100, 'each alert told once');
});

test('security 38: fifty pages that say the same at once cause one write of it', async (t) => {
  const { app, pair, ack } = await open(t);
  for (let i = 0; i < 3; i++) await tip(app, pair);
  const counts = await countCalls(t, app, () => Promise.all(fifty.map(() => ack(shown(1, 2, 3)))));
  assert.equal(counts.writes, 1);
  assert.equal((await app.runtime.events.head(pair.creatorId))?.sequence, 6);
});

test('security 38: acknowledgements of one overlay run one in an iteration of the event loop', async (t) => {
  const { app, pair } = await open(t);
  await tip(app, pair);
  const acks = [{ sequence: 1, outcome: 'shown' as const }];
  const acknowledge = () => app.runtime.overlays.acknowledge(pair.creatorId, page, acks);
  await acknowledge();
  let iterations = 0;
  let done = false;
  const all = Promise.all(Array.from({ length: 20 }, acknowledge)).then(() => {
    done = true;
  });
  for (; !done; iterations += 1) await nextIteration();
  await all;
  assert.ok(iterations >= 19, `${iterations}`);
});

test('when storage fails, acknowledgements that wait behind fail with it, and none waits for a deadline of its own', async (t) => {
  const { app, pair, ack } = await open(t);
  for (let i = 0; i < 3; i++) await tip(app, pair);
  const { promise: deadline, reject: fail } = Promise.withResolvers<never>();
  const write = t.mock.method(app.runtime.db, 'write', () => deadline);
  const answers = Promise.all([1, 2, 3].map((sequence) => ack(shown(sequence))));
  await until('the first writes', () => write.mock.callCount() === 1);
  fail(new StorageUnavailable('The database did not answer in time'));
  assert.deepEqual(
    (await answers).map(({ statusCode }) => statusCode),
    [502, 502, 502],
  );
  assert.equal(write.mock.callCount(), 1, 'the other two did not try');
  write.mock.restore();
  assert.equal((await ack(shown(1, 2, 3))).statusCode, 204, 'whoever comes later does');
  assert.equal((await app.runtime.events.head(pair.creatorId))?.sequence, 6);
});

test('of two words about one alert the first counts', async (t) => {
  const { app, pair, ack } = await open(t);
  const { tip: recorded } = await tip(app, pair);
  const acks = [
    { sequence: 1, outcome: 'expired' },
    { sequence: 1, outcome: 'shown' },
  ];
  assert.equal((await ack(acks)).statusCode, 204);
  assert.equal((await app.runtime.tips.byId(pair.creatorId, recorded.id)).alert.status, 'expired');
});

test('security 38: only the newest hundred pages of an overlay are remembered', async (t) => {
  const { app, pair, ack, post } = await open(t);
  await tip(app, pair);
  await tip(app, pair);
  assert.equal((await ack(shown(2))).statusCode, 204);
  for (let i = 0; i < 120; i++) {
    app.clock.advance(1);
    await ack(shown(1), randomUUID());
  }
  const rows = await app.runtime.db.all('SELECT id FROM overlay_instances WHERE creator_id = $1', [pair.creatorId]);
  assert.equal(rows.length, 100);
  assert.equal((await post('begin', { instance: page })).json().position, 2);
});

test('security 38: a request is counted before its body is read, an invalid one too', async (t) => {
  const { ack, post } = await open(t);
  for (let i = 0; i < 47; i++) await ack(shown(...fifty));
  assert.equal((await ack(shown(...fifty.slice(2)))).statusCode, 204);
  for (let i = 0; i < 2; i++) assert.equal((await post('ack', { acks: 'many' })).statusCode, 422);
  assert.equal((await post('ack', { acks: 'many' })).statusCode, 429);
});

test('security 38: a first overlay of a long history expires its alerts in pieces', async (t) => {
  const { app, pair, post } = await open(t);
  const { db } = app.runtime;
  await makeManyTips(app.runtime, pair.creatorId, 5_000);
  const { writes } = await countCalls(t, app, () => post('begin', { instance: page }));
  assert.ok(writes >= 6 && writes <= 10, `${writes} writes`);
  const counts = await db.all(
    'SELECT alert_status, COUNT(*) AS count FROM tips WHERE creator_id = $1 GROUP BY alert_status ORDER BY alert_status',
    [pair.creatorId],
  );
  // One tip a second, and alerts expire after 30 minutes.
  assert.deepEqual(counts, [
    { alert_status: 'expired', count: 3_199 },
    { alert_status: 'queued', count: 1_801 },
  ]);
});

test('security 38: to look for skipped alerts costs what is found, and that is bounded', async (t) => {
  const { app, pair, post } = await open(t);
  const { db, overlays } = app.runtime;
  await makeManyTips(app.runtime, pair.creatorId, 5_000);
  const skip = `UPDATE tips SET alert_status = 'skipped' WHERE creator_id = $1 AND sequence > $2`;
  await execute(db, skip, [pair.creatorId, 4_997]);
  if (db.engine === 'postgres') await execute(db, 'ANALYZE tips', []);
  const all = t.mock.method(db, 'all');
  assert.deepEqual(await overlays.skipped(pair.creatorId), ['tip_5000', 'tip_4999', 'tip_4998']);
  const [statement, params] = all.mock.calls[0]?.arguments ?? [];
  all.mock.restore();
  const explain = db.engine === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN';
  assert.match(JSON.stringify(await db.all(`${explain} ${statement}`, params)), /tips_skipped/);
  await execute(db, skip, [pair.creatorId, 4_000]);
  const { skipped } = (await post('begin', { instance: page })).json();
  assert.deepEqual([skipped.length, skipped[0]], [500, 'tip_5000']);
});
