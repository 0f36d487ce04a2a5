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

/** Broken rules of the API, with the options in place of the fields. */
export const optionProblems = (
  details: readonly { readonly field: string | null; readonly message: string }[],
): string =>
  details
    .map(({ field, message }) => (field === null ? message : `--${field.replaceAll('_', '-')} ${message}`))
    .join('; ');

interface ErrorDescription {
  /** For `--json`. */
  readonly code: string;
  /** For people. */
  readonly lines: readonly string[];
  /** For whoever looks for a mistake of the program: where it happened, or how to learn that. */
  readonly trace: readonly string[];
}

/** `debug`: whether a stack is wanted. */
export function describeError(error: unknown, debug: boolean): ErrorDescription {
  if (error instanceof ConfigError) return { code: 'config_invalid', lines: error.problems, trace: [] };
  const thrown: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
  const { code = '', message, stack = '' } = thrown;
  // Codes in lower case are ours. Those of Node.js and of PostgreSQL have capitals or digits.
  if (/^[a-z_]+$/.test(code)) return { code, lines: [message], trace: [] };
  const hint = mistakes.some((kind) => thrown instanceof kind)
    ? ['This is a mistake in the program. LOG_LEVEL=debug shows where.']
    : [];
  return { code: 'failed', lines: [message], trace: debug ? [stack] : hint };
}

/** Errors that no input should cause. */
const mistakes = [TypeError, ReferenceError, RangeError, SyntaxError];
