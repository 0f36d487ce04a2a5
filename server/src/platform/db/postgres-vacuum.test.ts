import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadRows, indexEntries, watchDeadRows } from '../../../test/dead-rows.ts';
import { freshDatabase } from '../../../test/postgres.ts';
import { execute } from '../../../test/sql.ts';
import { openPostgres } from './postgres.ts';

test('a vacuum leaves nothing of a few deleted rows among many others, in the indexes neither', async (t) => {
  const db = openPostgres({ url: await freshDatabase(t) });
  t.after(() => db.close());
  await execute(db, 'CREATE TABLE people (id BIGINT PRIMARY KEY, name TEXT NOT NULL)');
  await execute(db, 'CREATE INDEX people_name ON people (name)');
  await watchDeadRows(db, ['people']);
  await execute(db, `INSERT INTO people SELECT n, repeat('x', 200) || n FROM generate_series(1, 5000) AS n`);
  await db.vacuum?.(['people']);
  await execute(db, 'DELETE FROM people WHERE id <= 3');
  assert.deepEqual([await deadRows(db, 'people'), await indexEntries(db, 'people_name')], [3, 5000]);
  await db.vacuum?.(['people']);
  assert.deepEqual([await deadRows(db, 'people'), await indexEntries(db, 'people_name')], [0, 4997]);
});
