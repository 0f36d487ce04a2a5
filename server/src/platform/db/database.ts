/**
 * The database port: one SQL database that holds the truth.
 *
 * Invariants every implementation keeps (the conformance suite holds them to it):
 * - `write` is atomic: its function's statements are recorded together or not at all,
 *   and the promise resolves only after they are durable on disk.
 * - The function does database work only and may run more than once (a serialization retry),
 *   so it has no other effect. Awaiting anything but `tx` inside it is a bug and fails.
 * - A statement that fails dooms its `write`, even if the function catches the error. A conflict that is expected
 *   is written as `ON CONFLICT`.
 * - Reads outside `write` see only what is committed, and always see what a resolved `write` committed.
 * - Storage that cannot be reached or cannot be written rejects with `StorageUnavailable` within five seconds,
 *   records nothing half, and works again by itself once the storage does.
 */

/** What a column can hold. Booleans are 0 and 1, instants are milliseconds since 1970, JSON is text. */
export type Value = string | number | null | Uint8Array;

/** One statement for both engines, with `$1` parameters, or a variant for each where they truly differ. */
export type Sql = string | { readonly sqlite: string; readonly postgres: string };

export interface Reader {
  /** Every row that the statement returns. */
  all<Row>(sql: Sql, params?: readonly Value[]): Promise<Row[]>;
  /** The first row, if any. */
  get<Row>(sql: Sql, params?: readonly Value[]): Promise<Row | undefined>;
}

/** The inside of a `write`. Reads made through it see what it has written. */
export interface Tx extends Reader {
  /** Runs a statement and tells how many rows it changed. */
  run(sql: Sql, params?: readonly Value[]): Promise<number>;
}

/**
 * A write that stands by itself: a function at the top of a module that takes and gives plain data only. So it can run
 * where its database is, also on another thread, which finds it by its module and the name it is exported under.
 * What it needs from outside (the time, new ids) is handed to it. A refusal is something it answers: of an error that
 * it throws only the message is sure to arrive.
 */
export interface Procedure<Input, Output> {
  readonly module: string;
  readonly name: string;
  readonly run: (tx: Tx, input: Input) => Promise<Output>;
}

export interface Database extends Reader {
  readonly engine: 'sqlite' | 'postgres';
  write<T>(fn: (tx: Tx) => Promise<T>): Promise<T>;
  /** `write((tx) => procedure.run(tx, input))`, for hot paths: it need not run on this thread. */
  call<Input, Output>(procedure: Procedure<Input, Output>, input: Input): Promise<Output>;
  /**
   * A write of one statement, giving its first row: `write((tx) => tx.get(sql, params))`. For hot paths: those that
   * arrive together share one commit, in the order of their owners. So that no two of them ever wait for each other,
   * the statement locks a row of its owner before anything else, and nothing of another owner.
   */
  writeOne<Row>(owner: string, sql: Sql, params?: readonly Value[]): Promise<Row | undefined>;
  /**
   * A number that changes whenever one of these tables may have changed, by this process or by another;
   * `undefined` where the engine cannot tell cheaply, and then nothing may be remembered.
   */
  version(tables: readonly string[]): number | undefined;
  /**
   * Calls the listener soon after another process has changed the database; gives back how to stop.
   * Only where one process normally owns the database, and so would not look for itself.
   */
  onExternalChange?(listener: () => void): () => void;
  /** Rejects unless the database can be read and written right now. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** The storage cannot be reached or cannot write. Answered as 502. */
export class StorageUnavailable extends Error {
  override name = 'StorageUnavailable';
}

/** A unique key already holds this value. */
export class UniqueViolation extends Error {
  override name = 'UniqueViolation';
}
