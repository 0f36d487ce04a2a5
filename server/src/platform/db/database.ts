/**
 * The database port. Invariants of every implementation. server/test/conformance tests those that need no fault,
 * server/test/faults the rest:
 *
 * - There is one way to write: `write` runs a function of a transaction and plain data. Its statements are recorded
 *   together or not at all, and the promise resolves only after they are durable on disk.
 * - The function does database work only and may run more than once (a serialization retry), so it has no other
 *   effect. It awaits nothing but the transaction: SQLite fails such a function at once, PostgreSQL only when its
 *   transaction is idle for too long.
 * - A failed statement fails its write, even if the function catches the error. Expected conflicts use `ON CONFLICT`.
 * - Reads outside a write see only committed data, and always see what a resolved write committed.
 * - While the storage cannot be reached or written, calls reject with `StorageUnavailable` within five seconds and record
 *   nothing in part. Calls succeed again as soon as the storage works.
 */

/** The value of a column. Booleans are 0 and 1, times are milliseconds since 1970, JSON is text. */
export type Value = string | number | null | Uint8Array;

/** One statement for both engines, with `$1` parameters, or a variant for each where they truly differ. */
export type Sql = string | { readonly sqlite: string; readonly postgres: string };

export interface Reader {
  all<Row>(sql: Sql, params?: readonly Value[]): Promise<Row[]>;
  /** The first row, if any. */
  get<Row>(sql: Sql, params?: readonly Value[]): Promise<Row | undefined>;
}

/** The inside of a write. Reads made through it see what it has written. */
export interface Tx extends Reader {
  /** Runs a statement and returns how many rows it changed. */
  run(sql: Sql, params?: readonly Value[]): Promise<number>;
}

/**
 * A function at the top level of a module: SQLite's writing thread finds it by module and name. Its arguments and its
 * result are plain data (`structuredClone` must copy them). Time and hashes are arguments, and new ids are too, unless only
 * the write knows how many it needs. A refusal is a result: of a thrown error only what serialized-error.ts sends reaches
 * the caller.
 */
export interface WriteFunction<Args extends unknown[], Answer> {
  (tx: Tx, ...args: Args): Promise<Answer>;
  /** What the audit log may call it, if it leaves a row there (features/audit/audited.ts). */
  readonly actions?: readonly string[];
  /**
   * Completes the answer after the commit, on the thread that ran the write: a signature, say, which takes long and needs
   * no transaction. If it throws, the caller gets the error although the write is recorded.
   */
  complete?(answer: Answer, ...args: Args): Answer;
}

/** What the caller of a committed write gets. */
export const completeAnswer = <Args extends unknown[], Answer>(
  { complete }: WriteFunction<Args, Answer>,
  answer: Answer,
  args: Args,
): Answer => (complete ? complete(answer, ...args) : answer);

/** A write function with its location. Created by `defineWrites`. */
export interface Write<Args extends unknown[], Answer> {
  readonly module: string;
  readonly name: string;
  readonly run: WriteFunction<Args, Answer>;
  readonly postgres?: PostgresStatement<Args, Answer> | undefined;
}

/**
 * The same write as one PostgreSQL statement. Such statements are sent in groups: one round trip and one commit for each
 * group. The statement must lock a row of its owner first, and no row of another owner, so that groups cannot deadlock.
 * If it returns no row, it must have changed nothing: then the function runs instead.
 */
export interface PostgresStatement<Args extends unknown[], Answer> {
  statement(...args: Args): { readonly owner: string; readonly sql: string; readonly params: readonly Value[] };
  /** The result that the function would return. `row` has the columns of the statement. */
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
   * A number that changes whenever one of these tables may have changed, by any process. `undefined` if the engine does
   * not know: then nothing may be cached.
   */
  version(tables: readonly string[]): number | undefined;
  /**
   * Calls the listener soon after another process has changed the database. Returns a function that unsubscribes.
   * Only on SQLite, where changes by the command line come without hints.
   */
  onExternalChange?(listener: () => void): () => void;
  /**
   * Removes what was deleted or overwritten from the write-ahead log beside the database file, by truncating the log.
   * Resolves to false if another reader prevents it for now. Only on SQLite; PostgreSQL removes it by its vacuum.
   */
  truncateLog?(): Promise<boolean>;
  /** Removes what was deleted from these tables. Others read and write them meanwhile. Only on PostgreSQL. */
  vacuum?(tables: readonly string[]): Promise<void>;
  /** Rejects unless the database can be read and written right now. */
  ping(): Promise<void>;
  stats(): DatabaseStats;
  close(): Promise<void>;
}

/** Counts since the start. */
export interface DatabaseStats {
  readonly commits: number;
  /** Writes in these commits. */
  readonly writes: number;
  /** The time that these commits took. */
  readonly commitSeconds: number;
  /** Connections, where there is a pool of them. */
  readonly pool?: { readonly open: number; readonly idle: number; readonly waiting: number };
}

export const storageProblems = ['busy', 'disk_full', 'read_only', 'io', 'connection', 'timeout', 'other'] as const;
export type StorageProblem = (typeof storageProblems)[number];

/** The storage cannot be reached or cannot write. Answered as 502. */
export class StorageUnavailable extends Error {
  override name = 'StorageUnavailable';
  readonly reason: StorageProblem;
  constructor(message: string, { reason = 'other', ...options }: ErrorOptions & { reason?: StorageProblem } = {}) {
    super(message, options);
    this.reason = reason;
  }
}

export class UniqueViolation extends Error {
  override name = 'UniqueViolation';
}

/** A write throws it, and so changes nothing, if the one whose rows it changes was deleted since they were read. */
export class OwnerGone extends Error {
  override name = 'OwnerGone';
}
