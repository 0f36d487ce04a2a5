/**
 * One connection to a SQLite file: prepared statements, values and errors, all synchronous.
 *
 * - Integers are bound as integers. By default `node:sqlite` binds every number as REAL, so that `$1 || ''` is '5.0' and
 *   `$1 / 2` is a fraction, unlike in PostgreSQL.
 * - Parameters that are not a `Value` are refused (statement.ts): `node:sqlite` reads an object as the first argument as
 *   named parameters and binds NULL, and it binds NULL for a missing parameter.
 */
import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { makeDirectory } from '../make-directory.ts';
import { canonicalText } from './canonical.ts';
import { type Sql, type StorageProblem, StorageUnavailable, UniqueViolation, type Value } from './database.ts';
import { checkParameters, noParameters, readStatement, type StatementText, textFor } from './statement.ts';

/** Primary result codes, https://www.sqlite.org/rescode.html. They are the low byte of an extended code. */
const code = { busy: 5, readonly: 8, ioerr: 10, full: 13, cantopen: 14, protocol: 15 };
const constraint = { primaryKey: 1555, unique: 2067, rowid: 2579 };

const cacheKib = 32 * 1024;
/** There are few statements. The limit guards against statements that are built with values in their text. */
const maxStatements = 1_000;
/**
 * Pages in the WAL (16 MiB) before a commit copies them to the main file. Batches rewrite the same pages, and each is
 * copied once, so SQLite's default of 1,000 causes four times as many copies and flushes. With many more pages the copy
 * itself, and the recovery after a crash, would be noticeable.
 */
const checkpointPages = 4_000;

interface Prepared extends StatementText {
  readonly statement: StatementSync;
  /** Makes a row of its values. The caller of the statement knows the type of the row. */
  readonly toRow: (values: unknown) => never;
}

/** Rewrites the header page: a write that needs no table, but free space on the disk. */
export const rewriteHeader = 'PRAGMA user_version = 1';

export class SqliteConnection {
  readonly #db: DatabaseSync;
  readonly #mayWrite: boolean;
  readonly #prepared = new Map<string, Prepared>();

  /** Opening waits up to `waitMs` for the lock of another process and blocks the thread. */
  constructor(file: string, { mayWrite, waitMs = 5_000 }: { mayWrite: boolean; waitMs?: number }) {
    this.#mayWrite = mayWrite;
    try {
      if (mayWrite) ensurePrivateFile(file);
      this.#db = new DatabaseSync(file, { readOnly: !mayWrite, timeout: waitMs });
    } catch (error) {
      throw toPortError(error);
    }
    try {
      if (mayWrite) this.#setUpForWriting();
      this.#db.function('canonical_text', { deterministic: true }, canonicalText);
      // By default savepoints and sorts write temporary data above 64 KiB to a file.
      this.#db.exec('PRAGMA temp_store = MEMORY');
      this.#db.exec(`PRAGMA cache_size = -${cacheKib}`);
      // Callers retry with timers. This setting would block the event loop.
      this.#db.exec('PRAGMA busy_timeout = 0');
    } catch (error) {
      this.#db.close();
      throw toPortError(error);
    }
  }

  #setUpForWriting(): void {
    this.#db.exec('PRAGMA journal_mode = WAL');
    this.#db.exec('PRAGMA synchronous = FULL');
    // What is deleted or overwritten is zeroed in the file, not only marked as free.
    this.#db.exec('PRAGMA secure_delete = ON');
    this.#db.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
    this.#refuseReadOnly();
  }

  /** SQLite falls back to a read-only connection, which would stay read-only after the file is writable again. */
  #refuseReadOnly(): void {
    this.#db.exec('BEGIN');
    try {
      this.#db.exec(rewriteHeader);
    } catch (error) {
      // A locked file is writable.
      if (!(toPortError(error) instanceof Busy)) throw error;
    }
    this.#db.exec('ROLLBACK');
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }

  all<Row>(sql: Sql, params: readonly Value[] = noParameters): Row[] {
    const prepared = this.#prepare(sql, params);
    try {
      const rows: unknown[] = prepared.statement.all(...params.map(bindable));
      return rows.map((values): Row => prepared.toRow(values));
    } catch (error) {
      throw toPortError(error);
    }
  }

  get<Row>(sql: Sql, params: readonly Value[] = noParameters): Row | undefined {
    const prepared = this.#prepare(sql, params);
    try {
      const values: unknown = prepared.statement.get(...params.map(bindable));
      return values === undefined ? undefined : prepared.toRow(values);
    } catch (error) {
      throw toPortError(error);
    }
  }

  run(sql: Sql, params: readonly Value[] = noParameters): number {
    const prepared = this.#prepare(sql, params);
    try {
      const { changes } = prepared.statement.run(...params.map(bindable));
      // For other statements SQLite returns the count of the last one that wrote.
      return prepared.writes ? Number(changes) : 0;
    } catch (error) {
      throw toPortError(error);
    }
  }

  /**
   * Copies the WAL to the main file and truncates it. Returns whether it did: a reader of an older state prevents it. Must
   * not be called inside a transaction.
   */
  truncateLog(): boolean {
    try {
      const outcome = this.#db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
      return outcome?.busy === 0;
    } catch (error) {
      throw toPortError(error);
    }
  }

  close(): void {
    this.#db.close();
  }

  #prepare(sql: Sql, params: readonly Value[]): Prepared {
    const text = textFor('sqlite', sql);
    let prepared = this.#prepared.get(text);
    if (!prepared) {
      const read = readStatement(text);
      if (read.writes && !this.#mayWrite) throw new Error(`A statement that writes, outside write(): ${text}`);
      try {
        const statement = this.#db.prepare(read.questionMarks);
        statement.setReturnArrays(true);
        prepared = { ...read, statement, toRow: rowMaker(statement) };
      } catch (error) {
        throw toPortError(error);
      }
      if (this.#prepared.size >= maxStatements) this.#prepared.clear();
      this.#prepared.set(text, prepared);
    }
    checkParameters(prepared, params);
    return prepared;
  }
}

/**
 * `node:sqlite` hands out rows without a prototype, which V8 keeps as hash tables: reading the fields of fifty tips
 * took longer than reading the tips. So it is asked for the values alone, and each statement gets a function that
 * puts its own into an object. A statement names its columns (no `SELECT *`), so they stay what they are.
 */
function rowMaker(statement: StatementSync): Prepared['toRow'] {
  const fields = statement.columns().map(({ name }, i) => `${JSON.stringify(name)}: values[${i}]`);
  return new Function('values', `return { ${fields.join(', ')} };`) as Prepared['toRow'];
}

/** The main file decides the mode of the WAL and the shared memory beside it. */
function ensurePrivateFile(file: string): void {
  makeDirectory(dirname(file), 0o700);
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
  // An existing file is not opened here: closing it would drop the locks that this process holds on it.
  else if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
}

const bindable = (value: Value): Exclude<Value, number> | bigint => (typeof value === 'number' ? BigInt(value) : value);

const problems: ReadonlyMap<number, StorageProblem> = new Map([
  [code.full, 'disk_full'],
  [code.ioerr, 'io'],
  [code.cantopen, 'io'],
  [code.readonly, 'read_only'],
]);

/** Another process holds the lock. A retry may succeed. */
export class Busy extends StorageUnavailable {}

/** The port's error for an error of SQLite. Other errors are returned unchanged. */
export function toPortError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const message = error.message;
  if (!('errcode' in error) || typeof error.errcode !== 'number') return fileSystemError(error);
  const { errcode } = error;
  if (errcode === constraint.unique || errcode === constraint.primaryKey || errcode === constraint.rowid) {
    return new UniqueViolation(message, { cause: error });
  }
  const primary = errcode & 0xff;
  if (primary === code.busy || primary === code.protocol) return new Busy(message, { cause: error, reason: 'busy' });
  const reason = problems.get(primary);
  return reason ? new StorageUnavailable(message, { cause: error, reason }) : error;
}

function fileSystemError(error: Error): Error {
  if (!('syscall' in error)) return error;
  const reason = 'code' in error && error.code === 'ENOSPC' ? 'disk_full' : 'io';
  return new StorageUnavailable(error.message, { cause: error, reason });
}
