/**
 * One spelling of a text that can be written in several ways that look the same: NFC (UAX 15), and the Thai vowel SARA AM
 * as one letter after its tone mark. NFC leaves its two parts apart. Letters that only look alike stay different.
 */
import type { Sql } from './database.ts';

/** The function of SQLite. */
export const canonicalText = (text: unknown): string =>
  String(text)
    .normalize('NFC')
    .replace(/\u0e4d([\u0e48-\u0e4b]?)\u0e32/g, '$1\u0e33');

/** A statement that has `canonical(…)` of an expression of SQL. */
export const withCanonical = (statement: (canonical: (expression: string) => string) => string): Sql => ({
  sqlite: statement((expression) => `canonical_text(${expression})`),
  postgres: statement(
    (expression) =>
      `regexp_replace(normalize(${expression}, NFC), '\u0e4d([\u0e48\u0e49\u0e4a\u0e4b]?)\u0e32', '\\1\u0e33', 'g')`,
  ),
});
