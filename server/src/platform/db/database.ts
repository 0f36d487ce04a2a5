/**
 * The database port: one SQL database that holds the truth.
 *
 * Invariants that every implementation keeps (server/test/conformance tests them):
 * - There is one way to write: `write` runs a function of a transaction and plain data. Its statements are recorded
 *   together or not at all, and the promise resolves only after they are durable on disk.
 * - The function does database work only and may run more than once (a serialization retry), so it has no other
 *   effect. To await anything but the transaction inside it is a bug and fails.
 * - A statement that fails dooms its write, even if the function catches the error. An expected conflict is written
 *   as `ON CONFLICT`.
 * - Reads outside a write see only committed data, and always see what a resolved write committed.
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

/** The inside of a write. Reads made through it see what it has written. */
export interface Tx extends Reader {
  /** Runs a statement and tells how many rows it changed. */
  run(sql: Sql, params?: readonly Value[]): Promise<number>;
}

/**
 * A function at the top of a module. Its arguments and its answer are plain data (whatever `structuredClone` copies):
 * SQLite's writing thread finds the function by module and name. Time, new ids and hashes are arguments. A refusal is
 * an answer: of a thrown error only its message and whether the storage failed reach the caller.
 */
export type WriteFunction<Args extends unknown[], Answer> = (tx: Tx, ...args: Args) => Promise<Answer>;

/** A write function and where a thread finds it. Made by `defineWrites`. */
export interface Write<Args extends unknown[], Answer> {
  readonly module: string;
  readonly name: string;
  readonly run: WriteFunction<Args, Answer>;
  readonly postgres?: PostgresStatement<Args, Answer> | undefined;
}

/**
 * The same write as one PostgreSQL statement. Such statements travel in groups, each group one round trip and one
 * commit. To keep groups from waiting for each other, the statement locks a row of its owner before anything else and
 * nothing of another owner. Where it returns no row, it must have changed nothing: then the function runs instead.
 */
export interface PostgresStatement<Args extends unknown[], Answer> {
  statement(...args: Args): { readonly owner: string; readonly sql: string; readonly params: readonly Value[] };
  /** What the function would have answered. The row's columns are those of the statement. */
  answer(row: never, ...args: Args): Answer;
}

/**
 * Names the writes of a module: `export const writes = defineWrites(import.meta.url, { recordTip, voidTip })`.
 * They are called as `db.write(writes.recordTip, tip)`. The export is always named `writes`.
 */
export function defineWrites<Functions extends Record<string, WriteFunction<never[], unknown>>>(
  module: string,
  functions: Functions,
  postgres: { readonly [Name in keyof Functions]?: StatementOf<Functions[Name]> } = {},
) {
  const writes = Object.entries(functions).map(([name, run]) => [
    name,
    { module, name, run, postgres: postgres[name] },
  ]);
  return Object.fromEntries(writes) as { readonly [Name in keyof Functions]: WriteOf<Functions[Name]> };
}

type WriteOf<Function> = Function extends WriteFunction<infer Args, infer Answer> ? Write<Args, Answer> : never;
type StatementOf<Function> =
  Function extends WriteFunction<infer Args, infer Answer> ? PostgresStatement<Args, Answer> : never;

export interface Database extends Reader {
  readonly engine: 'sqlite' | 'postgres';
  write<Args extends unknown[], Answer>(write: Write<Args, Answer>, ...args: Args): Promise<Answer>;
  /**
   * A number that changes whenever one of these tables may have changed, by this process or by another;
   * `undefined` where the engine cannot tell cheaply: then nothing may be cached.
   */
  version(tables: readonly string[]): number | undefined;
  /**
   * Calls the listener soon after another process has changed the database; returns a function that stops this.
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
