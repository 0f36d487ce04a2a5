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
  /** `true`: a version that does not know this migration may be started on its schema. Else the reason why not. */
  readonly back?: true | string;
}

/** A newer version has migrated the database, and its schema is not for this one. */
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
  applied_at {time} NOT NULL,
  older_may_run {bool} NOT NULL DEFAULT 0
){options}`;

/** A database from before 1.0.0 lacks the column. No row if there is no such table yet. */
const lacksColumn: Sql = {
  sqlite: `SELECT 1 AS n FROM sqlite_schema t WHERE t.name = 'schema_migrations'
           AND NOT EXISTS (SELECT 1 FROM pragma_table_info(t.name) c WHERE c.name = 'older_may_run')`,
  postgres: `SELECT 1 AS n FROM pg_tables t WHERE t.schemaname = current_schema() AND t.tablename = 'schema_migrations'
             AND NOT EXISTS (SELECT 1 FROM information_schema.columns c WHERE c.table_schema = current_schema()
                             AND c.table_name = t.tablename AND c.column_name = 'older_may_run')`,
};
const addColumn = 'ALTER TABLE schema_migrations ADD COLUMN older_may_run {bool} NOT NULL DEFAULT 0';

interface Recorded {
  readonly name: string;
  readonly older_may_run: number;
}

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
  for (const migration of migrations.slice(recorded.length)) {
    const step = stepOf(db.engine, migration);
    const before = await db.write(writes.applyMigration, db.engine, step, names, now());
    refuseUnknown(before, names);
    if (!before.some(({ name }) => name === step.name)) applied.push(step.name);
  }
  return applied;
}

/** The names of the migrations that were applied, in order. */
export const appliedMigrations = async (db: Database): Promise<string[]> =>
  (await readRecorded(db)).map(({ name }) => name);

async function readRecorded(db: Database): Promise<Recorded[]> {
  if (!(await db.get(recordTableExists))) return db.write(writes.recordedMigrations, db.engine);
  return db.all<Recorded>((await db.get(lacksColumn)) ? recordedBefore : recordedSql);
}

const recordTableExists: Sql = {
  sqlite: `SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'`,
  postgres: `SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'schema_migrations'`,
};
const recordedSql = 'SELECT name, older_may_run FROM schema_migrations ORDER BY number';
const recordedBefore = 'SELECT name, 0 AS older_may_run FROM schema_migrations ORDER BY number';

/** Applies every migration inside one transaction, on a database without a schema. */
export async function migrateEmpty(tx: Tx, engine: Database['engine'], now: number): Promise<void> {
  await recordedMigrations(tx, engine);
  const names = known.map(({ name }) => name);
  for (const migration of known) await applyMigration(tx, engine, stepOf(engine, migration), names, now);
}

/** The applied migrations, in order. Creates the table of records. */
async function recordedMigrations(tx: Tx, engine: Database['engine']): Promise<Recorded[]> {
  await lock(tx, engine);
  if (await tx.get(lacksColumn)) await tx.run(forEngine(engine, addColumn));
  await tx.run(forEngine(engine, recordTable));
  return tx.all<Recorded>(recordedSql);
}

/** A migration as the writing thread takes it. */
interface Step {
  readonly name: string;
  readonly statements: readonly string[];
  readonly olderMayRun: boolean;
}

const stepOf = (engine: Database['engine'], { name, sql, back }: Migration): Step => ({
  name,
  statements: statementsOf(engine, sql),
  olderMayRun: back === true,
});

/**
 * Returns the migrations that were applied before. Changes nothing if another process has applied this one
 * meanwhile, or one that this version does not know.
 */
async function applyMigration(
  tx: Tx,
  engine: Database['engine'],
  { name, statements, olderMayRun }: Step,
  names: readonly string[],
  now: number,
): Promise<Recorded[]> {
  const recorded = await recordedMigrations(tx, engine);
  if (recorded.some((row) => row.name === name) || findUnknown(recorded, names) !== undefined) return recorded;
  for (const statement of statements) await tx.run(statement);
  await tx.run('INSERT INTO schema_migrations (number, name, applied_at, older_may_run) VALUES ($1, $2, $3, $4)', [
    names.indexOf(name) + 1,
    name,
    now,
    olderMayRun ? 1 : 0,
  ]);
  return recorded;
}

/** @public The writing thread imports this. */
export const writes = defineWrites(import.meta.url, { recordedMigrations, applyMigration });

/** The first migration that this version neither knows nor may pass over. */
const findUnknown = (recorded: readonly Recorded[], names: readonly string[]): string | undefined =>
  recorded.find(
    ({ name, older_may_run }, index) => names[index] !== name && (index < names.length || older_may_run !== 1),
  )?.name;

function refuseUnknown(recorded: readonly Recorded[], names: readonly string[]): void {
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
