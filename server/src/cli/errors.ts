import { ConfigError } from '../config.ts';

/** The command was typed wrongly: exit code 2. */
export class UsageError extends Error {
  readonly code = 'usage';
}

/** The command could not do what was asked: exit code 1. */
export class Failure extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The code for `--json`, and the lines for people. */
export function describeError(error: unknown): { code: string; lines: readonly string[] } {
  if (error instanceof ConfigError) return { code: 'config_invalid', lines: error.problems };
  const { code = '', message }: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
  // Codes in lower case are ours. Those of Node.js and of PostgreSQL have capitals or digits.
  return { code: /^[a-z_]+$/.test(code) ? code : 'failed', lines: [message] };
}
