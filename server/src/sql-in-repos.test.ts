import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { literalsOf } from '../../scripts/statements.ts';

const statement = /^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH)\s/;

test('every SQL statement of a feature stands in a file whose name ends in repo.ts', () => {
  const files = globSync('features/**/*.ts', {
    cwd: import.meta.dirname,
    exclude: ['**/*.test.ts', '**/*repo.ts', '**/browser/**'],
  });
  assert.ok(files.length > 100);
  const found = files.flatMap((file) =>
    literalsOf(file, readFileSync(`${import.meta.dirname}/${file}`, 'utf8')).filter(({ pieces }) =>
      statement.test(pieces[0] ?? ''),
    ),
  );
  assert.deepEqual(
    found.map(({ file, line }) => `${file}:${line}`),
    [],
  );
});
