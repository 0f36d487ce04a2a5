/** Analyses the text of a statement once, for both engines. */
import type { Sql, Value } from './database.ts';

export interface StatementText {
  readonly text: string;
  /** With `?1` for `$1`, for SQLite. */
  readonly questionMarks: string;
  readonly parameters: number;
  readonly writes: boolean;
}

export const noParameters: readonly Value[] = [];

export function readStatement(text: string): StatementText {
  let parameters = 0;
  // Skips quoted text, comments and the bodies of triggers.
  const questionMarks = text.replace(
    /'[^']*'|"[^"]*"|--[^\n]*|\bBEGIN\b.*\bEND\b|;\s*\S|(\bLIMIT\s+)?\$(\d+)/gis,
    (match, limit?: string, number?: string) => {
      // SQLite would silently run only the first.
      if (match.startsWith(';')) throw new Error(`More than one statement: ${text}`);
      if (number === undefined) return match;
      parameters = Math.max(parameters, Number(number));
      // SQLite plans with the value of a bare parameter in LIMIT, so each new value would cause the statement to be parsed
      // and planned again, which costs more than reading a few rows. A sum does not.
      return limit ? `${limit}(?${number} + 0)` : `?${number}`;
    },
  );
  return { text, questionMarks, parameters, writes: changesRows.test(text) };
}

const changesRows = /\b(?:(?:INSERT|REPLACE)(?:\s+OR\s+\w+)?\s+INTO|(?<!\bDO\s+)UPDATE|DELETE\s+FROM)\s/i;

export function textFor(engine: 'sqlite' | 'postgres', sql: Sql): string {
  return typeof sql === 'string' ? sql : sql[engine];
}

/** The drivers would silently bind NULL or a text for a value of another type. */
export function checkParameters(statement: StatementText, params: readonly Value[]): void {
  if (params.length !== statement.parameters) {
    throw new TypeError(`The statement takes ${statement.parameters} parameters, ${params.length} were given`);
  }
  for (let i = 0; i < params.length; i += 1) checkValue(params[i], i);
}

function checkValue(value: unknown, index: number): void {
  if (typeof value === 'string' || value === null || Number.isSafeInteger(value) || value instanceof Uint8Array) return;
  const found = typeof value === 'number' ? `${value}` : Object.prototype.toString.call(value);
  throw new TypeError(`Parameter $${index + 1} is ${found}, not a string, a safe integer, null or bytes`);
}
