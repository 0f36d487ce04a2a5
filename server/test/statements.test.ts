import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAllColumns, findUntested, literalsOf } from '../../scripts/statements.ts';

const source = `
const columns = 'id, name';
const page = \`SELECT \${columns} FROM things WHERE id > $1 LIMIT $2\`;
const one = (column: string) => \`SELECT id FROM things WHERE \${column} = $1\`;
const filter = (all: boolean) => (all ? '' : 'AND name IS NOT NULL');
const method = 'DELETE';
`;
const [page, byName, filter] = [
  'SELECT id, name FROM things WHERE id > ?1 LIMIT (?2 + 0)',
  'SELECT id FROM things WHERE name = $1',
  'SELECT id FROM things WHERE id = $1 AND name IS NOT NULL',
];

function untested(texts: readonly string[], refused?: string): string[] {
  const statements = texts.map((text) => ({ engine: 'sqlite', text }) as const);
  const found = findUntested(literalsOf('things.ts', source), statements, ({ text }) =>
    text === refused ? 'no such column' : undefined,
  );
  return found.map((line) => line.split(': ', 2).join(' '));
}

test('SQL that tests have run is found again, whatever was filled in', () => {
  assert.deepEqual(untested([page, byName, filter]), []);
});

test('SQL that no test has run is named, also a part that is filled in now and then', () => {
  assert.deepEqual(untested([byName]), ['things.ts:3 no test runs it', 'things.ts:5 no test runs it']);
});

test('SQL that the schema refuses is named, with the reason', () => {
  assert.deepEqual(untested([page, byName, filter], byName), ['things.ts:4 no such column']);
  assert.deepEqual(untested([page, byName, filter], page), ['things.ts:3 no such column']);
});

test('SQL that asks for all columns is named', () => {
  const source =
    "const sql = ['SELECT * FROM tips', 'SELECT t.* FROM tips t', 'SELECT id FROM tips', 'SELECT COUNT(*) FROM tips'];";
  const updates = "\nconst update = 'UPDATE tips SET name = $1 RETURNING *';";
  const found = findAllColumns(literalsOf('things.ts', source + updates));
  assert.deepEqual(
    found.map((line) => line.split(': ')[0]),
    ['things.ts:1', 'things.ts:1', 'things.ts:2'],
  );
});
