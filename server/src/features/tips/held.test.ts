import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { execute } from '../../../test/sql.ts';

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

test('security 41: the held tips of a long history are read in parts, and once while nothing happens', async (t) => {
  const app = await buildApp(t);
  const { db, tips, overlays } = app.runtime;
  const creatorId = await prepare(app);
  const read: string[] = [];
  const { all: readAll, get } = db;
  const note = (sql: unknown): void => void (/FROM tips/.test(String(sql)) && read.push(String(sql)));
  Object.assign(db, {
    all(...args: Parameters<typeof readAll>) {
      note(args[0]);
      return readAll(...args);
    },
    get(...args: Parameters<typeof get>) {
      note(args[0]);
      return get(...args);
    },
  });
  const ids = async () => (await tips.held(creatorId, 50)).map(({ id }) => id);
  const looks = await Promise.all([ids(), ids(), ids()]);
  const all = ['tip_1', 'tip_2000', 'tip_2001', 'tip_4000', 'tip_5000'];
  assert.deepEqual(looks, [all, all, all]);
  assert.equal(read.filter((sql) => sql.includes('COUNT')).length, 3, 'three parts, once for all looks');
  read.length = 0;
  assert.equal(await tips.countHeld(creatorId), 5);
  assert.deepEqual(await tips.held(creatorId, 2).then((held) => held.map(({ id }) => id)), all.slice(0, 2));
  assert.deepEqual(read, []);
  assert.ok(await overlays.approve(creatorId, 'tip_2000'));
  assert.deepEqual(await ids(), ['tip_1', 'tip_2001', 'tip_4000', 'tip_5000']);
  assert.equal(await tips.countHeld(creatorId), 4);
});
