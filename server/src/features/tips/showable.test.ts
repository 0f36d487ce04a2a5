import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { execute } from '../../../test/sql.ts';
import { createWorkQueue } from '../../platform/work-queue.ts';
import { createShowable } from './showable.ts';

const everything = { from: 0, to: Number.MAX_SAFE_INTEGER - 1 };

test('alerts behind thousands of blocked tips are found, by reads that pass a bounded number of them', async (t) => {
  const { runtime } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  await makeManyTips(runtime, creatorId, 5_000);
  const block = `UPDATE tips SET alert_status = 'skipped', alert_reason = 'blocked' WHERE creator_id = $1 AND sequence`;
  await execute(runtime.db, `${block} BETWEEN 2 AND 4999`, [creatorId]);

  const passed: number[] = [];
  const db: typeof runtime.db = {
    ...runtime.db,
    async all<Row>(...query: Parameters<typeof runtime.db.all>) {
      const rows = await runtime.db.all<Row>(...query);
      passed.push(rows.length);
      return rows;
    },
  };
  const showable = createShowable({ db, queue: createWorkQueue({ atOnce: 1, maxWaiting: 10 }) });

  assert.equal(await showable.countShowable(creatorId, everything, 10), 2);
  const found = await showable.showableAfter(creatorId, { at: 0, sequence: 0 }, everything.to, 100);
  assert.deepEqual(
    found.map(({ sequence }) => sequence),
    [1, 5_000],
  );
  const options = { since: 0, before: everything.to, silenceMs: 60_000, longestMs: 86_400_000, limit: 7 };
  assert.deepEqual(
    (await showable.evenings(creatorId, options)).map(({ count }) => count),
    [1, 1],
  );
  // Each read tells of every tip that it has passed.
  assert.equal(
    passed.reduce((sum, rows) => sum + rows, 0),
    3 * 5_000,
  );
  assert.ok(Math.max(...passed) <= 2_000);
});

test('a span of very many tips counts as one of too many alerts, and is not read to its end', async (t) => {
  const { runtime } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  let reads = 0;
  const row = { at: 1, may_be_shown: 0 };
  const all = async () => {
    reads += 1;
    return Array.from({ length: 2_000 }, () => ({ ...row, at: 1_000_000 - reads }));
  };
  const db = { ...runtime.db, all } as unknown as typeof runtime.db;
  const showable = createShowable({ db, queue: createWorkQueue({ atOnce: 1, maxWaiting: 10 }) });
  assert.deepEqual([await showable.countShowable(creatorId, everything, 10), reads], [10, 30]);
});
