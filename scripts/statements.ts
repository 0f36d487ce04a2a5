/**
 * Finds SQL that no test runs or that does not fit the schema: `npm run statements`, after the tests of both shapes.
 *
 * - What the tests ran (server/test/record-statements.ts) is prepared on a freshly migrated SQLite and PostgreSQL. A
 *   statement with a column that a migration has renamed or dropped cannot be prepared.
 * - Every literal of the source with SQL in it must be a part of a statement that a test ran and that can be prepared.
 *   Constants of the same file are filled in; anything else that is filled in may be any text.
 * - A statement names its columns: with `*` it would fit any schema, and its row would not have the type it is given.
 */
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseSync } from '@swc/core';
import { canonicalText } from '../server/src/platform/db/canonical.ts';
import { migrate } from '../server/src/platform/db/migrate.ts';
import { openPostgres } from '../server/src/platform/db/postgres.ts';
import { openSqlite } from '../server/src/platform/db/sqlite.ts';
import { freshDatabase, prepareAll } from '../server/test/postgres.ts';
import type { RecordedStatement } from '../server/test/record-statements.ts';

interface Literal {
  readonly file: string;
  readonly line: number;
  /** The text, cut where something unknown is filled in. */
  readonly pieces: readonly string[];
}

/** A node of the syntax tree, as far as it matters here. */
interface Node {
  readonly type?: string;
  readonly span?: { readonly start: number };
  readonly value?: unknown;
  readonly quasis?: readonly { readonly cooked?: string }[];
  readonly expressions?: readonly Node[];
  readonly declarations?: readonly { readonly id: Node; readonly init?: Node }[];
}

const holdsSql =
  /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|FROM|WHERE|JOIN|SET|VALUES|RETURNING|AND|ON CONFLICT|ORDER BY|IS NULL)\s/;

/** Commands for the session alone. They name no table, so no migration can break them, and they bypass the statements. */
const sessionCommand = /\block_timeout\b/;

/** The literals of a file that hold SQL. */
export function literalsOf(file: string, source: string): Literal[] {
  const bytes = Buffer.from(source);
  const { body } = parseSync(source, { syntax: 'typescript' });
  const constants = new Map<unknown, readonly string[]>();
  const found: Literal[] = [];

  function piecesOf(node: Node): readonly string[] | undefined {
    if (node.type === 'StringLiteral') return [String(node.value)];
    if (node.type !== 'TemplateLiteral') return undefined;
    return (node.quasis ?? []).reduce<string[]>((pieces, { cooked = '' }, i) => {
      const before = node.expressions?.[i - 1];
      const filled = before && ((before.type === 'Identifier' && constants.get(before.value)) || ['', '']);
      return concat(filled ? concat(pieces, filled) : pieces, [cooked]);
    }, []);
  }

  function visit(node: Node): void {
    const pieces = piecesOf(node);
    const text = `${pieces?.join(' ')} `;
    if (pieces && node.span && holdsSql.test(text) && !sessionCommand.test(text)) {
      const line = bytes
        .subarray(0, node.span.start - 1)
        .toString()
        .split('\n').length;
      found.push({ file, line, pieces: pieces.filter((piece) => piece.trim() !== '') });
    }
    for (const { id, init } of node.declarations ?? []) {
      const value = init && piecesOf(init);
      if (value) constants.set(id.value, value);
    }
    for (const child of Object.values(node)) if (child && typeof child === 'object') visit(child);
  }

  for (const item of body) visit(item as Node);
  return found;
}

/** What ends one list and what begins the other is one piece. */
const concat = (a: readonly string[], b: readonly string[]): string[] => [
  ...a.slice(0, -1),
  `${a.at(-1) ?? ''}${b[0] ?? ''}`,
  ...b.slice(1),
];

/** With `$1` where SQLite was given `?1` (platform/db/statement.ts). */
const asWritten = (text: string): string => text.replace(/\(\?(\d+) \+ 0\)|\?(\d+)/g, (_, a, b) => `$${a ?? b}`);

function contains(text: string, pieces: readonly string[]): boolean {
  let from = 0;
  return pieces.every((piece) => {
    const at = text.indexOf(piece, from);
    from = at + piece.length;
    return at >= 0;
  });
}

/**
 * What is wrong with each literal that no test runs or that the schema refuses: as a statement of its own, or wherever
 * it is a part of one. (Other statements with the same part may be about a test's own tables.)
 */
export function findUntested(
  literals: readonly Literal[],
  statements: readonly RecordedStatement[],
  errorOf: (statement: RecordedStatement) => string | undefined,
): string[] {
  const texts = statements.map((statement) => ({ error: errorOf(statement), text: asWritten(statement.text) }));
  return literals.flatMap(({ file, line, pieces }) => {
    const [first = '', last = ''] = [pieces[0], pieces.at(-1)];
    const all = texts.filter(({ text }) => contains(text, pieces));
    const itself = all.filter(({ text }) => text.startsWith(first) && text.endsWith(last));
    const refused = (itself.length > 0 ? itself : all).filter(({ error }) => error !== undefined);
    if (all.length > 0 && refused.length < (itself.length > 0 ? 1 : all.length)) return [];
    const start = pieces.join('…').trim().replace(/\s+/g, ' ').slice(0, 80);
    return [`${file}:${line}: ${refused[0]?.error ?? 'no test runs it'}: ${start}`];
  });
}

const allColumns = /\b(?:SELECT|RETURNING)\s+(?:DISTINCT\s+)?(?:\w+\.)?\*/;

export const findAllColumns = (literals: readonly Literal[]): string[] =>
  literals
    .filter(({ pieces }) => pieces.some((piece) => allColumns.test(piece)))
    .map(({ file, line }) => `${file}:${line}: name the columns in place of *`);

const wholeStatement = /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\s/;

/** Where the tests of a shape leave what they ran. */
export const recordingOf = (shape: 'embedded' | 'nodes'): string =>
  join(import.meta.dirname, `../node_modules/.cache/namjai-statements-${shape}.jsonl`);

function readRecordings(): RecordedStatement[] {
  const lines = [recordingOf('embedded'), recordingOf('nodes')].flatMap((file) =>
    readFileSync(file, 'utf8').trim().split('\n'),
  );
  return [...new Set(lines)].map((line) => JSON.parse(line));
}

function sqliteErrors(file: string, texts: readonly string[]): Map<string, string> {
  const db = new DatabaseSync(file);
  db.function('canonical_text', canonicalText);
  const errors = new Map<string, string>();
  for (const text of texts) {
    try {
      db.prepare(text);
    } catch (error) {
      errors.set(text, String(error));
    }
  }
  db.close();
  return errors;
}

async function main(): Promise<void> {
  const missing = (['embedded', 'nodes'] as const).filter((shape) => !existsSync(recordingOf(shape)));
  if (missing.length > 0) {
    console.log(`ℹ statements not checked: the tests of ${missing.join(' and ')} have not run as a whole`);
    return;
  }
  const directory = mkdtempSync(join(tmpdir(), 'namjai-statements-'));
  const endings: (() => unknown)[] = [() => rmSync(directory, { recursive: true })];
  const t = { after: (end: () => unknown) => void endings.push(end) };
  const statements = readRecordings().filter(({ text }) => wholeStatement.test(text));
  const textsOf = (engine: string): string[] =>
    statements.filter((statement) => statement.engine === engine).map(({ text }) => text);
  try {
    const file = join(directory, 'statements.db');
    const url = await freshDatabase(t);
    for (const db of [openSqlite({ file }), openPostgres({ url })]) {
      await migrate(db);
      await db.close();
    }
    const errors = {
      sqlite: sqliteErrors(file, textsOf('sqlite')),
      postgres: await prepareAll(url, textsOf('postgres')),
    };
    const files = globSync('server/src/**/*.ts', { exclude: ['**/*.test.ts', '**/migrations/**', '**/browser/**'] });
    const literals = files.flatMap((name) => literalsOf(name, readFileSync(name, 'utf8')));
    const starred = findAllColumns(literals);
    const untested = findUntested(literals, statements, ({ engine, text }) => errors[engine].get(text));
    for (const line of [...starred, ...untested]) console.error(line);
    console.log(
      `${literals.length} pieces of SQL in the source, ${untested.length} refused by the schema or run by no test`,
    );
    if (starred.length + untested.length > 0) process.exitCode = 1;
  } finally {
    for (const end of endings) await end();
  }
}

if (import.meta.main) await main();
