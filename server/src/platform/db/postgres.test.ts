import assert from 'node:assert/strict';
import { on } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import pg from 'pg';
import { until } from '../../../../sdk/test/until.ts';
import { databaseConformance } from '../../../test/conformance/database.ts';
import { checkMigrations } from '../../../test/conformance/migrations.ts';
import { freshDatabase, neverEndDeadlocks, waitingSessions } from '../../../test/postgres.ts';
import { execute, inThisThread, writeOne } from '../../../test/sql.ts';
import { type Database, StorageUnavailable } from './database.ts';
import { migrate } from './migrate.ts';
import { migrations } from './migrations/index.ts';
import { openPostgres } from './postgres.ts';

/** Patient: a busy machine may take seconds to connect. */
async function open(t: TestContext, withinMs = 60_000): Promise<Database> {
  const db = openPostgres({ url: await freshDatabase(t), withinMs });
  t.after(() => db.close());
  return db;
}

databaseConformance('PostgreSQL', (t) => open(t));

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('PostgreSQL', () => {
  test('is migrated once by nodes that start together', async (t) => {
    const url = await freshDatabase(t);
    const nodes = Array.from({ length: 5 }, () => openPostgres({ url, withinMs: 60_000 }));
    t.after(() => Promise.all(nodes.map((db) => db.close())));
    const applied = await Promise.all(nodes.map((db) => migrate(db)));
    assert.deepEqual(
      applied.flat().sort(),
      migrations.map(({ name }) => name),
    );
  });

  test('is migrated from every earlier schema, with data, to the schema of a fresh database', async (t) => {
    await checkMigrations(await open(t), await open(t));
  });

  test('keeps which migrations older programs may pass over', async (t) => {
    const db = await open(t);
    const [first, second] = ['one', 'two'].map((name) => ({ name, sql: `CREATE TABLE ${name} (n {int});` }));
    assert.ok(first && second);
    await migrate(db, { migrations: [first] });
    await execute(db, 'ALTER TABLE schema_migrations DROP COLUMN older_may_run');
    assert.deepEqual(await migrate(db, { migrations: [first] }), [], 'as before 1.0.0');
    await assert.rejects(migrate(db, { migrations: [second] }), /migration one/);
    await migrate(db, { migrations: [first, { ...second, back: true }] });
    assert.deepEqual(await migrate(db, { migrations: [first] }), []);
    await execute(db, 'UPDATE schema_migrations SET older_may_run = 0');
    await assert.rejects(migrate(db, { migrations: [first] }), /migration two/);
  });

  test('answers reads of one row and writes of one statement, however many lists are asked for', async (t) => {
    const db = await open(t);
    await execute(db, 'CREATE TABLE things (id BIGINT PRIMARY KEY)');
    const insert = 'INSERT INTO things (id) VALUES ($1) RETURNING id';
    const locked = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const holder = db.write(
      inThisThread(async (tx) => {
        await tx.all('SELECT pg_advisory_xact_lock(1)');
        locked.resolve();
        await released.promise;
      }),
    );
    await locked.promise;
    let answered = 0;
    const lists = numbers(30).map(async () => {
      await db.all('SELECT pg_advisory_xact_lock_shared(1)');
      answered += 1;
    });
    assert.deepEqual(await writeOne(db, 'owner', insert, [1]), { id: 1 });
    assert.deepEqual(await db.get('SELECT id FROM things'), { id: 1 });
    assert.equal(answered, 0, 'the lists still wait');
    released.resolve();
    await Promise.all([holder, ...lists]);
  });

  test('runs a write again that lost a deadlock', async (t) => {
    const db = await open(t);
    await execute(db, 'CREATE TABLE pair (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)');
    await execute(db, 'INSERT INTO pair (id, n) VALUES (1, 0), (2, 0)');
    const increment = 'UPDATE pair SET n = n + 1 WHERE id = $1';
    let runs = 0;
    const bothHold = Promise.withResolvers<void>();
    const crossing = (first: number, second: number): Promise<void> =>
      db.write(
        inThisThread(async (tx) => {
          await tx.run(increment, [first]);
          runs += 1;
          if (runs === 2) bothHold.resolve();
          await bothHold.promise;
          await tx.run(increment, [second]);
        }),
      );
    await Promise.all([crossing(1, 2), crossing(2, 1)]);
    assert.ok(runs > 2);
    const rows = await db.all<{ n: number }>('SELECT n FROM pair');
    assert.deepEqual(
      rows.map(({ n }) => n),
      [2, 2],
    );
  });

  test('commits writes of one statement together when they arrive together', async (t) => {
    const db = await open(t);
    await execute(db, 'CREATE TABLE things (id BIGINT PRIMARY KEY)');
    const insert = 'INSERT INTO things (id) VALUES ($1) RETURNING id';
    const rows = await Promise.all(numbers(100).map((id) => writeOne(db, `owner ${id}`, insert, [id])));
    assert.deepEqual(
      rows,
      numbers(100).map((id) => ({ id })),
    );
    const made = await db.all<{ by: string }>('SELECT xmin::text AS by FROM things');
    assert.equal(made.length, 100);
    assert.ok(new Set(made.map(({ by }) => by)).size < 20);
  });

  test('lets a statement that fails take nothing with it of those that arrived with it', async (t) => {
    const db = await open(t);
    await execute(db, 'CREATE TABLE things (id BIGINT PRIMARY KEY)');
    const insert = 'INSERT INTO things (id) VALUES ($1) RETURNING id';
    const ids = [...numbers(20), 7, ...numbers(40).slice(20)];
    const writes = await Promise.allSettled(ids.map((id) => writeOne(db, String(id % 5), insert, [id])));
    const failed = writes.filter((write) => write.status === 'rejected');
    assert.deepEqual(
      failed.map(({ reason }) => reason.name),
      ['UniqueViolation'],
    );
    assert.equal((await db.all('SELECT id FROM things')).length, 40);
    const divisors = [1, 2, 0, 4];
    const reads = await Promise.allSettled(divisors.map((n) => db.get('SELECT 8 / CAST($1 AS BIGINT) AS n', [n])));
    assert.deepEqual(
      reads.map((read) => (read.status === 'fulfilled' ? read.value : /zero/.test(read.reason.message))),
      [{ n: 8 }, { n: 4 }, true, { n: 2 }],
    );
  });

  test('keeps the order of an owner’s writes, and never lets those of two nodes wait for each other', async (t) => {
    const url = await freshDatabase(t);
    await neverEndDeadlocks(url);
    const nodes = [openPostgres({ url, withinMs: 30_000 }), openPostgres({ url, withinMs: 30_000 })] as const;
    t.after(() => Promise.all(nodes.map((db) => db.close())));
    await execute(nodes[0], 'CREATE TABLE heads (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)');
    const owners = numbers(30);
    for (const id of owners) await execute(nodes[0], 'INSERT INTO heads (id, n) VALUES ($1, 0)', [id]);
    // Slow enough that the groups of both nodes are under way at once.
    const sql = 'UPDATE heads SET n = n + 1 WHERE id = $1 AND (SELECT 1 FROM pg_sleep(0.002)) = 1 RETURNING n';
    const advance = (db: Database, id: number) => writeOne<{ n: number }>(db, String(id), sql, [id]);
    // Each node hears of the owners in the other's opposite order.
    const [there, back] = [numbers(300).map((i) => owners[i % 30]!), numbers(300).map((i) => owners[29 - (i % 30)]!)];
    const [first] = await Promise.all([
      Promise.all(there.map((id) => advance(nodes[0], id))),
      Promise.all(back.map((id) => advance(nodes[1], id))),
    ]);
    for (const owner of owners) {
      const seen = first.filter((_, i) => there[i] === owner).map((row) => row!.n);
      assert.deepEqual(
        seen,
        seen.toSorted((a, b) => a - b),
      );
    }
    const rows = await nodes[0].all<{ n: number }>('SELECT DISTINCT n FROM heads');
    assert.deepEqual(rows, [{ n: 20 }]);
  });

  test('security 40: many writes of one owner that wait for the same row take two connections, and others go on', async (t) => {
    const url = await freshDatabase(t);
    const db = openPostgres({ url, withinMs: 30_000 });
    const other = new pg.Client({ connectionString: url });
    other.on('error', () => {});
    await other.connect();
    t.after(async () => {
      await other.end();
      await db.close();
    });
    await execute(db, 'CREATE TABLE heads (id TEXT PRIMARY KEY, n BIGINT NOT NULL)');
    for (const id of ['crt_1', 'crt_2']) await execute(db, 'INSERT INTO heads (id, n) VALUES ($1, 0)', [id]);
    const advance = (id: string) => execute(db, 'UPDATE heads SET n = n + 1 WHERE id = $1', [id]);
    await other.query('BEGIN');
    await other.query("SELECT n FROM heads WHERE id = 'crt_1' FOR UPDATE");
    const many = Promise.all(numbers(50).map(() => advance('crt_1')));
    const countWaiting = async (): Promise<number> => (await waitingSessions(other)).length;
    await until('two of them wait', async () => (await countWaiting()) >= 2);
    let most = 2;
    for (const _ of numbers(20)) {
      await advance('crt_2');
      // Also the owner's own reads go on.
      assert.equal((await db.all('SELECT n FROM heads WHERE id = $1', ['crt_1'])).length, 1);
      most = Math.max(most, await countWaiting());
    }
    assert.equal(most, 2);
    await other.query('ROLLBACK');
    await many;
    const rows = await db.all('SELECT id, n FROM heads ORDER BY id');
    assert.deepEqual(rows, [
      { id: 'crt_1', n: 50 },
      { id: 'crt_2', n: 20 },
    ]);
  });

  test('security 40: writes of one owner whose statement returned no row take half of the connections too', async (t) => {
    const db = openPostgres({ url: await freshDatabase(t), connections: 4, withinMs: 60_000 });
    t.after(() => db.close());
    await execute(db, 'CREATE TABLE things (id BIGINT PRIMARY KEY)');
    const released = Promise.withResolvers<void>();
    let begun = 0;
    const hold = inThisThread(async (tx) => {
      await tx.get('SELECT 1');
      begun += 1;
      await released.promise;
    });
    const sql = 'DELETE FROM things WHERE id = -1 RETURNING id';
    const postgres = { statement: () => ({ owner: 'key', sql, params: [] }), answer: () => {} };
    const held = [1, 2].map(() => db.write({ ...hold, postgres }));
    await until('one holds its connection, the other waits', () => {
      return begun > 0 && begun + (db.stats().pool?.waiting ?? 0) === 2;
    });
    await execute(db, 'INSERT INTO things (id) VALUES (1)');
    assert.equal(begun, 1);
    released.resolve();
    await Promise.all(held);
    assert.equal(begun, 2);
  });

  test('reads that run alone do not wait behind writes', async (t) => {
    const db = openPostgres({ url: await freshDatabase(t), connections: 2, withinMs: 60_000 });
    t.after(() => db.close());
    const released = Promise.withResolvers<void>();
    let done = 0;
    const write = inThisThread(async (tx) => {
      await tx.get('SELECT 1');
      await released.promise;
      done += 1;
    });
    const writes = numbers(20).map(() => db.write(write));
    await until('all but one wait', () => db.stats().pool?.waiting === 19);
    // Both are of one group. It fails, and before the other is sent again, the one at fault waits to run alone.
    const read = db.get('SELECT 8 / CAST($1 AS BIGINT) AS n', [0]);
    await db.get('SELECT 1');
    released.resolve();
    await assert.rejects(read, /zero/);
    assert.ok(done < 5, `${done} writes came first`);
    await Promise.all(writes);
  });

  test('goes on reading a table whose columns a newer node changes', async (t) => {
    const db = openPostgres({ url: await freshDatabase(t), connections: 1, withinMs: 60_000 });
    t.after(() => db.close());
    await execute(db, 'CREATE TABLE things (old BIGINT, id BIGINT)');
    await execute(db, 'INSERT INTO things (old, id) VALUES (1, 2)');
    const read = async () => [await db.get('SELECT id FROM things'), ...(await db.all('SELECT id FROM things'))];
    assert.deepEqual(await read(), [{ id: 2 }, { id: 2 }]);
    await execute(db, 'ALTER TABLE things DROP COLUMN old');
    await execute(db, "ALTER TABLE things ADD COLUMN name TEXT DEFAULT 'a'");
    assert.deepEqual(await read(), [{ id: 2 }, { id: 2 }]);
    // What the connection has prepared gives another type now, which PostgreSQL refuses: it is prepared anew.
    await execute(db, 'ALTER TABLE things ALTER COLUMN id TYPE TEXT');
    assert.deepEqual(await db.get('SELECT id FROM things'), { id: '2' });
  });

  test('gives up on a write that takes too long, records nothing of it, and serves others', async (t) => {
    const url = await freshDatabase(t);
    const db = openPostgres({ url, connections: 2, withinMs: 2_000 });
    t.after(() => db.close());
    await execute(db, 'CREATE TABLE things (id BIGINT PRIMARY KEY)');
    const insert = 'INSERT INTO things (id) VALUES ($1)';
    const hang = db.write(
      inThisThread(async (tx) => {
        await tx.run(insert, [1]);
        await new Promise(() => {});
      }),
    );
    const slow = db.write(
      inThisThread(async (tx) => {
        await tx.run(insert, [2]);
        await tx.get('SELECT 1 FROM pg_sleep(60)');
      }),
    );
    await Promise.all([assert.rejects(hang, StorageUnavailable), assert.rejects(slow, StorageUnavailable)]);
    await execute(db, insert, [3]);
    const rows = await db.all<{ id: number }>('SELECT id FROM things');
    assert.deepEqual(
      rows.map(({ id }) => id),
      [3],
    );
  });

  test('lets others have the rows of a node that fell asleep inside a write', async (t) => {
    const url = await freshDatabase(t);
    const db = openPostgres({ url, withinMs: 15_000 });
    t.after(() => db.close());
    const gate = new Int32Array(new SharedArrayBuffer(4));
    const wake = () => {
      Atomics.store(gate, 0, 1);
      Atomics.notify(gate, 0);
    };
    t.after(wake);
    await execute(db, 'CREATE TABLE heads (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)');
    await execute(db, 'INSERT INTO heads (id, n) VALUES (1, 0)');
    const program = `
      import { parentPort, workerData } from 'node:worker_threads';
      const { openPostgres } = await import(workerData.module);
      const db = openPostgres({ url: workerData.url, withinMs: 5_000 });
      const write = db.write({ module: 'none', name: 'none', run: async (tx) => {
        await tx.run('UPDATE heads SET n = n + 1');
        parentPort.postMessage('asleep');
        Atomics.wait(workerData.gate, 0, 0);
        await tx.run('UPDATE heads SET n = n + 1');
      }});
      parentPort.postMessage(await write.then(() => 'recorded', (error) => error.name));
      await db.close();
    `;
    const workerData = { url, gate, module: import.meta.resolve('./postgres.ts') };
    const sleeper = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), { workerData });
    const messages = on(sleeper, 'message');
    assert.deepEqual((await messages.next()).value, ['asleep']);
    await execute(db, 'UPDATE heads SET n = n + 10');
    wake();
    assert.deepEqual((await messages.next()).value, ['StorageUnavailable']);
    const row = await db.get<{ n: number }>('SELECT n FROM heads');
    assert.equal(row?.n, 10);
  });

  test('refuses a ping when the database has no schema or is read-only', async (t) => {
    const url = await freshDatabase(t);
    const db = openPostgres({ url });
    const later = openPostgres({ url });
    t.after(() => Promise.all([db.close(), later.close()]));
    await assert.rejects(db.ping(), /schema_migrations/);
    await migrate(db);
    await db.ping();
    // For connections made from now on.
    await execute(db, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`);
    await assert.rejects(later.ping(), StorageUnavailable);
  });
});
