/**
 * Brings a database to the schema of this program. Each migration is one transaction together with its record,
 * under a lock, so that processes that start together apply it once. Statements end with a semicolon at a line's end.
 */
import type { Database, Sql, Tx } from './database.ts';
import { migrations as known } from './migrations/index.ts';
import { textFor } from './statement.ts';

export interface Migration {
  readonly name: string;
  readonly sql: Sql;
}

/** The database was written by a newer program, whose data this one would misread. */
export class FutureSchema extends Error {
  readonly code = 'future_schema';
}

/** Keys are compared byte by byte on both engines, so that they sort the same. */
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

/** Any number that no other user of the same PostgreSQL database takes. */
const advisoryLock = 7_220_190_344;

const recordTable = `
CREATE TABLE IF NOT EXISTS schema_migrations (
  number {int} PRIMARY KEY,
  name {text} NOT NULL,
  applied_at {time} NOT NULL
){options}`;

/** Gives back the names of the migrations that it applied. */
export async function migrate(
  db: Database,
  { migrations = known, now = Date.now }: { migrations?: readonly Migration[]; now?: () => number } = {},
): Promise<string[]> {
  const applied: string[] = [];
  for (const [index, migration] of migrations.entries()) {
    const done = await db.write(async (tx) => {
      await lock(db, tx);
      await tx.run(forEngine(db.engine, recordTable));
      const recorded = await tx.all<{ number: number; name: string }>(
        'SELECT number, name FROM schema_migrations ORDER BY number',
      );
      refuseUnknown(recorded, migrations);
      if (recorded.length > index) return false;
      for (const statement of forEngine(db.engine, migration.sql).split(/;\s*$/m)) {
        if (statement.trim() !== '') await tx.run(statement);
      }
      await tx.run('INSERT INTO schema_migrations (number, name, applied_at) VALUES ($1, $2, $3)', [
        index + 1,
        migration.name,
        now(),
      ]);
      return true;
    });
    if (done) applied.push(migration.name);
  }
  return applied;
}

function refuseUnknown(recorded: readonly { number: number; name: string }[], migrations: readonly Migration[]): void {
  const unknown = recorded.find(({ number, name }) => migrations[number - 1]?.name !== name);
  if (unknown) {
    throw new FutureSchema(
      `The database has the migration ${unknown.name}, which this version does not know: use the version that wrote it, or a newer one`,
    );
  }
}

/** SQLite's write transaction is such a lock already. */
async function lock(db: Database, tx: Tx): Promise<void> {
  if (db.engine === 'postgres') await tx.get('SELECT pg_advisory_xact_lock($1)', [advisoryLock]);
}

function forEngine(engine: Database['engine'], sql: Sql): string {
  return textFor(engine, sql).replace(/\{(\w+)\}/g, (token, name: string) => {
    const type = columnTypes[engine][name];
    if (type === undefined) throw new Error(`Unknown column type ${token}`);
    return type;
  });
}
