import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { execute } from '../../../test/sql.ts';
import { textFor } from '../../platform/db/statement.ts';

const count = 5_000;

/** A creator with so many tips of the last two days, of which some are held. */
async function prepare({ runtime }: TestApp) {
  const { creatorId } = await makeCreator(runtime);
  await makeManyTips(runtime, creatorId, count);
  await execute(
    runtime.db,
    `UPDATE tips SET alert_status = 'held' WHERE creator_id = $1 AND sequence IN (1, 2000, 2001, 4000, 5000)`,
    [creatorId],
  );
  return creatorId;
}

/** The statements that read tips from now on. */
function recordReads(t: TestContext, { runtime: { db } }: TestApp): string[] {
  const read: string[] = [];
  const note = (sql: unknown): void => void (/FROM tips/.test(JSON.stringify(sql)) && read.push(JSON.stringify(sql)));
  const { all, get } = db;
  t.mock.method(db, 'all', (...args: Parameters<typeof all>) => {
    note(args[0]);
    return all(...args);
  });
  t.mock.method(db, 'get', (...args: Parameters<typeof get>) => {
    note(args[0]);
    return get(...args);
  });
  return read;
}

/** Each batch of a reading of the history begins with one of these. */
const batchesOf = (read: readonly string[]): number => read.filter((sql) => sql.includes('OFFSET')).length;

test('security 41: the held tips of a long history are read in batches, and once', async (t) => {
  const app = await buildApp(t);
  const { tips, overlays } = app.runtime;
  const creatorId = await prepare(app);
  const read = recordReads(t, app);
  const ids = async () => (await tips.held(creatorId, 50)).map(({ id }) => id);
  const reads = await Promise.all([ids(), ids(), ids()]);
  const all = ['tip_1', 'tip_2000', 'tip_2001', 'tip_4000', 'tip_5000'];
  assert.deepEqual(reads, [all, all, all]);
  assert.equal(batchesOf(read), 3, 'three batches, once for all reads');
  read.length = 0;
  assert.equal(await tips.countHeld(creatorId), 5);
  assert.deepEqual(await tips.held(creatorId, 2).then((held) => held.map(({ id }) => id)), all.slice(0, 2));
  assert.deepEqual(read, []);
  assert.ok(await overlays.approve(creatorId, 'tip_2000'));
  read.length = 0;
  assert.deepEqual(await ids(), ['tip_1', 'tip_2001', 'tip_4000', 'tip_5000']);
  assert.equal(await tips.countHeld(creatorId), 4);
  assert.deepEqual([read.length, batchesOf(read)], [1, 0], 'after an event only its tip is read');
  const { db } = app.runtime;
  const explain = db.engine === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN';
  if (db.engine === 'postgres') await execute(db, 'ANALYZE tips');
  const plan = JSON.stringify(
    await db.all(`${explain} ${textFor(db.engine, JSON.parse(read[0] ?? ''))}`, [creatorId, '["tip_2000"]']),
  );
  assert.match(plan, /tips_id/, plan);
});

test('a read after a decision sees it, and a tip that came since', async (t) => {
  const app = await buildApp(t);
  const { tips, overlays, screening, erasure, db } = app.runtime;
  const creatorId = await prepare(app);
  await screening.change(creatorId, (rules) => ({ ...rules, hold: { ...rules.hold, everything: true } }));
  const record = async () => {
    const words = { amount: 1, name: 'SOMCHAI', displayName: null, message: null };
    return (await tips.record({ creatorId, app: null, ...words })).tip.id;
  };
  const stored = async () => {
    const sql = `SELECT id FROM tips WHERE creator_id = $1 AND alert_status = 'held' ORDER BY created_at, sequence`;
    return (await db.all<{ id: string }>(sql, [creatorId])).map(({ id }) => id);
  };
  const check = async (message: string) => {
    const held = (await tips.held(creatorId, 500)).map(({ id }) => id);
    assert.deepEqual([held, await tips.countHeld(creatorId)], [await stored(), held.length], message);
  };
  await check('first');
  const read = recordReads(t, app);
  const [first, second, third] = [await record(), await record(), await record()];
  await check('recorded');
  await overlays.approve(creatorId, 'tip_1');
  await check('approved');
  await Promise.all([overlays.reject(creatorId, first), tips.held(creatorId, 5), record(), tips.held(creatorId, 5)]);
  await check('rejected while others read');
  await tips.void(creatorId, second, { clientId: null, reason: null });
  await check('voided');
  await erasure.one(creatorId, third);
  await check('erased');
  await overlays.approve(creatorId, await record());
  await check('recorded and approved between two reads');
  app.clock.advance(25 * 3_600_000);
  await overlays.skipHeld();
  await check('held too long');
  assert.equal(batchesOf(read), 0);
});

test('a list of more held tips than are kept is filled up when those are decided', async (t) => {
  const app = await buildApp(t);
  const { tips, overlays } = app.runtime;
  const { creatorId } = await makeCreator(app.runtime);
  await makeManyTips(app.runtime, creatorId, 1_100);
  await execute(app.runtime.db, `UPDATE tips SET alert_status = 'held' WHERE creator_id = $1`, [creatorId]);
  const read = recordReads(t, app);
  const check = async (decided: number) => {
    const held = await tips.held(creatorId, 500);
    assert.deepEqual([held.length, held[0]?.id, held.at(-1)?.id], [500, `tip_${decided + 1}`, `tip_${decided + 500}`]);
    assert.equal(await tips.countHeld(creatorId), 1_100 - decided);
  };
  await check(0);
  for (let decided = 0; decided < 510; decided += 1) {
    await overlays.reject(creatorId, `tip_${decided + 1}`);
    if (decided % 100 === 99) await check(decided + 1);
  }
  assert.equal(batchesOf(read), 1);
  await check(510);
  assert.equal(batchesOf(read), 2, 'the history is read again');
});
