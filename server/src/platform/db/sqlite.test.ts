import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as delay, setImmediate as nextIteration } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { until } from '../../../../sdk/test/until.ts';
import { databaseConformance } from '../../../test/conformance/database.ts';
import { addUntilRefused, execute, executeAll, inThisThread } from '../../../test/sql.ts';
import { type Database, StorageUnavailable } from './database.ts';
import { migrate } from './migrate.ts';
import { countChanges, createTableVersions } from './migrations/0008-table-versions.ts';
import { openSqlite, type SqliteOptions } from './sqlite.ts';
import { backupSqlite } from './sqlite-backup.ts';

function temporaryFile(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'namjai-sqlite-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return join(directory, 'test.db');
}

function open(t: TestContext, options: Partial<SqliteOptions> = {}): Database {
  const db = openSqlite({ file: temporaryFile(t), ...options });
  t.after(() => db.close());
  return db;
}

async function withTables(db: Database, ...names: string[]): Promise<Database> {
  for (const name of names) await execute(db, `CREATE TABLE ${name} (id INTEGER PRIMARY KEY) STRICT`);
  return db;
}

/** Tables whose changes are counted. */
async function withCounted(db: Database, ...names: string[]): Promise<Database> {
  await withTables(db, ...names);
  const sql = createTableVersions + names.map(countChanges).join('');
  await migrate(db, { migrations: [{ name: 'counted', sql }] });
  return db;
}

const add = (db: Database, table: string): Promise<number> => execute(db, `INSERT INTO ${table} DEFAULT VALUES`);

async function count(db: Database, table: string): Promise<number | undefined> {
  return (await db.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))?.n;
}

/** Takes the write lock on a thread of its own, as the command line would. */
async function holdLock(file: string): Promise<{ released: Promise<unknown>; release: () => void }> {
  const free = new Int32Array(new SharedArrayBuffer(4));
  const program = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { DatabaseSync } = require('node:sqlite');
    const db = new DatabaseSync(workerData.file);
    db.exec('BEGIN IMMEDIATE');
    parentPort.postMessage('held');
    Atomics.wait(workerData.free, 0, 0);
    db.exec('COMMIT');
    db.close();
  `;
  const worker = new Worker(program, { eval: true, workerData: { file, free } });
  const released = once(worker, 'exit');
  await once(worker, 'message');
  const release = (): void => {
    Atomics.store(free, 0, 1);
    Atomics.notify(free, 0);
  };
  return { released, release };
}

databaseConformance('SQLite', async (t) => open(t));
databaseConformance('SQLite on its writing thread', async (t) => open(t, { thread: true }), { thread: true });

describe('SQLite', () => {
  test('takes a limit for what it is, and text that looks like one for text', async (t) => {
    const db = await withTables(open(t), 'things');
    for (let i = 0; i < 3; i++) await add(db, 'things');
    const sql = `SELECT id, 'limit $9' AS text FROM things ORDER BY id LIMIT $1`;
    const first = { id: 1, text: 'limit $9' };
    assert.deepEqual(await db.all(sql, [1]), [first]);
    assert.deepEqual(await db.all(sql, [2]), [first, { ...first, id: 2 }]);
    assert.deepEqual(await db.all(sql, [0]), []);
  });

  test('keeps its files to their owner, also one that was open to others', async (t) => {
    const file = temporaryFile(t);
    const before = process.umask(0o022);
    t.after(() => process.umask(before));
    writeFileSync(file, '');
    chmodSync(file, 0o644);
    const db = openSqlite({ file });
    t.after(() => db.close());
    await withTables(db, 'things');
    for (const name of [file, `${file}-wal`, `${file}-shm`]) assert.equal(statSync(name).mode & 0o777, 0o600, name);
  });

  test('fails a function that awaits something else, and nobody beside it', async (t) => {
    const db = await withTables(open(t), 'things');
    const insert = 'INSERT INTO things (id) VALUES ($1)';
    let late: Promise<unknown> | undefined;
    const results = await Promise.allSettled([
      execute(db, insert, [1]),
      db.write(
        inThisThread(async (tx) => {
          await tx.run(insert, [2]);
          await nextIteration();
          late = tx.run(insert, [3]);
          await late;
        }),
      ),
      execute(db, insert, [4]),
      db.write(inThisThread(async () => execute(db, insert, [5]))),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
    );
    assert.match(String(results[1].status === 'rejected' && results[1].reason), /awaited something other/);
    await until('the function goes on', () => late !== undefined);
    await assert.rejects(async () => late, /over/);
    const rows = await db.all<{ id: number }>('SELECT id FROM things ORDER BY id');
    assert.deepEqual(
      rows.map(({ id }) => id),
      [1, 4, 5],
    );
  });

  test('lets a function await what needs no iteration of the event loop', async (t) => {
    const db = await withTables(open(t), 'things');
    await db.write(
      inThisThread(async (tx) => {
        await Promise.all([tx.run('INSERT INTO things (id) VALUES (1)'), tx.run('INSERT INTO things (id) VALUES (2)')]);
        for (let i = 0; i < 100; i += 1) await Promise.resolve();
        await tx.run('INSERT INTO things (id) VALUES (3)');
      }),
    );
    assert.equal(await count(db, 'things'), 3);
  });

  test('binds integers as integers, not as node:sqlite does', async (t) => {
    const row = await open(t).get<{ kind: string; text: string }>("SELECT typeof($1) AS kind, $1 || '' AS text", [5]);
    assert.deepEqual({ ...row }, { kind: 'integer', text: '5' });
  });

  test('waits by timers for another process that writes', async (t) => {
    const file = temporaryFile(t);
    const db = await withTables(openSqlite({ file, waitMs: 20_000 }), 'things');
    t.after(() => db.close());
    const { released, release } = await holdLock(file);
    let answered = 0;
    const writes = Promise.all([1, 2].map(() => add(db, 'things').then(() => (answered += 1))));
    // An event loop that stood still for the wait, or for half a second at each attempt, would not get so far in time.
    for (let turns = 0; turns < 40; turns += 1) await delay(5);
    assert.equal(answered, 0);
    assert.equal(await count(db, 'things'), 0, 'reads are served meanwhile');
    release();
    await Promise.all([writes, released]);
    assert.equal(await count(db, 'things'), 2);
  });

  test('gives up on another process in time, and serves those who can still wait', async (t) => {
    const file = temporaryFile(t);
    const db = await withTables(openSqlite({ file, waitMs: 2_000 }), 'things');
    t.after(() => db.close());
    const { released, release } = await holdLock(file);
    const outcomes = await addUntilRefused(() => add(db, 'things'));
    release();
    await released;
    const recorded = (await Promise.all(outcomes)).filter(Boolean).length;
    assert.equal(await outcomes.at(-1), true, 'the last one could still wait');
    assert.equal(await count(db, 'things'), recorded);
  });

  test('moves the version of a table with its own commits only', async (t) => {
    const db = await withCounted(open(t), 'things', 'others');
    const things = db.version(['things']);
    const both = db.version(['things', 'others']);
    await add(db, 'others');
    assert.equal(db.version(['things']), things);
    assert.notEqual(db.version(['things', 'others']), both);
    await execute(
      db,
      'WITH one AS (SELECT 7 AS id) INSERT INTO Things (id) SELECT id FROM one WHERE true ON CONFLICT DO NOTHING',
    );
    assert.notEqual(db.version(['things']), things);
    const after = db.version(['things']);
    await db.get('SELECT id FROM things');
    await nextIteration();
    assert.equal(db.version(['things']), after);
    for (const sql of ['UPDATE things SET id = id', 'DELETE FROM things', 'REPLACE INTO things (id) VALUES (3)']) {
      const before = db.version(['things']);
      await execute(db, sql);
      assert.notEqual(db.version(['things']), before, sql);
    }
  });

  test('sees the changes of another process, and tells who listens', async (t) => {
    const pollMs = 5;
    const file = temporaryFile(t);
    const db = await withCounted(openSqlite({ file, pollMs }), 'things');
    const other = openSqlite({ file });
    t.after(() => Promise.all([db.close(), other.close()]));
    let [calls, others] = [0, 0];
    db.onExternalChange?.(() => (others += 1));
    const stop = db.onExternalChange?.(() => {
      calls += 1;
      stop?.();
    });
    await add(db, 'things');
    // A timer that is set later and runs as long ends later: the changes have been looked for.
    await delay(pollMs);
    assert.equal(calls, 0, 'its own commit is not external');
    const before = db.version(['things']);
    await add(other, 'things');
    await until('the listeners are called', () => others === 1);
    assert.notEqual(db.version(['things']), before);
    await add(other, 'things');
    await until('the one that still listens is called again', () => others === 2);
    assert.equal(calls, 1, 'stopped listening');
  });

  for (const thread of [false, true])
    test(`leaves nothing of what was deleted in its files${thread ? ', written by its thread' : ''}`, async (t) => {
      const file = temporaryFile(t);
      const db = openSqlite({ file, thread });
      t.after(() => db.close());
      const filesContain = (text: string): boolean =>
        [file, `${file}-wal`].some((name) => existsSync(name) && readFileSync(name).includes(text));
      const words = (n: number): string => `very secret words ${n}.`;
      await execute(db, 'CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT');
      for (let n = 1; n <= 3; n++) await execute(db, 'INSERT INTO notes (body) VALUES ($1)', [words(n).repeat(400)]);
      assert.ok(filesContain(words(1)));
      await execute(db, `UPDATE notes SET body = 'erased' WHERE id = 1`);
      await execute(db, 'DELETE FROM notes WHERE id = 2');
      await until('the log is truncated', () => db.truncateLog?.());
      assert.ok(!filesContain(words(1)));
      assert.ok(!filesContain(words(2)));
      assert.ok(filesContain(words(3)), 'what was not deleted is there');
      assert.equal(await count(db, 'notes'), 2);
    });

  test('leaves its log alone while somebody reads an older state, and truncates it later', async (t) => {
    const file = temporaryFile(t);
    const db = await withTables(openSqlite({ file, thread: true }), 'things');
    t.after(() => db.close());
    const other = new DatabaseSync(file, { readOnly: true });
    other.exec('BEGIN; SELECT count(*) FROM things');
    await add(db, 'things');
    assert.equal(await db.truncateLog?.(), false);
    await add(db, 'things');
    other.exec('COMMIT');
    other.close();
    await until('the log is truncated', () => db.truncateLog?.());
    assert.equal(statSync(`${file}-wal`).size, 0);
    assert.equal(await count(db, 'things'), 2);
  });

  test('reports a file that cannot be opened as unavailable, and one that is no database as it is', (t) => {
    const file = temporaryFile(t);
    writeFileSync(file, 'not a database, but a text that is long enough to be looked at\n'.repeat(20));
    assert.throws(() => openSqlite({ file }), { message: /not a database/ });
    assert.throws(() => openSqlite({ file: join(file, 'below-a-file.db') }), StorageUnavailable);
  });
});

describe('A backup of SQLite', () => {
  test('is a consistent private copy, made while the database is written', async (t) => {
    const file = temporaryFile(t);
    const db = openSqlite({ file });
    t.after(() => db.close());
    await migrate(db, {
      migrations: [{ name: 'pairs', sql: 'CREATE TABLE a (n {int}){options};\nCREATE TABLE b (n {int}){options};' }],
    });
    const pair = (n: number): Promise<unknown> =>
      executeAll(db, ['INSERT INTO a (n) VALUES ($1)', [n]], ['INSERT INTO b (n) VALUES ($1)', [n]]);
    await Promise.all(Array.from({ length: 100 }, (_, n) => pair(n)));
    const writes = Array.from({ length: 100 }, (_, n) => pair(n));
    backupSqlite({ from: file, to: `${file}.copy` });
    await Promise.all(writes);
    assert.equal(statSync(`${file}.copy`).mode & 0o777, 0o600);
    const copy = openSqlite({ file: `${file}.copy` });
    t.after(() => copy.close());
    assert.equal(await count(copy, 'a'), 100);
    assert.equal(await count(copy, 'b'), 100);
  });

  test('overwrites nothing, and leaves nothing behind when it fails', async (t) => {
    const file = temporaryFile(t);
    const db = await withTables(openSqlite({ file }), 'things');
    t.after(() => db.close());
    const to = `${file}.copy`;
    writeFileSync(to, 'precious');
    assert.throws(() => backupSqlite({ from: file, to }), /exists already/);
    assert.equal(statSync(to).size, 8);
    rmSync(to);
    writeFileSync(`${file}.text`, 'not a database, but a text that is long enough to be looked at\n'.repeat(20));
    assert.throws(() => backupSqlite({ from: `${file}.text`, to }), /not a database/);
    assert.throws(() => backupSqlite({ from: `${file}.absent`, to }), /no database/);
    assert.deepEqual(
      readdirSync(join(file, '..')).filter((name) => name.includes('copy')),
      [],
    );
  });
});
