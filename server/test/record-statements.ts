/**
 * Records the SQL that tests run, for scripts/statements.ts. The test runner loads it before everything else into each
 * process and thread (`--import`); the file to write to stands in its address.
 */
import { appendFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Statements } from '../src/platform/db/postgres-statements.ts';

export interface RecordedStatement {
  readonly engine: 'sqlite' | 'postgres';
  readonly text: string;
}

const file = new URL(import.meta.url).searchParams.get('to');
const seen = new Set<string>();

function record(statement: RecordedStatement): void {
  const line = `${JSON.stringify(statement)}\n`;
  if (file === null || seen.has(line)) return;
  seen.add(line);
  appendFileSync(file, line);
}

const { prepare } = DatabaseSync.prototype;
DatabaseSync.prototype.prepare = function (sql, ...rest) {
  record({ engine: 'sqlite', text: sql });
  return prepare.call(this, sql, ...rest);
};

const { find } = Statements.prototype;
Statements.prototype.find = function (sql) {
  const statement = find.call(this, sql);
  record({ engine: 'postgres', text: statement.text });
  return statement;
};
