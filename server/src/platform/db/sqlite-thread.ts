/**
 * The event loop's side of the writing thread (sqlite-worker.ts). Writes are sent in small groups. Those that arrive while
 * the thread commits share its next commit.
 *
 * - `start` starts the thread, so that it is there when the first write comes. It keeps the process alive only while
 *   writes are pending.
 * - A write that is not answered in time is rejected, although it may still be recorded if the thread has begun it. While
 *   the thread is that late nothing more is sent to it, so writes that are rejected meanwhile are not recorded.
 * - If the thread ends unexpectedly, its pending writes are rejected, although they may have been recorded. The next write
 *   starts a new thread.
 */
import { getCompileCacheDir } from 'node:module';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { steadyMs } from '../clock.ts';
import { createPacer } from '../pacer.ts';
import { StorageUnavailable, type Write } from './database.ts';
import { deserializeError, type SerializedError } from './serialized-error.ts';

/** The owner of the writing connection. */
export interface SqliteWriter {
  write<Args extends unknown[], Answer>(write: Write<Args, Answer>, args: Args): Promise<Answer>;
  /** Whether another process has committed since the last call; `true` if unknown. */
  changedByOthers(): boolean | Promise<boolean>;
  /** As `Database.truncateLog`. */
  truncateLog(): boolean | Promise<boolean>;
  /** Closes the connection after all pending writes. */
  close(): Promise<void>;
}

export interface ThreadOptions {
  readonly file: string;
  readonly waitMs: number;
  /** How long a caller waits for an answer, whatever the thread is doing. */
  readonly withinMs: number;
  /** Where the thread counts its commits. */
  readonly statsMemory: SharedArrayBuffer;
}

export type ToThread =
  | {
      readonly kind: 'writes';
      readonly functions: readonly { readonly module: string; readonly name: string }[];
      readonly calls: readonly ThreadCall[];
    }
  | { readonly kind: 'changed' }
  | { readonly kind: 'truncate' }
  | { readonly kind: 'close' };

/** `since`: when the caller began to wait, on the clock `steadyMs`. */
export type ThreadCall = readonly [functionIndex: number, args: readonly unknown[], since: number];

/** The thread answers messages of a kind in order. */
export type FromThread =
  | { readonly kind: 'writes'; readonly outcomes: readonly ThreadOutcome[] }
  | { readonly kind: 'changed'; readonly changed: boolean }
  | { readonly kind: 'truncated'; readonly truncated: boolean };

export type ThreadOutcome = { readonly value: unknown } | { readonly error: SerializedError };

interface Call {
  readonly write: Pick<Write<never[], unknown>, 'module' | 'name'>;
  readonly args: readonly unknown[];
  readonly since: number;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
  /** Its caller was told that there is no answer in time. */
  refused: boolean;
}

const isOverdue = (call: Call | undefined, withinMs: number): boolean =>
  call !== undefined && steadyMs() - call.since >= withinMs;

/**
 * A group of this size is sent before the current iteration of the event loop ends, so that the thread does not idle
 * until then.
 */
export const groupSize = 8;
/** While the thread is late, some call becomes overdue nearly every millisecond, and each check reads all that wait. */
const refuseEveryMs = 20;
/** How many groups are settled in an iteration. With one, tips are recorded a tenth slower. */
const settledAtOnce = 4;
/** TypeScript in the repository, JavaScript in the package. */
const program = new URL(`./sqlite-worker${extname(import.meta.url)}`, import.meta.url);

/**
 * V8 would keep up to 100 MiB for the thread's young objects, by the size of the machine. With a quarter of that a tip
 * takes as much processor time.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 24 };

/**
 * The environment of a thread. It uses the cache of compiled modules only if that is named there, and then starts in half
 * the time. Under `node --watch` it would post what it imports among its answers.
 */
export function threadEnv(): NodeJS.ProcessEnv {
  const { WATCH_REPORT_DEPENDENCIES, ...env } = process.env;
  const cache = getCompileCacheDir();
  return cache === undefined ? env : { NODE_COMPILE_CACHE: cache, ...env };
}

const startWorker = (workerData: ThreadOptions): Worker =>
  new Worker(program, { workerData, execArgv: [], env: threadEnv(), resourceLimits });

export class WritingThread implements SqliteWriter {
  readonly #options: ThreadOptions;
  readonly #onCommit: () => void;
  readonly #startWorker: typeof startWorker;
  #worker: Worker | undefined;
  #queue: Call[] = [];
  #sendScheduled = false;
  #deadline: NodeJS.Timeout | undefined;
  readonly #sent: Call[][] = [];
  readonly #onChanged: ((changed: boolean) => void)[] = [];
  readonly #onTruncated: ((truncated: boolean) => void)[] = [];
  readonly #onIdle: (() => void)[] = [];
  /** A commit may answer 256 writes, each of which goes on to an answer of its own. */
  readonly #paced = createPacer(settledAtOnce);
  /** How many groups are answered and wait for their turn. */
  #settling = 0;

  constructor(options: ThreadOptions, onCommit: () => void, start = startWorker) {
    this.#options = options;
    this.#onCommit = onCommit;
    this.#startWorker = start;
  }

  write<Args extends unknown[], Answer>(write: Write<Args, Answer>, args: Args): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ write, args, since: steadyMs(), resolve, reject, refused: false });
      if (this.#queue.length >= groupSize) this.#send();
      if (this.#sendScheduled) return;
      this.#sendScheduled = true;
      setImmediate(() => {
        this.#sendScheduled = false;
        this.#send();
      });
    });
  }

  /** The first write would start it too, and wait for it. */
  start(): void {
    try {
      this.#running();
    } catch {
      // The first write tries again and reports it.
    }
  }

  async changedByOthers(): Promise<boolean> {
    return this.#ask('changed', this.#onChanged, true);
  }

  async truncateLog(): Promise<boolean> {
    return this.#ask('truncate', this.#onTruncated, false);
  }

  #ask(kind: 'changed' | 'truncate', waiting: ((answer: boolean) => void)[], otherwise: boolean): Promise<boolean> {
    return new Promise((resolve) => {
      waiting.push(resolve);
      try {
        this.#running().postMessage({ kind } satisfies ToThread);
      } catch {
        waiting.pop();
        resolve(otherwise);
      }
    });
  }

  async close(): Promise<void> {
    const late = this.#closeTimeout();
    try {
      if (!this.#isIdle())
        await Promise.race([new Promise<void>((resolve) => this.#onIdle.push(resolve)), late.passed]);
      const worker = this.#worker;
      if (!worker) return;
      worker.ref();
      const ended = new Promise((resolve) => worker.once('exit', resolve));
      worker.postMessage({ kind: 'close' } satisfies ToThread);
      await Promise.race([ended, late.passed]);
    } finally {
      clearTimeout(late.timer);
    }
  }

  /** A thread that hangs must not keep a process from ending. */
  #closeTimeout() {
    const { promise: passed, reject } = Promise.withResolvers<never>();
    passed.catch(() => {});
    const timer = setTimeout(() => {
      void this.#worker?.terminate();
      reject(new StorageUnavailable('The writing thread did not end in time'));
    }, 2 * this.#options.withinMs);
    return { passed, timer };
  }

  #isIdle = (): boolean =>
    this.#queue.length === 0 && this.#sent.length === 0 && this.#settling === 0 && !this.#sendScheduled;

  #running(): Worker {
    this.#worker ??= this.#start();
    return this.#worker;
  }

  /** Whether the thread owes an answer for longer than anybody waits. */
  #isLate = (): boolean => isOverdue(this.#sent[0]?.[0], this.#options.withinMs);

  /** One timer for all that wait: calls are answered in order, so the oldest is the first to be refused. */
  #watchDeadline(): void {
    if (this.#deadline) return;
    const oldest = this.#sent.flat().find((call) => !call.refused) ?? this.#queue[0];
    if (!oldest) return;
    const leftMs = Math.max(refuseEveryMs, oldest.since + this.#options.withinMs - steadyMs());
    this.#deadline = setTimeout(() => {
      this.#deadline = undefined;
      this.#refuseOverdue();
      this.#watchDeadline();
    }, leftMs).unref();
  }

  #refuseOverdue(): void {
    const { withinMs } = this.#options;
    const overdue = this.#sent.flat().filter((call) => !call.refused && isOverdue(call, withinMs));
    const left: Call[] = [];
    for (const call of this.#queue) (isOverdue(call, withinMs) ? overdue : left).push(call);
    this.#queue = left;
    for (const call of overdue) {
      call.refused = true;
      call.reject(new StorageUnavailable('The writing thread did not answer in time', { reason: 'timeout' }));
    }
  }

  /** Many have waited where the thread was late: each group of them is answered as soon as it is recorded. */
  #send(): void {
    if (this.#isLate()) return void this.#watchDeadline();
    const waiting = this.#queue;
    this.#queue = [];
    for (let at = 0; at < waiting.length; at += groupSize) this.#post(waiting.slice(at, at + groupSize));
    if (waiting.length === 0) this.#checkIdle();
  }

  #post(group: Call[]): void {
    const functions = [...new Set(group.map(({ write }) => write))];
    const message: ToThread = {
      kind: 'writes',
      functions: functions.map(({ module, name }) => ({ module, name })),
      calls: group.map(({ write, args, since }) => [functions.indexOf(write), args, since]),
    };
    try {
      const worker = this.#running();
      worker.ref();
      worker.postMessage(message);
      this.#sent.push(group);
      this.#watchDeadline();
    } catch (error) {
      // An argument is not plain data, or no thread can be started. Each write of the group is then sent separately.
      if (group.length > 1) for (const call of group) this.#post([call]);
      else for (const { reject } of group) reject(error);
      queueMicrotask(() => this.#checkIdle());
    }
  }

  #start(): Worker {
    let worker: Worker;
    try {
      worker = this.#startWorker(this.#options);
    } catch (error) {
      throw new StorageUnavailable('The writing thread cannot be started', { cause: error });
    }
    worker.unref();
    let failure = new StorageUnavailable('The writing thread has ended');
    worker.on('message', (message: FromThread) => {
      if (message.kind === 'changed') this.#onChanged.shift()?.(message.changed);
      else if (message.kind === 'truncated') this.#onTruncated.shift()?.(message.truncated);
      else if (message.kind === 'writes') this.#receive(message.outcomes);
    });
    worker.on('error', (error) => {
      failure = new StorageUnavailable(`The writing thread has failed: ${error.message}`, { cause: error });
    });
    worker.on('exit', () => {
      this.#worker = undefined;
      for (const group of this.#sent.splice(0)) for (const { reject } of group) reject(failure);
      for (const resolve of this.#onChanged.splice(0)) resolve(true);
      for (const resolve of this.#onTruncated.splice(0)) resolve(false);
      this.#send();
    });
    return worker;
  }

  #receive(outcomes: readonly ThreadOutcome[]): void {
    this.#onCommit();
    const group = this.#sent.shift() ?? [];
    this.#settling += 1;
    this.#paced(() => this.#settle(group, outcomes));
  }

  #settle(group: readonly Call[], outcomes: readonly ThreadOutcome[]): void {
    this.#settling -= 1;
    for (const [i, { resolve, reject }] of group.entries()) {
      const outcome = outcomes[i] ?? { error: { kind: 'other', message: 'No answer', stack: undefined } };
      if ('error' in outcome) reject(deserializeError(outcome.error));
      else resolve(outcome.value as never);
    }
    if (!this.#sendScheduled) this.#send();
  }

  #checkIdle(): void {
    if (!this.#isIdle()) return;
    this.#worker?.unref();
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}
