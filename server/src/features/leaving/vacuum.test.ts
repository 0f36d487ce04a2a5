import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { buildApp, onNodes } from '../../../test/build-app.ts';
import { deadRows, watchDeadRows } from '../../../test/dead-rows.ts';
import { makeCreator } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { fillTables, ownedTables } from '../../../test/marked-rows.ts';

const day = 86_400_000;
/** It has ids and times. */
const watched = ownedTables.map(({ table }) => table).filter((table) => table !== 'account_deletions');

test('security 53: after its vacuum PostgreSQL keeps no version of any row, also if a dump was running', {
  skip: onNodes ? false : 'the embedded store overwrites what is deleted',
}, async (t) => {
  const app = await buildApp(t);
  const { db, leaving } = app.runtime;
  const dead = async () => {
    const found: string[] = [];
    for (const table of watched) if ((await deadRows(db, table)) > 0) found.push(table);
    return found;
  };
  const [first, second] = [await makeCreator(app.runtime), await makeCreator(app.runtime)];
  for (const [mark, { creatorId }] of Object.entries({ first, second })) {
    await makeManyTips(app.runtime, creatorId, 300);
    await fillTables(db, creatorId, mark);
  }
  await watchDeadRows(db, watched);
  async function deleteAccount({ creatorId }: { creatorId: string }): Promise<void> {
    await leaving.ask(creatorId, true);
    await leaving.tick();
    assert.notDeepEqual(await dead(), [], 'until the vacuum');
    app.clock.advance(60_000);
    await leaving.tick();
  }
  await deleteAccount(first);
  assert.deepEqual(await dead(), []);

  const dump = new pg.Client({ connectionString: app.env.DATABASE_URL });
  dump.on('error', () => {});
  await dump.connect();
  await dump.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await dump.query('SELECT id FROM creators');
  await deleteAccount(second);
  assert.ok((await dead()).includes('tips'), 'the dump can still read them');
  await dump.query('COMMIT');
  await dump.end();
  app.clock.advance(day);
  await leaving.tick();
  assert.deepEqual(await dead(), []);
});
