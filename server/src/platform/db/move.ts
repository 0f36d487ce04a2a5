/**
 * Moves a SQLite database into an empty PostgreSQL one, whole or not at all.
 *
 * - On the target everything (schema, rows, check) is one transaction: a failure leaves nothing behind.
 * - The source is only read, under an exclusive lock. A server that runs on it is detected, and none can start on it
 *   meanwhile, so no record is missed.
 * - Before the commit the counts of rows and values are compared, and for each column a sum: of its numbers, or of the
 *   lengths of its texts and bytes.
 */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import type { Tx } from './database.ts';
import { migrateEmpty } from './migrate.ts';
import { migrations } from './migrations/index.ts';
import { Statements, transaction } from './postgres-statements.ts';
import { columnTypes } from './postgres-types.ts';

export interface Move {
  readonly from: string;
  readonly to: string;
  readonly onProgress?: (done: number, total: number, table: string) => void;
}

interface Table {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: number;
}

/** The move is refused or has failed. Nothing was changed. */
class MoveError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const batchRows = 1_000;
/** Avatars are large, and a batch is one parameter. */
const batchBytes = 4 * 2 ** 20;
/** Sums of remainders stay below the limit of exact numbers, unlike sums of times. */
const modulus = 1_000_003;

export async function moveDatabase({ from, to, onProgress = () => {} }: Move): Promise<readonly Table[]> {
  const source = openSource(from);
  const target = new pg.Client({ connectionString: to, application_name: 'namjai', types: columnTypes });
  // A broken connection fails its query. Without a listener it would also end the process.
  target.on('error', () => {});
  try {
    await target.connect();
    const tables = tablesOf(source);
    const total = tables.reduce((sum, { rows }) => sum + rows, 0);
    await transaction(target, new Statements(), async (tx) => {
      await refuseUsed(tx);
      await migrateEmpty(tx, 'postgres', Date.now());
      let done = 0;
      for (const table of tables) {
        for (const rows of batches(source, table)) {
          await insert(tx, table, rows);
          done += rows.length;
          onProgress(done, total, table.name);
        }
        await compare(source, tx, table);
      }
    });
    return tables;
  } finally {
    source.close();
    await target.end();
  }
}

function openSource(file: string): DatabaseSync {
  if (!existsSync(file)) throw new MoveError('source_missing', `There is no database at ${file}.`);
  const source = new DatabaseSync(file, { timeout: 1_000 });
  try {
    // In WAL mode every process with the file open holds a shared lock. This takes and holds the exclusive lock.
    source.exec('PRAGMA locking_mode = EXCLUSIVE');
    source.exec('PRAGMA query_only = ON');
    const recorded = source.prepare('SELECT name FROM schema_migrations ORDER BY number').all();
    if (recorded.map(({ name }) => name).join() !== migrations.map(({ name }) => name).join())
      throw new MoveError(
        'source_schema',
        `${file} does not have this version's schema: bring it up to date first with DATABASE_URL=sqlite:${file} namjai migrate`,
      );
    return source;
  } catch (error) {
    source.close();
    if (error instanceof MoveError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    if (/locked|busy/.test(message))
      throw new MoveError('source_in_use', `${file} is in use: stop the server that runs on it first.`);
    throw new MoveError('source_unreadable', `${file} cannot be read: ${message}.`);
  }
}

async function refuseUsed(tx: Tx): Promise<void> {
  const found = await tx.get<{ name: string }>(
    'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() LIMIT 1',
  );
  if (found)
    throw new MoveError('target_not_empty', `The target has tables (${found.name}): give it an empty database.`);
}

function tablesOf(source: DatabaseSync): Table[] {
  const names = source
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .all()
    .map(({ name }) => String(name))
    // The target's migrations write the first; only SQLite uses the second.
    .filter((name) => name !== 'schema_migrations' && name !== 'table_versions');
  return names.map((name) => ({
    name,
    columns: source
      .prepare('SELECT name, type FROM pragma_table_info(?)')
      .all(name)
      .map((column) => ({ name: String(column.name), type: String(column.type) })),
    rows: Number(source.prepare(`SELECT COUNT(*) AS n FROM "${name}"`).get()?.n),
  }));
}

type Row = Record<string, unknown>;

const listOf = ({ columns }: Table): string => columns.map(({ name }) => `"${name}"`).join(', ');

function* batches(source: DatabaseSync, table: Table): Generator<Row[]> {
  let batch: Row[] = [];
  let bytes = 0;
  for (const row of source.prepare(`SELECT ${listOf(table)} FROM "${table.name}"`).iterate()) {
    batch.push(row);
    for (const value of Object.values(row)) if (value instanceof Uint8Array) bytes += value.length;
    if (batch.length < batchRows && bytes < batchBytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

/** Sends a batch as one JSON text, with bytes in PostgreSQL's hex format. */
async function insert(tx: Tx, table: Table, rows: readonly Row[]): Promise<void> {
  const json = JSON.stringify(rows, (_, value) =>
    value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value,
  );
  const [name, columns] = [table.name, listOf(table)];
  await tx.run(
    `INSERT INTO "${name}" (${columns}) SELECT ${columns} FROM json_populate_recordset(NULL::"${name}", $1)`,
    [json],
  );
}

/** Compares the count of rows, and for each column the count of its values and the sum of its numbers or lengths. */
async function compare(source: DatabaseSync, tx: Tx, { name, columns }: Table): Promise<void> {
  const sums = (bytes: (column: string) => string): string => {
    const each = columns.map(({ name: column, type }, i) => {
      const measure = type === 'INTEGER' ? `"${column}" % ${modulus}` : bytes(column);
      return `, COUNT("${column}") AS n${i}, COALESCE(SUM(${measure}), 0) AS s${i}`;
    });
    return `SELECT COUNT(*) AS n${each.join('')} FROM "${name}"`;
  };
  const before = source.prepare(sums((column) => `length(CAST("${column}" AS BLOB))`)).get();
  const after = await tx.get(sums((column) => `octet_length("${column}")`));
  const [here, there] = [JSON.stringify(before), JSON.stringify(after)];
  if (here !== there) throw new MoveError('check_failed', `The table ${name} is not the same: ${here}, then ${there}.`);
}
