/** What both engines need to know of a statement before it runs: read from its text, once. */
import type { Sql, Value } from './database.ts';

export interface StatementText {
  readonly text: string;
  /** With `?1` for `$1`, as SQLite wants it. */
  readonly questionMarks: string;
  readonly parameters: number;
  /** Whether it changes rows. */
  readonly writes: boolean;
}

export const noParameters: readonly Value[] = [];

export function readStatement(text: string): StatementText {
  let parameters = 0;
  // Quoted text, comments and what a trigger does are passed over.
  const questionMarks = text.replace(
    /'[^']*'|"[^"]*"|--[^\n]*|\bBEGIN\b.*\bEND\b|;\s*\S|(\bLIMIT\s+)?\$(\d+)/gis,
    (match, limit?: string, number?: string) => {
      // SQLite would run the first and say nothing.
      if (match.startsWith(';')) throw new Error(`More than one statement: ${text}`);
      if (number === undefined) return match;
      parameters = Math.max(parameters, Number(number));
      // A bare parameter as the limit takes part in SQLite's plan: each new binding would have the statement parsed and
      // planned anew, which costs more than to read a few rows. A sum does not.
      return limit ? `${limit}(?${number} + 0)` : `?${number}`;
    },
  );
  return { text, questionMarks, parameters, writes: changesRows.test(text) };
}

const changesRows = /\b(?:(?:INSERT|REPLACE)(?:\s+OR\s+\w+)?\s+INTO|(?<!\bDO\s+)UPDATE|DELETE\s+FROM)\s/i;

export function textFor(engine: 'sqlite' | 'postgres', sql: Sql): string {
  return typeof sql === 'string' ? sql : sql[engine];
}

/** Refuses what the types already forbid: the drivers would bind NULL or a text in silence. */
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
