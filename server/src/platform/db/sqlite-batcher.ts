/**
 * Writes that arrive together share one commit, so that one disk flush makes all of them durable. This code runs on the
 * writing thread or, without one, on the event loop.
 *
 * Invariants:
 * - Between BEGIN and COMMIT only microtasks run, because statements are synchronous. A write that is not done when the
 *   microtask queue is empty awaits something else and would hold the lock: it fails.
 * - A write that fails does not affect the others. Failures are rare, so writes run without savepoints, for which SQLite
 *   would copy every page that a write touches. After a failure the whole batch is rolled back and runs once more, with a
 *   savepoint for each write.
 * - No write gets its result before the COMMIT. If the COMMIT fails, all writes of the batch fail, also those that had
 *   failed before: they may have read rows of other writes of the batch, which are rolled back.
 * - A failed COMMIT may have left its frames in the WAL, and a crash would recover them. Before the writes are rejected, an
 *   empty commit overwrites the first of these frames. A frame's checksum covers all frames before it, so the rest is void,
 *   even if this commit is not flushed either. It is retried until it, or any other commit, succeeds.
 */
import { CommitStats } from './commit-stats.ts';
import { defineWrites, type Sql, StorageUnavailable, type Tx, type Value } from './database.ts';
import { Busy, rewriteHeader, type SqliteConnection } from './sqlite-connection.ts';

/** A batch ends at the first of these limits, so that slow writes do not delay the results of the others for long. */
const maxWrites = 256;
const maxBatchMs = 10;
const busyRetryMs = 10;
const voidRetryMs = 200;

const touchHeader = (tx: Tx): Promise<number> => tx.run(rewriteHeader);

export const writes = defineWrites(import.meta.url, { touchHeader });

export class WriteBatcher {
  readonly #connection: SqliteConnection;
  readonly #waitMs: number;
  readonly #withinMs: number;
  readonly stats: CommitStats;
  #queue: QueuedWrite[] = [];
  #current: QueuedWrite | undefined;
  #active = false;
  /** A write of the previous run failed: the next batch uses savepoints. */
  #useSavepoints = false;
  #voidTimer: NodeJS.Timeout | undefined;
  #onIdle: (() => void)[] = [];

  /**
   * `waitMs`: how long a write waits for the lock of another process. `withinMs`: after this time no caller waits for the
   * answer, and the write is not run.
   */
  constructor(
    connection: SqliteConnection,
    waitMs: number,
    withinMs = Number.POSITIVE_INFINITY,
    stats = new CommitStats(),
  ) {
    this.#connection = connection;
    this.stats = stats;
    this.#waitMs = waitMs;
    this.#withinMs = withinMs;
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

  /** Resolves when every queued write is settled. */
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

  /** Rejects every queued write if the storage fails; if it is busy, those that have waited for `waitMs`. */
  #refuse(error: unknown): void {
    const latest = error instanceof Busy ? performance.now() - this.#waitMs : Number.POSITIVE_INFINITY;
    const refused = this.#queue.filter((write) => write.since <= latest);
    this.#queue = this.#queue.filter((write) => write.since > latest);
    for (const write of refused) {
      write.fail(error);
      write.settle();
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
        const isTooLate = performance.now() - write.since >= this.#withinMs;
        if (isTooLate) write.fail(new StorageUnavailable('The write waited too long', { reason: 'timeout' }));
        else if (await (useSavepoints ? this.#runInSavepoint(write) : this.#run(write))) {
          this.#repeatWithSavepoints(batch);
          return;
        }
      } while (batch.length < maxWrites && performance.now() < end);
      committing = true;
      const started = performance.now();
      this.#commit();
      this.stats.count(batch.length, (performance.now() - started) / 1000);
    } catch (error) {
      this.#rollBack();
      if (committing) this.#voidRefusedFrames();
      for (const write of batch) write.fail(error);
    }
    this.#current = undefined;
    for (const write of batch) write.settle();
    this.#next(0);
  }

  /** Resolves with the write's failure, if any. Throws only if the whole batch must end. */
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

  /** A `nextTick` callback that a microtask schedules runs when the microtask queue is empty. */
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
      this.#connection.run(rewriteHeader);
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

  /** At once, to release the lock for other processes. `#begin` repeats a failed rollback. */
  #rollBack(): void {
    try {
      if (this.#connection.inTransaction) this.#connection.run('ROLLBACK');
    } catch {
      // The caller gets the error that caused the rollback.
    }
  }
}

type Failure = { readonly error: unknown };
type Outcome<T> = { readonly value: T } | Failure;

/** A queued write, without the type of its result. */
interface QueuedWrite {
  readonly since: number;
  /** Runs the function inside the open transaction. Resolves with its failure, if any. */
  attempt(connection: SqliteConnection): Promise<Failure | undefined>;
  /** Ends a running attempt. */
  abandon(error: Error): void;
  fail(error: unknown): void;
  settle(): void;
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

  settle(): void {
    if (!this.#outcome) throw new Error('A write is settled before it has run');
    if ('error' in this.#outcome) this.#reject(this.#outcome.error);
    else this.#resolve(this.#outcome.value);
  }
}

/** Statements run synchronously on the connection. The returned promises are settled. */
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
