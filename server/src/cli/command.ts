import type { ParseArgsConfig, ParseArgsOptionDescriptor } from 'node:util';
import type { Environment } from '../config.ts';
import { readConfig } from '../config.ts';
import { createLog } from '../platform/log.ts';
import { createRuntime, type Runtime } from '../runtime.ts';

export interface Option extends ParseArgsOptionDescriptor {
  /** What stands for the value in the help. */
  readonly value?: string;
  readonly help: string;
  readonly required?: boolean;
}

export interface Call {
  readonly values: Readonly<Record<string, unknown>>;
  readonly positionals: readonly string[];
  readonly env: Environment;
}

/** What a command answers: an object for `--json`, words for people. */
export interface Answer {
  readonly json: object;
  readonly text: string;
}

export interface Command {
  /** As it is typed, with its positional arguments: `creator suspend USERNAME`. */
  readonly usage: string;
  readonly summary: string;
  readonly options?: Readonly<Record<string, Option>>;
  /** Answers nothing when the command has spoken for itself. */
  run(call: Call): Promise<Answer | undefined>;
}

/** The command was typed wrongly: exit 2. */
export class UsageError extends Error {}

/** The command could not do what was asked: exit 1. */
export class Failure extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Does something with the store that the settings name, beside a server that may be running on it. */
export async function withRuntime<T>(env: Environment, use: (runtime: Runtime) => Promise<T>): Promise<T> {
  const config = readConfig(env);
  const runtime = await createRuntime(config, { log: createLog({ level: 'silent' }) });
  try {
    return await use(runtime);
  } finally {
    await runtime.close();
  }
}

export const text = (values: Call['values'], name: string): string | undefined => {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
};

export const parseOptions = (options: Command['options'] = {}): NonNullable<ParseArgsConfig['options']> =>
  Object.fromEntries(
    Object.entries(options).map(([name, { type, multiple }]) => [name, multiple ? { type, multiple } : { type }]),
  );
