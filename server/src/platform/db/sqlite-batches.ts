/**
 * Writes that arrive together share one commit, so that being durable costs one disk flush for all of them.
 *
 * Invariants:
 * - Between BEGIN and COMMIT only microtasks run: a write's own statements are synchronous. When the microtasks are
 *   used up and a write is not done, it awaits something else, which would hold the lock for everyone: it fails.
 * - One that fails takes nothing of the others with it. As hardly any fails they run without savepoints, for which
 *   SQLite would copy every page that each write touches; after a failure the whole batch is rolled back and runs once
 *   more, each write in a savepoint of its own.
 * - Nobody is answered before the COMMIT. If it fails all fail, also those that were refused for a reason
 *   of their own: what they saw may have been written by a neighbour that is now gone.
 * - A COMMIT that failed may have left its frames in the WAL, where a crash would bring them back. Before anybody is
 *   refused, a commit that changes nothing is put in their place: the first frame is written over, and as each frame's
 *   checksum covers those before it, the rest is void, even if the disk does not flush this commit either.
 *   It is tried again until it, or any other commit, succeeds.
 */
import { StorageUnavailable, type Tx } from './database.ts';
import { Busy, type SqliteConnection } from './sqlite-connection.ts';
import { Turns } from './sqlite-turns.ts';
import { PendingWrite, type QueuedWrite } from './sqlite-write.ts';

/** Bounds how long one batch keeps the event loop: at some 40 µs a write, 10 ms. */
const maxBatch = 256;
const busyRetryMs = 10;
const voidRetryMs = 200;

export interface BatchesOptions {
  connection: SqliteConnection;
  /** How long a write waits for another process before it is refused. */
  waitMs: number;
  onCommit?: () => void;
  /** Another process has the database, and whatever waits here goes on waiting. */
  onLocked?: () => void;
  /** Shared with others of this process that write. */
  turns?: Turns;
}

export class Batches {
  readonly #connection: SqliteConnection;
  readonly #waitMs: number;
  readonly #onCommit: () => void;
  readonly #onLocked: () => void;
  readonly #turns: Turns;
  #queue: QueuedWrite[] = [];
  #current: QueuedWrite | undefined;
  /** A turn is due or under way. */
  #active = false;
  /** The next batch holds writes that have failed together: each gets a savepoint. */
  #apart = false;
  #voidTimer: NodeJS.Timeout | undefined;
  #onIdle: (() => void)[] = [];

  constructor({ connection, waitMs, onCommit = () => {}, onLocked = () => {}, turns = new Turns() }: BatchesOptions) {
    this.#connection = connection;
    this.#waitMs = waitMs;
    this.#onCommit = onCommit;
    this.#onLocked = onLocked;
    this.#turns = turns;
  }

  /** One that has waited somewhere else already waits so much less for another process. */
  write<T>(fn: (tx: Tx) => Promise<T>, waitedMs = 0): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#queue.push(new PendingWrite(fn, resolve, reject, performance.now() - waitedMs));
      if (this.#active) return;
      this.#active = true;
      this.#goOn(0);
    });
  }

  /** Resolves when everything that was queued has been answered. */
  async stop(): Promise<void> {
    if (this.#active) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
    clearTimeout(this.#voidTimer);
  }

  async #turn(): Promise<void> {
    try {
      this.#begin();
    } catch (error) {
      this.refuse(error);
      if (error instanceof Busy) this.#onLocked();
      this.#goOn(busyRetryMs);
      return;
    }
    await this.#runBatch(this.#queue.splice(0, maxBatch));
  }

  /** Everyone who waits if the storage fails; only those who have waited long enough if it is busy. */
  refuse(error: unknown): void {
    const latest = error instanceof Busy ? performance.now() - this.#waitMs : Number.POSITIVE_INFINITY;
    const refused = this.#queue.filter((write) => write.since <= latest);
    this.#queue = this.#queue.filter((write) => write.since > latest);
    for (const write of refused) {
      write.fail(error);
      write.answer();
    }
  }

  #goOn(delayMs: number): void {
    if (this.#queue.length === 0) {
      this.#active = false;
      for (const resolve of this.#onIdle.splice(0)) resolve();
      return;
    }
    const take = (): void => this.#turns.take(() => this.#turn());
    if (delayMs === 0) setImmediate(take);
    else setTimeout(take, delayMs);
  }

  async #runBatch(batch: readonly QueuedWrite[]): Promise<void> {
    const apart = this.#apart;
    this.#apart = false;
    this.#watchForForeignAwaits();
    let committing = false;
    try {
      for (const write of batch) {
        if (await (apart ? this.#runApart(write) : this.#run(write))) return this.#runOnceMore(batch);
      }
      committing = true;
      this.#commit();
      this.#onCommit();
    } catch (error) {
      this.#rollBack();
      if (committing) this.#voidRefusedFrames();
      for (const write of batch) write.fail(error);
    }
    this.#current = undefined;
    for (const write of batch) write.answer();
    this.#goOn(0);
  }

  /** Resolves with the write's failure, if any. Throws only what ends the whole batch. */
  async #run(write: QueuedWrite): Promise<{ readonly error: unknown } | undefined> {
    this.#current = write;
    const failure = await write.attempt(this.#connection);
    if (failure?.error instanceof StorageUnavailable) throw failure.error;
    return failure;
  }

  async #runApart(write: QueuedWrite): Promise<undefined> {
    this.#connection.run('SAVEPOINT one');
    if (await this.#run(write)) this.#connection.run('ROLLBACK TO one');
    this.#connection.run('RELEASE one');
  }

  #runOnceMore(batch: readonly QueuedWrite[]): void {
    this.#current = undefined;
    this.#rollBack();
    this.#apart = true;
    this.#queue.unshift(...batch);
    this.#goOn(0);
  }

  /** A tick that is asked for inside a microtask runs once there is no microtask left. */
  #watchForForeignAwaits(): void {
    queueMicrotask(() =>
      process.nextTick(() => {
        if (!this.#current) return;
        this.#current.abandon(new Error('The function given to write() awaited something other than its transaction'));
        this.#watchForForeignAwaits();
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

  /** At once, so that other processes need not wait; what fails here is tried again before the next BEGIN. */
  #rollBack(): void {
    try {
      if (this.#connection.inTransaction) this.#connection.run('ROLLBACK');
    } catch {
      // The error that led here is the one to be told.
    }
  }
}
