import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checkMigrations } from '../../../test/conformance/migrations.ts';
import { execute } from '../../../test/sql.ts';
import type { Database } from './database.ts';
import { FutureSchema, type Migration, migrate } from './migrate.ts';
import { migrations } from './migrations/index.ts';
import { openSqlite } from './sqlite.ts';

function open(t: TestContext, connections = 1): Database[] {
  const directory = mkdtempSync(join(tmpdir(), 'namjai-migrate-'));
  const databases = Array.from({ length: connections }, () => openSqlite({ file: join(directory, 'test.db') }));
  t.after(async () => {
    await Promise.all(databases.map((db) => db.close()));
    rmSync(directory, { recursive: true });
  });
  return databases;
}

const first: Migration = {
  name: '0001-first',
  sql: 'CREATE TABLE a (\n  n {int} -- semicolons; inside a line\n){options};',
};
const second: Migration = { name: '0002-second', sql: 'CREATE TABLE b (n {int});\n\nINSERT INTO b (n) VALUES (1);\n' };
const third: Migration = { name: '0003-third', sql: 'CREATE TABLE d (n {int});' };
const broken: Migration = { name: '0002-broken', sql: 'CREATE TABLE c (n {int});\nCREATE TABLE c (n {int});' };

async function tables(db: Database | undefined): Promise<string[] | undefined> {
  const rows = await db?.all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
  return rows?.map(({ name }) => name);
}

test('applies what is new, in order, and records it', async (t) => {
  const [db] = open(t);
  assert.ok(db);
  assert.deepEqual(await migrate(db, { migrations: [first], now: () => 1 }), ['0001-first']);
  assert.deepEqual(await migrate(db, { migrations: [first, second], now: () => 2 }), ['0002-second']);
  assert.deepEqual(await migrate(db, { migrations: [first, second] }), []);
  const rows = await db.all<object>('SELECT number, name, applied_at FROM schema_migrations ORDER BY number');
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [
      { number: 1, name: '0001-first', applied_at: 1 },
      { number: 2, name: '0002-second', applied_at: 2 },
    ],
  );
  assert.equal((await db.all('SELECT n FROM b')).length, 1);
});

test('leaves nothing of a migration that fails', async (t) => {
  const [db] = open(t);
  assert.ok(db);
  await assert.rejects(migrate(db, { migrations: [first, broken] }), /already exists/);
  assert.deepEqual(await tables(db), ['a', 'schema_migrations']);
  assert.deepEqual(await migrate(db, { migrations: [first, second] }), ['0002-second']);
});

test('refuses the schema of a newer program in one line, and changes nothing', async (t) => {
  const [db] = open(t);
  assert.ok(db);
  await migrate(db, { migrations: [first, second] });
  await assert.rejects(migrate(db, { migrations: [first] }), (error) => {
    assert.ok(error instanceof FutureSchema);
    assert.match(error.message, /^The database has the migration 0002-second, which this version does not know.*$/);
    return true;
  });
  await assert.rejects(migrate(db, { migrations: [first, broken] }), FutureSchema);
});

test('refuses the schema of a newer program that migrates at the same time', async (t) => {
  const [db, newer] = open(t, 2);
  assert.ok(db && newer);
  let calls = 0;
  const write: Database['write'] = async (...call) => {
    calls += 1;
    if (calls === 2) await migrate(newer, { migrations: [first, second] });
    return db.write(...call);
  };
  await assert.rejects(migrate({ ...db, write }, { migrations: [first] }), FutureSchema);
  assert.deepEqual(await tables(db), ['a', 'b', 'schema_migrations']);
});

test('runs on the schema of a newer program where that says that older ones may', async (t) => {
  const [db] = open(t);
  assert.ok(db);
  await migrate(db, { migrations: [first, { ...second, back: true }] });
  assert.deepEqual(await migrate(db, { migrations: [first] }), []);
  await migrate(db, {
    migrations: [first, { ...second, back: true }, { ...third, back: 'the rows mean something else' }],
  });
  await assert.rejects(migrate(db, { migrations: [first] }), /0003-third/);
  await assert.rejects(migrate(db, { migrations: [third] }), /0001-first/, 'one that knows others in their place');
});

test('keeps the records of a database from before 1.0.0, and trusts none of them to older programs', async (t) => {
  const [db] = open(t);
  assert.ok(db);
  await execute(
    db,
    'CREATE TABLE schema_migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER)',
  );
  for (const [number, name] of [
    [1, '0001-first'],
    [2, '0002-second'],
  ] as const)
    await execute(db, 'INSERT INTO schema_migrations (number, name, applied_at) VALUES ($1, $2, 1)', [number, name]);
  await assert.rejects(migrate(db, { migrations: [first] }), FutureSchema);
  assert.deepEqual(await migrate(db, { migrations: [first, second, { ...third, back: true }] }), ['0003-third']);
  assert.deepEqual(await migrate(db, { migrations: [first, second] }), []);
  await assert.rejects(migrate(db, { migrations: [first] }), /0002-second/);
});

test('from every earlier schema, with data, leads to the schema of a fresh database', async (t) => {
  const [[db], [fresh]] = [open(t), open(t)];
  assert.ok(db && fresh);
  await checkMigrations(db, fresh);
});

/** Leaves alone what an older program reads and writes. A unique index may only be on a new table. */
function addsOnly(statement: string, all: string): boolean {
  const [, table] = /^CREATE UNIQUE INDEX \w+ ON (\w+)/.exec(statement) ?? [];
  if (table !== undefined) return all.includes(`CREATE TABLE ${table} (`);
  if (statement.startsWith('ALTER TABLE'))
    return / ADD COLUMN /.test(statement) && (!statement.includes(' NOT NULL') || statement.includes(' DEFAULT '));
  return /^(CREATE TABLE|CREATE INDEX|CREATE TRIGGER|INSERT INTO table_versions)\b/.test(statement);
}

test('a migration that older programs may run beside, or after, only adds', () => {
  for (const { name, sql, together, back } of migrations) {
    if (together !== true && back !== true) continue;
    for (const text of typeof sql === 'string' ? [sql] : [sql.sqlite, sql.postgres])
      for (const statement of text.replace(/^--.*$/gm, '').split(/;\s*$/m))
        assert.ok(statement.trim() === '' || addsOnly(statement.trim(), text), `${name}: ${statement}`);
  }
});

test('refuses a column type that it does not know', async (t) => {
  const [db] = open(t);
  assert.ok(db);
  await assert.rejects(migrate(db, { migrations: [{ name: 'x', sql: 'CREATE TABLE x (n {number});' }] }), /\{number\}/);
});

test('is applied once by connections that migrate together', async (t) => {
  const databases = open(t, 4);
  const applied = await Promise.all(databases.map((db) => migrate(db, { migrations: [first, second] })));
  assert.deepEqual(applied.flat().sort(), ['0001-first', '0002-second']);
  assert.equal((await databases[0]?.all('SELECT n FROM b'))?.length, 1);
});

test("brings an empty database to this program's schema", async (t) => {
  const [db] = open(t);
  assert.ok(db);
  assert.equal((await migrate(db)).length, migrations.length);
  assert.ok((await tables(db))?.includes('tips'));
});

test('refresh tokens that are there already name who took their place', async (t) => {
  const [db] = open(t);
  assert.ok(db);
  await migrate(db, { migrations: migrations.slice(0, 6) });
  for (const row of [
    ['c', 'fam_1', 'b'],
    ['a', 'fam_1', null],
    ['b', 'fam_1', 'a'],
    ['x', 'fam_2', null],
  ])
    await execute(
      db,
      `INSERT INTO refresh_tokens (hash, creator_id, family_id, parent_hash, created_at, expires_at)
       VALUES ($1, 'crt_1', $2, $3, 1, 2)`,
      row,
    );
  await migrate(db);
  const rows = await db.all<{ hash: string; successor_hash: string | null }>(
    'SELECT hash, successor_hash FROM refresh_tokens ORDER BY hash',
  );
  assert.deepEqual(
    rows.map(({ hash, successor_hash }) => [hash, successor_hash]),
    [
      ['a', 'b'],
      ['b', 'c'],
      ['c', null],
      ['x', null],
    ],
  );
});
