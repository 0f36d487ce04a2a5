/**
 * One connection to a SQLite file: prepared statements, values and errors, all synchronous.
 *
 * - Integers are bound as integers. Left alone, `node:sqlite` binds every number as REAL,
 *   so that `$1 || ''` is '5.0' and `$1 / 2` is a fraction, unlike in PostgreSQL.
 * - Whatever is not a `Value` is refused (statement.ts): `node:sqlite` takes an object in first place for named
 *   parameters and binds NULL, as it does for a parameter that is missing.
 */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { type Sql, StorageUnavailable, UniqueViolation, type Value } from './database.ts';
import { checkParameters, noParameters, readStatement, type StatementText, textFor } from './statement.ts';

/** Primary result codes, https://www.sqlite.org/rescode.html; an extended code has its primary one in the low byte. */
const code = { busy: 5, readonly: 8, ioerr: 10, full: 13, cantopen: 14, protocol: 15 };
const constraint = { primaryKey: 1555, unique: 2067, rowid: 2579 };

const cacheKib = 32 * 1024;
/** Texts are written by hand, so there are few; the bound is against one that is built with values in it. */
const maxStatements = 1_000;
/**
 * Pages in the WAL before a commit copies them to the main file, 16 MiB. Hot pages are rewritten by every batch
 * and copied once, so SQLite's own 1,000 makes four times as many copies and flushes for the same load;
 * much more would make the one copy, and the WAL to read again after a crash, noticeable.
 */
const checkpointPages = 4_000;

interface Prepared extends StatementText {
  readonly statement: StatementSync;
  /** A row from its values. What it holds is known only to who wrote the statement. */
  readonly toRow: (values: unknown) => never;
}

export class SqliteConnection {
  readonly #db: DatabaseSync;
  readonly #mayWrite: boolean;
  readonly #prepared = new Map<string, Prepared>();

  /** One that is opened at the start of a program waits for another process, and holds up its thread meanwhile. */
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
      // What a savepoint or a sort sets aside would go to a file of its own from 64 KiB.
      this.#db.exec('PRAGMA temp_store = MEMORY');
      this.#db.exec(`PRAGMA cache_size = -${cacheKib}`);
      // A busy database is waited for by timers: this setting would hold up the whole event loop.
      this.#db.exec('PRAGMA busy_timeout = 0');
    } catch (error) {
      this.#db.close();
      throw toPortError(error);
    }
  }

  #setUpForWriting(): void {
    this.#db.exec('PRAGMA journal_mode = WAL');
    this.#db.exec('PRAGMA synchronous = FULL');
    this.#db.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
    this.#refuseReadOnly();
  }

  /** SQLite falls back to a read-only connection, which would stay one after the file is writable again. */
  #refuseReadOnly(): void {
    this.#db.exec('BEGIN');
    try {
      this.#db.exec('PRAGMA user_version = 1');
    } catch (error) {
      // One that is locked could be written.
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
      // For any other statement SQLite repeats the count of the last one that wrote.
      return prepared.writes ? Number(changes) : 0;
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
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
  // Never opened here when it exists: closing it would drop the locks that this process may hold on it.
  else if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
}

const bindable = (value: Value): Exclude<Value, number> | bigint => (typeof value === 'number' ? BigInt(value) : value);

/** Waiting may help: another process holds the lock. */
export class Busy extends StorageUnavailable {}

/** The port's error for what SQLite reports; anything else as it is. */
export function toPortError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const message = error.message;
  if (!('errcode' in error) || typeof error.errcode !== 'number') return fileSystemError(error);
  const { errcode } = error;
  if (errcode === constraint.unique || errcode === constraint.primaryKey || errcode === constraint.rowid) {
    return new UniqueViolation(message, { cause: error });
  }
  const primary = errcode & 0xff;
  if (primary === code.busy || primary === code.protocol) return new Busy(message, { cause: error });
  if (primary === code.full || primary === code.ioerr || primary === code.cantopen || primary === code.readonly) {
    return new StorageUnavailable(message, { cause: error });
  }
  return error;
}

function fileSystemError(error: Error): Error {
  return 'syscall' in error ? new StorageUnavailable(error.message, { cause: error }) : error;
}
