import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type Database, StorageUnavailable } from '../../src/platform/db/database.ts';
import { openSqlite } from '../../src/platform/db/sqlite.ts';
import { fillDisk, mount, needsMount, smallDisk } from '../small-disk.ts';
import { execute, executeAll } from '../sql.ts';
import { startStopwatch } from '../stopwatch.ts';

const pair = (db: Database, n: number): Promise<number[]> =>
  executeAll(
    db,
    ['INSERT INTO a (n, filler) VALUES ($1, $2)', [n, 'x'.repeat(20_000)]],
    ['INSERT INTO b (n) VALUES ($1)', [n]],
  );

async function assertPairs(db: Database, expected: readonly number[]): Promise<void> {
  for (const table of ['a', 'b']) {
    const rows = await db.all<{ n: number }>(`SELECT n FROM ${table} ORDER BY n`);
    assert.deepEqual(
      rows.map(({ n }) => n),
      expected,
    );
  }
}

async function openPairs(t: TestContext, directory: string, thread = false): Promise<Database> {
  const db = openSqlite({ file: join(directory, 'test.db'), thread });
  t.after(() => db.close());
  await executeAll(
    db,
    ['CREATE TABLE IF NOT EXISTS a (n INTEGER PRIMARY KEY, filler TEXT) STRICT'],
    ['CREATE TABLE IF NOT EXISTS b (n INTEGER PRIMARY KEY) STRICT'],
  );
  return db;
}

for (const thread of [false, true])
  describe(`SQLite on a disk that cannot take more, ${thread ? 'on its writing thread' : 'on the event loop'}`, () => {
    test('refuses in time, keeps nothing half, and goes on by itself when there is room', needsMount, async (t) => {
      const directory = smallDisk(t, 2);
      const db = await openPairs(t, directory, thread);
      await db.ping();
      await pair(db, 1);
      fillDisk(join(directory, 'filler'));

      const stopwatch = startStopwatch();
      const recorded = [1];
      let refused = 0;
      for (let n = 2; n < 30; n += 1) {
        const results = await Promise.allSettled([pair(db, n), pair(db, n + 1_000)]);
        for (const [i, result] of results.entries()) {
          if (result.status === 'fulfilled') recorded.push(n + i * 1_000);
          else {
            refused += 1;
            assert.ok(result.reason instanceof StorageUnavailable, String(result.reason));
          }
        }
      }
      assert.ok(refused > 0);
      await assert.rejects(db.ping(), StorageUnavailable);
      assert.ok(stopwatch() < 5_000);
      await assertPairs(
        db,
        recorded.sort((x, y) => x - y),
      );

      rmSync(join(directory, 'filler'));
      await db.ping();
      await pair(db, 500);
      await assertPairs(
        db,
        [...recorded, 500].sort((x, y) => x - y),
      );
    });

    test(
      'refuses a statement that is too large for the disk, and those that share its commit',
      needsMount,
      async (t) => {
        const db = await openPairs(t, smallDisk(t, 2), thread);
        // More than the cache holds, so that it goes to the disk before the commit.
        const addLarge = () => execute(db, 'INSERT INTO a (n, filler) VALUES (1, $1)', ['x'.repeat(40 * 1024 * 1024)]);
        const recorded: number[] = [];
        let shared = false;
        // A batch is bounded by time too: on a busy machine it may end before the large statement. Then the neighbour is
        // recorded, and the test tries again.
        for (let n = 2; n < 40 && !shared; n += 2) {
          const [before, large, after] = await Promise.allSettled([pair(db, n), addLarge(), pair(db, n + 1)]);
          assert.ok(large.status === 'rejected' && large.reason instanceof StorageUnavailable);
          for (const [i, result] of [before, after].entries()) {
            if (result.status === 'fulfilled') recorded.push(n + i);
            else assert.ok(result.reason instanceof StorageUnavailable);
          }
          shared = before.status === 'rejected';
        }
        assert.ok(shared, 'the write before the large statement shared its commit');
        await pair(db, 100);
        await assertPairs(db, [...recorded, 100]);
      },
    );

    test('is not opened on a disk that is read-only', needsMount, async (t) => {
      const directory = smallDisk(t, 2);
      const db = await openPairs(t, directory, thread);
      await pair(db, 1);
      await db.close();
      const file = join(directory, 'test.db');
      assert.ok(mount('-o', 'remount,ro', directory));
      assert.throws(() => openSqlite({ file, thread }), StorageUnavailable);
      assert.ok(mount('-o', 'remount,rw', directory));
      // Only the file, so that SQLite opens it for reading without a word.
      assert.ok(mount('--bind', file, file) && mount('-o', 'remount,bind,ro', file));
      t.after(() => spawnSync('umount', ['-l', file]));
      assert.throws(() => openSqlite({ file, thread }), StorageUnavailable);
      assert.equal(spawnSync('umount', [file]).status, 0);
      await assertPairs(await openPairs(t, directory, thread), [1]);
    });
  });
