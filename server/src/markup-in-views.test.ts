import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

/** Files with a reason to hold markup under another name. */
/** The rules of the Markdown renderer: each turns a token into markup. */
const exceptions = ['features/docs/markdown.ts'];

test('every markup template of a feature stands in a file whose name ends in views.ts', () => {
  const files = globSync('features/**/*.ts', {
    cwd: import.meta.dirname,
    exclude: ['**/*.test.ts', '**/views.ts', '**/*-views.ts', '**/browser/**'],
  });
  assert.ok(files.length > 100);
  const found = files.filter((file) => readFileSync(`${import.meta.dirname}/${file}`, 'utf8').includes('html`'));
  assert.deepEqual(found.sort(), exceptions.sort());
});
