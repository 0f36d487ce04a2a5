/**
 * Writes that arrive together share one commit, so that one disk flush makes all of them durable. The writing thread
 * and, where there is none, the event loop run this same code.
 *
 * Invariants:
 * - Between BEGIN and COMMIT only microtasks run: a write's own statements are synchronous. A write that is not done
 *   when the microtasks are used up awaits something else, which would hold the lock for everyone: it fails.
 * - A write that fails takes nothing of the others with it. As hardly any fails, they run without savepoints, for
 *   which SQLite would copy every page that each write touches. After a failure the whole batch is rolled back and
 *   runs once more, each write in a savepoint of its own.
 * - Nobody is answered before the COMMIT. If it fails all fail, also those that were refused for a reason
 *   of their own: what they saw may have been written by a neighbour that is now gone.
 * - A COMMIT that failed may have left its frames in the WAL, where a crash would bring them back. Before anybody is
 *   refused, a commit that changes nothing is put in their place: it overwrites the first frame, and as each frame's
 *   checksum covers those before it, the rest is void, even if the disk does not flush this commit either.
 *   It is tried again until it, or any other commit, succeeds.
 */
import { defineWrites, type Sql, StorageUnavailable, type Tx, type Value } from './database.ts';
import { Busy, type SqliteConnection } from './sqlite-connection.ts';

/** A batch ends at whichever comes first, so that slow writes do not stand before everybody else's answers. */
const maxWrites = 256;
const maxBatchMs = 10;
const busyRetryMs = 10;
const voidRetryMs = 200;

/** Rewrites the file's header page: a commit that changes nothing, needs no table, and needs room on the disk. */
const touchHeader = (tx: Tx): Promise<number> => tx.run('PRAGMA user_version = 1');

export const writes = defineWrites(import.meta.url, { touchHeader });

export class WriteBatcher {
  readonly #connection: SqliteConnection;
  readonly #waitMs: number;
  #queue: QueuedWrite[] = [];
  #current: QueuedWrite | undefined;
  #active = false;
  /** The next batch holds writes that have failed together: each gets a savepoint. */
  #useSavepoints = false;
  #voidTimer: NodeJS.Timeout | undefined;
  #onIdle: (() => void)[] = [];

  /** `waitMs`: how long a write waits for another process that holds the lock before it is refused. */
  constructor(connection: SqliteConnection, waitMs: number) {
    this.#connection = connection;
    this.#waitMs = waitMs;
  }

  /** `since`: when the caller began to wait, on the clock of `performance.now()`. */
  write<T>(run: (tx: Tx) => Promise<T>, since = performance.now()): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#queue.push(new PendingWrite(run, resolve, reject, since));
      if (this.#active) return;
      this.#active = true;
      this.#next(0);
    });
  }

  /** Resolves when every queued write has been answered. */
  async stop(): Promise<void> {
    if (this.#active) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
    clearTimeout(this.#voidTimer);
  }

  #next(delayMs: number): void {
    if (this.#queue.length === 0) {
      this.#active = false;
      for (const resolve of this.#onIdle.splice(0)) resolve();
    } else if (delayMs === 0) setImmediate(() => this.#runNext());
    else setTimeout(() => this.#runNext(), delayMs);
  }

  async #runNext(): Promise<void> {
    try {
      this.#begin();
    } catch (error) {
      this.#refuse(error);
      this.#next(busyRetryMs);
      return;
    }
    await this.#runBatch();
  }

  /** Refuses every queued write if the storage fails; if it is busy, those that have waited long enough. */
  #refuse(error: unknown): void {
    const latest = error instanceof Busy ? performance.now() - this.#waitMs : Number.POSITIVE_INFINITY;
    const refused = this.#queue.filter((write) => write.since <= latest);
    this.#queue = this.#queue.filter((write) => write.since > latest);
    for (const write of refused) {
      write.fail(error);
      write.answer();
    }
  }

  async #runBatch(): Promise<void> {
    const useSavepoints = this.#useSavepoints;
    this.#useSavepoints = false;
    this.#failForeignAwaits();
    const batch: QueuedWrite[] = [];
    let committing = false;
    try {
      const end = performance.now() + maxBatchMs;
      do {
        const write = this.#queue.shift();
        if (!write) break;
        batch.push(write);
        if (await (useSavepoints ? this.#runInSavepoint(write) : this.#run(write))) {
          this.#repeatWithSavepoints(batch);
          return;
        }
      } while (batch.length < maxWrites && performance.now() < end);
      committing = true;
      this.#commit();
    } catch (error) {
      this.#rollBack();
      if (committing) this.#voidRefusedFrames();
      for (const write of batch) write.fail(error);
    }
    this.#current = undefined;
    for (const write of batch) write.answer();
    this.#next(0);
  }

  /** Resolves with the write's failure, if any. Throws only what ends the whole batch. */
  async #run(write: QueuedWrite): Promise<Failure | undefined> {
    this.#current = write;
    const failure = await write.attempt(this.#connection);
    if (failure?.error instanceof StorageUnavailable) throw failure.error;
    return failure;
  }

  async #runInSavepoint(write: QueuedWrite): Promise<undefined> {
    this.#connection.run('SAVEPOINT one');
    if (await this.#run(write)) this.#connection.run('ROLLBACK TO one');
    this.#connection.run('RELEASE one');
  }

  #repeatWithSavepoints(batch: readonly QueuedWrite[]): void {
    this.#current = undefined;
    this.#rollBack();
    this.#useSavepoints = true;
    this.#queue.unshift(...batch);
    this.#next(0);
  }

  /** A tick that is asked for inside a microtask runs once there is no microtask left. */
  #failForeignAwaits(): void {
    queueMicrotask(() =>
      process.nextTick(() => {
        if (!this.#current) return;
        this.#current.abandon(new Error('A write function awaited something other than its transaction'));
        this.#failForeignAwaits();
      }),
    );
  }

  #voidRefusedFrames(): void {
    try {
      this.#begin();
      this.#connection.run('PRAGMA user_version = 1');
      this.#commit();
    } catch {
      this.#rollBack();
      clearTimeout(this.#voidTimer);
      this.#voidTimer = setTimeout(() => this.#voidRefusedFrames(), voidRetryMs).unref();
    }
  }

  #begin(): void {
    if (this.#connection.inTransaction) this.#connection.run('ROLLBACK');
    this.#connection.run('BEGIN IMMEDIATE');
  }

  #commit(): void {
    this.#connection.run('COMMIT');
    clearTimeout(this.#voidTimer);
  }

  /** At once, so that other processes need not wait. `#begin` repeats a rollback that fails here. */
  #rollBack(): void {
    try {
      if (this.#connection.inTransaction) this.#connection.run('ROLLBACK');
    } catch {
      // The caller is told the error that led here.
    }
  }
}

type Failure = { readonly error: unknown };
type Outcome<T> = { readonly value: T } | Failure;

/** What a batch needs to know of a write, whatever its result. */
interface QueuedWrite {
  readonly since: number;
  /** Runs the function inside the open transaction; resolves with its failure, or with nothing. */
  attempt(connection: SqliteConnection): Promise<Failure | undefined>;
  /** Ends an attempt that is still under way. */
  abandon(error: Error): void;
  fail(error: unknown): void;
  answer(): void;
}

class PendingWrite<T> implements QueuedWrite {
  readonly since: number;
  readonly #run: (tx: Tx) => Promise<T>;
  readonly #resolve: (value: T) => void;
  readonly #reject: (error: unknown) => void;
  #outcome: Outcome<T> | undefined;
  #abandon: (error: Error) => void = () => {};

  constructor(
    run: (tx: Tx) => Promise<T>,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
    since: number,
  ) {
    this.since = since;
    this.#run = run;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  attempt(connection: SqliteConnection): Promise<Failure | undefined> {
    const tx = new SqliteTx(connection);
    return new Promise((done) => {
      const end = (outcome: Outcome<T>): void => {
        if (tx.over) return;
        tx.over = true;
        this.#outcome = tx.failure ?? outcome;
        done('error' in this.#outcome ? this.#outcome : undefined);
      };
      this.#abandon = (error) => end({ error });
      try {
        this.#run(tx).then(
          (value) => end({ value }),
          (error: unknown) => end({ error }),
        );
      } catch (error) {
        end({ error });
      }
    });
  }

  abandon(error: Error): void {
    this.#abandon(error);
  }

  fail(error: unknown): void {
    this.#outcome = { error };
  }

  answer(): void {
    if (!this.#outcome) throw new Error('A write is answered before it has run');
    if ('error' in this.#outcome) this.#reject(this.#outcome.error);
    else this.#resolve(this.#outcome.value);
  }
}

/** Statements run at once on the connection whose transaction is open; the promises are settled already. */
class SqliteTx implements Tx {
  over = false;
  failure: Failure | undefined;
  readonly #connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  all<Row>(sql: Sql, params?: readonly Value[]): Promise<Row[]> {
    return this.#settled(() => this.#connection.all<Row>(sql, params));
  }

  get<Row>(sql: Sql, params?: readonly Value[]): Promise<Row | undefined> {
    return this.#settled(() => this.#connection.get<Row>(sql, params));
  }

  run(sql: Sql, params?: readonly Value[]): Promise<number> {
    return this.#settled(() => this.#connection.run(sql, params));
  }

  #settled<T>(statement: () => T): Promise<T> {
    try {
      if (this.over) throw new Error('A statement was given to a transaction that is over');
      if (this.failure) throw this.failure.error;
      return Promise.resolve(statement());
    } catch (error) {
      this.failure ??= { error };
      return Promise.reject(error);
    }
  }
}
