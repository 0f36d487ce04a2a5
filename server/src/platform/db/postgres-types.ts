/** Parses columns into the port's values: integers as numbers, booleans as 0 and 1, JSON as text. */
import pg from 'pg';

const { builtins } = pg.types;

function parseNumber(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
    throw new RangeError(`Value is too large to be represented as a JavaScript number: ${text}`);
  }
  return number;
}

const asText = (text: string): string => text;

const parsers = new Map<number, (text: string) => unknown>([
  [builtins.INT8, parseNumber],
  // The type of sum() over integers.
  [builtins.NUMERIC, parseNumber],
  [builtins.BOOL, (text) => (text === 't' ? 1 : 0)],
  [builtins.JSON, asText],
  [builtins.JSONB, asText],
]);

export const columnTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => parsers.get(oid) ?? pg.types.getTypeParser(oid, format),
};
