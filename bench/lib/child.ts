import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { CallAnswer } from './calls.ts';

/** In bytes. */
export interface Memory {
  readonly heapUsed: number;
  /**
   * The resident memory without the young generation of the heap: a collection empties that, but V8 leaves it 1 to 64 MiB,
   * according to how much was allocated lately.
   */
  readonly kept: number;
}

/** A process under measurement, or one that measures. */
export interface Child {
  readonly process: ChildProcess;
  call<T>(name: string, argument?: unknown): Promise<T>;
  /** Processor time used so far, in microseconds. */
  cpu(): Promise<number>;
  /** After a forced collection. */
  memory(): Promise<Memory>;
  stop(): Promise<void>;
}

export interface ChildOptions {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  /** A file for everything that it prints. */
  readonly output: string;
}

const probe = new URL('./probe.ts', import.meta.url).href;

export function startChild(file: string, { args = [], env = {}, output }: ChildOptions): Child {
  const out = openSync(output, 'a');
  const child = spawn(process.execPath, ['--import', probe, file, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', out, out, 'ipc'],
  });
  closeSync(out);
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  child.on('message', ({ id, value, error }: CallAnswer) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (error !== undefined) call?.reject(new Error(error));
    else call?.resolve(value as never);
  });
  const ended = (): Error =>
    new Error(`${file} ended by ${child.signalCode ?? `exit code ${child.exitCode}`}:\n${tail(output)}`);
  child.on('exit', () => {
    for (const { reject } of waiting.values()) reject(ended());
  });
  let calls = 0;
  const call = <T>(name: string, argument?: unknown): Promise<T> =>
    new Promise((resolve, reject) => {
      if (hasEnded(child)) return reject(ended());
      const id = ++calls;
      waiting.set(id, { resolve, reject });
      child.send({ call: name, id, argument });
    });
  return {
    process: child,
    call,
    async cpu() {
      const { user, system } = await call<NodeJS.CpuUsage>('cpu');
      return user + system;
    },
    memory: () => call<Memory>('memory'),
    async stop() {
      if (hasEnded(child)) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}

export const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

const tail = (file: string): string => readFileSync(file, 'utf8').slice(-2000);
