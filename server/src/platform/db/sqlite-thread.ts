/**
 * The event loop's end of the writing thread. Procedures go over in small groups; those that arrive while the thread
 * commits share its next commit, and the loop serves others meanwhile.
 *
 * - The thread writes only while it has the turn (sqlite-turns.ts), which it gives back as soon as another wants it.
 * - It is started by the first call, and keeps the process alive only while it has something to do.
 * - If it ends by itself, what it had is refused: it may have been recorded. The next call starts another.
 */
import { Worker } from 'node:worker_threads';
import { steadyMs } from '../clock.ts';
import { type Procedure, StorageUnavailable, UniqueViolation } from './database.ts';
import type { Turns } from './sqlite-turns.ts';

export interface ThreadOptions {
  readonly file: string;
  readonly waitMs: number;
}

export type ToThread =
  | {
      readonly kind: 'group';
      readonly procedures: readonly Pick<Procedure<unknown, unknown>, 'module' | 'name'>[];
      /** Which of the procedures, and its input. */
      readonly calls: readonly (readonly [number, unknown])[];
      /** Since when the first of them has waited, by `steadyMs`. */
      readonly since: number;
    }
  | { readonly kind: 'look' }
  | { readonly kind: 'close' };

export type Outcome = { readonly value: unknown } | { readonly error: ThreadError };

export interface ThreadError {
  readonly kind: 'taken' | 'unavailable' | 'other';
  readonly message: string;
  readonly stack: string | undefined;
}

/** Groups are answered in the order in which they came, and so are looks. */
export type FromThread =
  | { readonly kind: 'group'; readonly outcomes: readonly Outcome[] }
  | { readonly kind: 'look'; readonly foreign: boolean }
  /** Another process has the database: the thread waits for it, with the turn. */
  | { readonly kind: 'locked' };

interface Waiting {
  readonly procedure: Procedure<never, unknown>;
  readonly input: unknown;
  readonly since: number;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

export interface WriterThreadParts extends ThreadOptions {
  readonly turns: Turns;
  readonly onCommit: () => void;
  readonly onLocked: () => void;
  readonly startThread?: (options: ThreadOptions) => Worker;
}

/** As many go over at once, before the loop's turn ends: else the thread would wait for the loop, and then the loop for it. */
const groupSize = 8;
const program = new URL('./sqlite-worker.ts', import.meta.url);
const newThread = (workerData: ThreadOptions): Worker => new Worker(program, { workerData, execArgv: [] });

export class WriterThread {
  readonly #parts: WriterThreadParts;
  #worker: Worker | undefined;
  #queue: Waiting[] = [];
  /** The queue goes over at the end of this turn of the loop. */
  #due = false;
  #turn: 'none' | 'wanted' | { readonly giveBack: () => void } = 'none';
  readonly #underWay: Waiting[][] = [];
  readonly #onLook: ((foreign: boolean) => void)[] = [];
  readonly #onIdle: (() => void)[] = [];

  constructor(parts: WriterThreadParts) {
    this.#parts = parts;
  }

  call<Input, Output>(procedure: Procedure<Input, Output>, input: Input): Promise<Output> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ procedure, input, since: steadyMs(), resolve, reject });
      if (this.#queue.length >= groupSize) this.#goOn();
      if (this.#due) return;
      this.#due = true;
      setImmediate(() => {
        this.#due = false;
        this.#goOn();
      });
    });
  }

  /** Whether anybody but the thread has committed since it was last asked; nothing while there is none. */
  foreignCommits(): Promise<boolean> | undefined {
    const worker = this.#worker;
    if (!worker) return undefined;
    return new Promise((resolve) => {
      this.#onLook.push(resolve);
      worker.postMessage({ kind: 'look' } satisfies ToThread);
    });
  }

  /** Resolves when everything that was asked for has been answered and the thread has ended. */
  async stop(): Promise<void> {
    if (!this.#isIdle()) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
    const worker = this.#worker;
    if (!worker) return;
    worker.ref();
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage({ kind: 'close' } satisfies ToThread);
    await ended;
  }

  #isIdle = (): boolean => this.#queue.length === 0 && this.#underWay.length === 0 && !this.#due;

  #goOn(): void {
    if (typeof this.#turn === 'object') {
      if (this.#queue.length > 0 && !this.#parts.turns.isWanted) {
        this.#send();
        return;
      }
      if (this.#underWay.length > 0) return;
      const { giveBack } = this.#turn;
      this.#turn = 'none';
      giveBack();
    }
    if (this.#queue.length > 0) this.#takeTurn();
    else if (this.#isIdle()) {
      this.#worker?.unref();
      for (const resolve of this.#onIdle.splice(0)) resolve();
    }
  }

  #takeTurn(): void {
    if (this.#turn !== 'none') return;
    this.#turn = 'wanted';
    this.#parts.turns.take(
      () =>
        new Promise((giveBack) => {
          this.#turn = { giveBack };
          this.#send();
        }),
    );
  }

  #send(): void {
    const group = this.#queue;
    this.#queue = [];
    const procedures = [...new Set(group.map(({ procedure }) => procedure))];
    const message: ToThread = {
      kind: 'group',
      procedures: procedures.map(({ module, name }) => ({ module, name })),
      calls: group.map(({ procedure, input }) => [procedures.indexOf(procedure), input]),
      since: group[0]!.since,
    };
    try {
      this.#worker ??= this.#start();
      this.#worker.ref();
      this.#worker.postMessage(message);
      this.#underWay.push(group);
    } catch (error) {
      // Something in it is no plain data, or there is no thread to be had.
      for (const { reject } of group) reject(error);
      queueMicrotask(() => this.#goOn());
    }
  }

  #start(): Worker {
    const { file, waitMs, startThread = newThread } = this.#parts;
    let worker: Worker;
    try {
      worker = startThread({ file, waitMs });
    } catch (error) {
      throw new StorageUnavailable('The writing thread cannot be started', { cause: error });
    }
    let failure = new StorageUnavailable('The writing thread has ended');
    worker.on('message', (message: FromThread) => {
      if (message.kind === 'look') this.#onLook.shift()?.(message.foreign);
      else if (message.kind === 'locked') this.#parts.onLocked();
      else this.#answer(message.outcomes);
    });
    worker.on('error', (error) => {
      failure = new StorageUnavailable(`The writing thread has failed: ${error.message}`, { cause: error });
    });
    worker.on('exit', () => {
      this.#worker = undefined;
      for (const group of this.#underWay.splice(0)) for (const { reject } of group) reject(failure);
      for (const resolve of this.#onLook.splice(0)) resolve(true);
      this.#goOn();
    });
    return worker;
  }

  #answer(outcomes: readonly Outcome[]): void {
    this.#parts.onCommit();
    const group = this.#underWay.shift()!;
    for (const [i, { resolve, reject }] of group.entries()) {
      const outcome = outcomes[i]!;
      if ('error' in outcome) reject(errorOf(outcome.error));
      else resolve(outcome.value as never);
    }
    this.#goOn();
  }
}

function errorOf({ kind, message, stack }: ThreadError): Error {
  const error =
    kind === 'taken'
      ? new UniqueViolation(message)
      : kind === 'unavailable'
        ? new StorageUnavailable(message)
        : new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
