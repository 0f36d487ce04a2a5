import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../../sdk/test/until.ts';
import { type Database, StorageUnavailable } from '../../src/platform/db/database.ts';
import { openPostgres } from '../../src/platform/db/postgres.ts';
import { type Postgres, startPostgres } from '../postgres.ts';
import { execute, executeAll, writeOne } from '../sql.ts';
import { startStopwatch } from '../stopwatch.ts';

async function open(t: TestContext): Promise<{ server: Postgres; db: Database }> {
  const server = await startPostgres();
  const db = openPostgres({ url: server.url('postgres'), connections: 8 });
  t.after(async () => {
    await db.close();
    await server.end();
  });
  await execute(db, 'CREATE TABLE a (n BIGINT PRIMARY KEY)');
  await execute(db, 'CREATE TABLE b (n BIGINT PRIMARY KEY)');
  return { server, db };
}

const pair = (db: Database, n: number): Promise<number[]> =>
  executeAll(db, ['INSERT INTO a (n) VALUES ($1)', [n]], ['INSERT INTO b (n) VALUES ($1)', [n]]);

/** Writes without pause until told to stop; every refusal must be the right one, and in time. */
function load(db: Database) {
  const answered: number[] = [];
  let next = 1;
  let refused = 0;
  let slowest = 0;
  let going = true;
  async function writer(): Promise<void> {
    while (going) {
      const n = next;
      next += 1;
      const stopwatch = startStopwatch();
      try {
        await pair(db, n);
        answered.push(n);
      } catch (error) {
        assert.ok(error instanceof StorageUnavailable, String(error));
        refused += 1;
        await delay(20);
      }
      slowest = Math.max(slowest, stopwatch());
    }
  }
  const writers = Array.from({ length: 20 }, writer);
  return {
    /** Waits until that many more writes have succeeded. */
    moreAnswers(count: number): Promise<boolean> {
      const enough = answered.length + count;
      return until(`${enough} writes are answered`, () => answered.length >= enough);
    },
    refusals: (count: number) => until(`${count} writes are refused`, () => refused >= count),
    async stop() {
      going = false;
      await Promise.all(writers);
      return { answered, refused, slowest };
    },
  };
}

async function numbers(db: Database, table: string): Promise<Set<number>> {
  return new Set((await db.all<{ n: number }>(`SELECT n FROM ${table}`)).map(({ n }) => n));
}

async function assertWhole(db: Database, answered: readonly number[]): Promise<void> {
  const [a, b] = await Promise.all([numbers(db, 'a'), numbers(db, 'b')]);
  assert.deepEqual(a, b);
  assert.deepEqual(
    answered.filter((n) => !a.has(n)),
    [],
  );
}

function eventually(db: Database, n: number): Promise<boolean> {
  const written = () =>
    pair(db, n).then(
      () => true,
      () => false,
    );
  return until('a write succeeds again', written);
}

describe('PostgreSQL that goes away under load', { concurrency: 2 }, () => {
  test('is refused in time while it is stopped, and used again by itself', async (t) => {
    const { server, db } = await open(t);
    const running = load(db);
    await running.moreAnswers(100);
    await server.stop();
    await running.refusals(100);
    await assert.rejects(db.get('SELECT 1'), StorageUnavailable);
    await server.start();
    await eventually(db, -1);
    await running.moreAnswers(100);
    const { answered, refused, slowest } = await running.stop();
    assert.ok(refused > 0);
    assert.ok(slowest < 5_000, `one was answered after ${slowest} ms`);
    await assertWhole(db, answered);
  });

  test('is refused in time while it hangs, and used again by itself', async (t) => {
    const { server, db } = await open(t);
    const running = load(db);
    await running.moreAnswers(100);
    server.pause();
    const stopwatch = startStopwatch();
    await Promise.all([
      assert.rejects(db.get('SELECT 1'), StorageUnavailable),
      assert.rejects(pair(db, -2), StorageUnavailable),
      assert.rejects(writeOne(db, 'owner', 'DELETE FROM a WHERE n = -3'), StorageUnavailable),
    ]);
    assert.ok(stopwatch() < 5_000);
    server.resume();
    await eventually(db, -1);
    await running.moreAnswers(100);
    const { answered, refused, slowest } = await running.stop();
    assert.ok(refused > 0);
    assert.ok(slowest < 5_000, `one was answered after ${slowest} ms`);
    await assertWhole(db, answered);
  });
});
