import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, type ChildOptions, startChild } from './child.ts';

/** The run of one row: the settings of the benchmark, a temporary directory, and the cleanup at the end. */
export interface Bench {
  readonly rounds: number;
  /** A test of the benchmark itself: everything as small as it can be, no verdict. */
  readonly short: boolean;
  /** How long one side is loaded in one round. */
  readonly seconds: number;
  readonly directory: string;
  /** Where to put profiles, if they are wanted. */
  readonly profiles: string | undefined;
  progress(text: string): void;
  start(file: URL, options?: Omit<ChildOptions, 'output'>): Child;
  /** Called when the row is over, in reverse order. */
  after(undo: () => void | Promise<void>): void;
  end(): Promise<void>;
}

export interface BenchOptions {
  readonly rounds: number;
  readonly short: boolean;
  readonly profiles?: string | undefined;
  readonly progress: (text: string) => void;
}

export function createBench({ rounds, short, profiles, progress }: BenchOptions): Bench {
  const directory = mkdtempSync(join(tmpdir(), 'namjai-bench-'));
  const undo: (() => void | Promise<void>)[] = [() => rmSync(directory, { recursive: true, force: true })];
  let started = 0;
  return {
    rounds,
    short,
    seconds: short ? 0.3 : 3,
    directory,
    profiles,
    progress,
    start(file, options = {}) {
      const output = join(directory, `process-${++started}.log`);
      const child = startChild(file.pathname, { ...options, output });
      undo.push(() => child.stop());
      return child;
    },
    after: (fn) => void undo.push(fn),
    async end() {
      for (const step of undo.splice(0).reverse()) await step();
    },
  };
}
