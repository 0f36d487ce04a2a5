import assert from 'node:assert/strict';
import { on } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { freshDatabase } from '../../../test/postgres.ts';
import { databaseConformance } from './conformance.ts';
import { type Database, StorageUnavailable } from './database.ts';
import { migrate } from './migrate.ts';
import { migrations } from './migrations/index.ts';
import { openPostgres } from './postgres.ts';

async function open(t: TestContext): Promise<Database> {
  const db = openPostgres({ url: await freshDatabase(t) });
  t.after(() => db.close());
  return db;
}

databaseConformance('PostgreSQL', open);

describe('PostgreSQL', () => {
  test('is migrated once by nodes that start together', async (t) => {
    const url = await freshDatabase(t);
    const nodes = Array.from({ length: 5 }, () => openPostgres({ url }));
    t.after(() => Promise.all(nodes.map((db) => db.close())));
    const applied = await Promise.all(nodes.map((db) => migrate(db)));
    assert.deepEqual(
      applied.flat().sort(),
      migrations.map(({ name }) => name),
    );
  });

  test('runs a write again that lost a deadlock', async (t) => {
    const db = await open(t);
    await db.write((tx) => tx.run('CREATE TABLE pair (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)'));
    await db.write((tx) => tx.run('INSERT INTO pair (id, n) VALUES (1, 0), (2, 0)'));
    const increment = 'UPDATE pair SET n = n + 1 WHERE id = $1';
    let runs = 0;
    const crossing = (first: number, second: number): Promise<void> =>
      db.write(async (tx) => {
        runs += 1;
        await tx.run(increment, [first]);
        await tx.get('SELECT 1 FROM pg_sleep(0.2)');
        await tx.run(increment, [second]);
      });
    await Promise.all([crossing(1, 2), crossing(2, 1)]);
    assert.ok(runs > 2);
    const rows = await db.all<{ n: number }>('SELECT n FROM pair');
    assert.deepEqual(
      rows.map(({ n }) => n),
      [2, 2],
    );
  });

  test('gives up on a write that takes too long, records nothing of it, and serves others', async (t) => {
    const url = await freshDatabase(t);
    const db = openPostgres({ url, connections: 2, withinMs: 2_000 });
    t.after(() => db.close());
    await db.write((tx) => tx.run('CREATE TABLE things (id BIGINT PRIMARY KEY)'));
    const insert = 'INSERT INTO things (id) VALUES ($1)';
    const hang = db.write(async (tx) => {
      await tx.run(insert, [1]);
      await new Promise(() => {});
    });
    const slow = db.write(async (tx) => {
      await tx.run(insert, [2]);
      await tx.get('SELECT 1 FROM pg_sleep(60)');
    });
    await Promise.all([assert.rejects(hang, StorageUnavailable), assert.rejects(slow, StorageUnavailable)]);
    await db.write((tx) => tx.run(insert, [3]));
    const rows = await db.all<{ id: number }>('SELECT id FROM things');
    assert.deepEqual(
      rows.map(({ id }) => id),
      [3],
    );
  });

  test('lets others have the rows of a node that fell asleep inside a write', async (t) => {
    const url = await freshDatabase(t);
    const db = openPostgres({ url, withinMs: 3_000 });
    t.after(() => db.close());
    await db.write((tx) => tx.run('CREATE TABLE heads (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)'));
    await db.write((tx) => tx.run('INSERT INTO heads (id, n) VALUES (1, 0)'));
    const program = `
      import { parentPort, workerData } from 'node:worker_threads';
      const { openPostgres } = await import(workerData.module);
      const db = openPostgres({ url: workerData.url, withinMs: 2_000 });
      const write = db.write(async (tx) => {
        await tx.run('UPDATE heads SET n = n + 1');
        parentPort.postMessage('asleep');
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_000);
        await tx.run('UPDATE heads SET n = n + 1');
      });
      parentPort.postMessage(await write.then(() => 'recorded', (error) => error.name));
      await db.close();
    `;
    const workerData = { url, module: import.meta.resolve('./postgres.ts') };
    const sleeper = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), { workerData });
    const messages = on(sleeper, 'message');
    assert.deepEqual((await messages.next()).value, ['asleep']);
    await db.write((tx) => tx.run('UPDATE heads SET n = n + 10'));
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
    await db.write((tx) =>
      tx.run(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`),
    );
    await assert.rejects(later.ping(), StorageUnavailable);
  });
});
