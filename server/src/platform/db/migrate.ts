/**
 * Migrates a database to the schema of this version. Each migration and its record are one transaction under a lock, so
 * that processes that start together apply it once. Statements end with a semicolon at the end of a line.
 */
import { type Database, defineWrites, type Sql, type Tx } from './database.ts';
import { migrations as known } from './migrations/index.ts';
import { textFor } from './statement.ts';

export interface Migration {
  readonly name: string;
  readonly sql: Sql;
}

/** A newer version has migrated the database. */
export class FutureSchema extends Error {
  readonly code = 'future_schema';
}

/** Ids are compared by bytes on both engines, so that they sort alike. */
const columnTypes: Record<Database['engine'], Record<string, string>> = {
  sqlite: {
    id: 'TEXT',
    text: 'TEXT',
    int: 'INTEGER',
    bool: 'INTEGER',
    time: 'INTEGER',
    bytes: 'BLOB',
    json: 'TEXT',
    options: ' STRICT',
  },
  postgres: {
    id: 'TEXT COLLATE "C"',
    text: 'TEXT',
    int: 'BIGINT',
    bool: 'BIGINT',
    time: 'BIGINT',
    bytes: 'BYTEA',
    json: 'TEXT',
    options: '',
  },
};

/** An arbitrary number that no other program uses on the same PostgreSQL database. */
const advisoryLock = 7_220_190_344;

const recordTable = `
CREATE TABLE IF NOT EXISTS schema_migrations (
  number {int} PRIMARY KEY,
  name {text} NOT NULL,
  applied_at {time} NOT NULL
){options}`;

/** Returns the names of the migrations that it applied. */
export async function migrate(
  db: Database,
  { migrations = known, now = Date.now }: { migrations?: readonly Migration[]; now?: () => number } = {},
): Promise<string[]> {
  const names = migrations.map(({ name }) => name);
  // A start without anything to migrate does not wait for the writing thread.
  const recorded = await readRecorded(db);
  refuseUnknown(recorded, names);
  const applied: string[] = [];
  for (const { name, sql } of migrations.slice(recorded.length)) {
    const before = await db.write(writes.applyMigration, db.engine, name, statementsOf(db.engine, sql), names, now());
    refuseUnknown(before, names);
    if (!before.includes(name)) applied.push(name);
  }
  return applied;
}

async function readRecorded(db: Database): Promise<string[]> {
  if (!(await db.get(recordTableExists))) return db.write(writes.recordedMigrations, db.engine);
  return namesOf(await db.all<{ name: string }>(recordedSql));
}

const recordTableExists: Sql = {
  sqlite: `SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'`,
  postgres: `SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'schema_migrations'`,
};
const recordedSql = 'SELECT name FROM schema_migrations ORDER BY number';
const namesOf = (rows: readonly { readonly name: string }[]): string[] => rows.map(({ name }) => name);

/** Applies every migration inside one transaction, on a database without a schema. */
export async function migrateEmpty(tx: Tx, engine: Database['engine'], now: number): Promise<void> {
  await recordedMigrations(tx, engine);
  const names = known.map(({ name }) => name);
  for (const { name, sql } of known) await applyMigration(tx, engine, name, statementsOf(engine, sql), names, now);
}

/** The names of the applied migrations, in order. Creates the table of records. */
async function recordedMigrations(tx: Tx, engine: Database['engine']): Promise<string[]> {
  await lock(tx, engine);
  await tx.run(forEngine(engine, recordTable));
  return namesOf(await tx.all<{ name: string }>(recordedSql));
}

/**
 * Returns the names of the migrations that were applied before. Changes nothing if another process has applied this one
 * meanwhile, or one that this version does not know.
 */
async function applyMigration(
  tx: Tx,
  engine: Database['engine'],
  name: string,
  statements: readonly string[],
  names: readonly string[],
  now: number,
): Promise<string[]> {
  const recorded = await recordedMigrations(tx, engine);
  if (recorded.includes(name) || findUnknown(recorded, names) !== undefined) return recorded;
  for (const statement of statements) await tx.run(statement);
  await tx.run('INSERT INTO schema_migrations (number, name, applied_at) VALUES ($1, $2, $3)', [
    names.indexOf(name) + 1,
    name,
    now,
  ]);
  return recorded;
}

/** @public The writing thread imports this. */
export const writes = defineWrites(import.meta.url, { recordedMigrations, applyMigration });

const findUnknown = (recorded: readonly string[], names: readonly string[]): string | undefined =>
  recorded.find((name, index) => names[index] !== name);

function refuseUnknown(recorded: readonly string[], names: readonly string[]): void {
  const unknown = findUnknown(recorded, names);
  if (unknown !== undefined) {
    throw new FutureSchema(
      `The database has the migration ${unknown}, which this version does not know: use the version that wrote it, or a newer one`,
    );
  }
}

/** On SQLite the write transaction is such a lock. */
async function lock(tx: Tx, engine: Database['engine']): Promise<void> {
  if (engine === 'postgres') await tx.get('SELECT pg_advisory_xact_lock($1)', [advisoryLock]);
}

const statementsOf = (engine: Database['engine'], sql: Sql): string[] =>
  forEngine(engine, sql)
    .split(/;\s*$/m)
    .filter((statement) => statement.trim() !== '');

function forEngine(engine: Database['engine'], sql: Sql): string {
  return textFor(engine, sql).replace(/\{(\w+)\}/g, (token, name: string) => {
    const type = columnTypes[engine][name];
    if (type === undefined) throw new Error(`Unknown column type ${token}`);
    return type;
  });
}
