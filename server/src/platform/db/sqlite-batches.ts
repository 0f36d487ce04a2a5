/**
 * Writes that arrive together share one commit, so that being durable costs one disk flush for all of them.
 *
 * Invariants:
 * - Between BEGIN and COMMIT only microtasks run: a write's own statements are synchronous. When the microtasks are
 *   used up and a write is not done, it awaits something else, which would hold the lock for everyone: it fails.
 * - Each write has a savepoint of its own; one that fails takes nothing of the others with it.
 * - Nobody is answered before the COMMIT. If it fails all fail, also those that were refused for a reason
 *   of their own: what they saw may have been written by a neighbour that is now gone.
 * - A COMMIT that failed may have left its frames in the WAL, where a crash would bring them back.
 *   So nothing is written again until a checkpoint has cut the WAL to nothing; and if that cannot be done at once,
 *   the frames are spoiled before the refusal is told.
 */
import { StorageUnavailable, type Tx } from './database.ts';
import { Busy, type SqliteConnection } from './sqlite-connection.ts';
import { PendingWrite, type QueuedWrite } from './sqlite-write.ts';

/** Bounds how long one batch keeps the event loop: at some 40 µs a write, 10 ms. */
const maxBatch = 256;
const busyRetryMs = 10;
const recoverRetryMs = 200;

export interface BatchesOptions {
  connection: SqliteConnection;
  /** How long a write waits for another process before it is refused. */
  waitMs: number;
  onCommit: (tables: ReadonlySet<string>) => void;
}

export class Batches {
  readonly #connection: SqliteConnection;
  readonly #waitMs: number;
  readonly #onCommit: (tables: ReadonlySet<string>) => void;
  readonly #written = new Set<string>();
  #queue: QueuedWrite[] = [];
  #current: QueuedWrite | undefined;
  /** A turn is due or under way. */
  #active = false;
  #walInDoubt = false;
  #recoverTimer: NodeJS.Timeout | undefined;
  #onIdle: (() => void)[] = [];

  constructor({ connection, waitMs, onCommit }: BatchesOptions) {
    this.#connection = connection;
    this.#waitMs = waitMs;
    this.#onCommit = onCommit;
    connection.onWrite = (table) => this.#written.add(table);
  }

  write<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#queue.push(new PendingWrite(fn, resolve, reject));
      if (this.#active) return;
      this.#active = true;
      setImmediate(() => this.#turn());
    });
  }

  /** Resolves when everything that was queued has been answered. */
  async stop(): Promise<void> {
    if (this.#active) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
    clearTimeout(this.#recoverTimer);
  }

  #turn(): void {
    try {
      if (this.#walInDoubt) this.#recover();
      this.#connection.run('BEGIN IMMEDIATE');
    } catch (error) {
      this.#refuse(error);
      this.#goOn(busyRetryMs);
      return;
    }
    void this.#runBatch(this.#queue.splice(0, maxBatch));
  }

  /** Everyone if the storage fails; only those who have waited long enough if it is busy. */
  #refuse(error: unknown): void {
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
    } else if (delayMs === 0) setImmediate(() => this.#turn());
    else setTimeout(() => this.#turn(), delayMs);
  }

  async #runBatch(batch: readonly QueuedWrite[]): Promise<void> {
    this.#written.clear();
    this.#watchForForeignAwaits();
    try {
      for (const write of batch) await this.#runOne(write);
      this.#connection.run('COMMIT');
      this.#onCommit(this.#written);
    } catch (error) {
      this.#tryToRecover();
      for (const write of batch) write.fail(error);
    }
    this.#current = undefined;
    for (const write of batch) write.answer();
    this.#goOn(0);
  }

  /** Throws only what ends the whole batch. */
  async #runOne(write: QueuedWrite): Promise<void> {
    this.#current = write;
    this.#connection.run('SAVEPOINT one');
    const failure = await write.attempt(this.#connection);
    if (failure?.error instanceof StorageUnavailable) throw failure.error;
    if (failure) this.#connection.run('ROLLBACK TO one');
    this.#connection.run('RELEASE one');
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

  #tryToRecover(): void {
    this.#walInDoubt = true;
    clearTimeout(this.#recoverTimer);
    try {
      this.#recover();
    } catch {
      this.#spoilRefusedFrames();
      this.#recoverTimer = setTimeout(() => this.#tryToRecover(), recoverRetryMs).unref();
    }
  }

  /**
   * A checkpoint wants a disk that flushes. Meanwhile a change of nothing is written over the first refused frame:
   * each frame's checksum covers those before it, so the rest is void, even if this commit fails like the last.
   */
  #spoilRefusedFrames(): void {
    try {
      this.#rollBack();
      this.#connection.run('BEGIN IMMEDIATE');
      this.#connection.run('PRAGMA user_version = 1');
      this.#connection.run('COMMIT');
    } catch {
      // Nothing more can be done than to try the checkpoint again.
    }
  }

  #rollBack(): void {
    if (this.#connection.inTransaction) this.#connection.run('ROLLBACK');
  }

  #recover(): void {
    this.#rollBack();
    const result = this.#connection.get<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)');
    if (result?.busy !== 0) throw new Busy('The write-ahead log cannot be emptied while another process reads it');
    this.#walInDoubt = false;
  }
}
