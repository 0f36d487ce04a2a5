import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { rows } from '../rows/index.ts';
import { chart } from './chart.ts';
import { docsFiles, withMeasured } from './docs.ts';
import type { Report } from './report.ts';

const pages = docsFiles.pages.map((file) => readFileSync(file, 'utf8'));
const report: Report = JSON.parse(readFileSync(docsFiles.report, 'utf8'));

test('the guide’s table, in both languages, and its picture are those of the report that was kept', () => {
  for (const page of pages) assert.equal(page, withMeasured(page, report));
  assert.equal(readFileSync(docsFiles.picture, 'utf8'), chart(report));
});

test('the report that was kept has the benchmark’s rows and goals, and each goal that is missed is explained', () => {
  const known = rows.filter(({ name }) => report.rows.some((row) => row.name === name));
  assert.deepEqual(
    report.rows.map(({ name, goal }) => [name, goal]),
    known.map(({ name, goal }) => [name, goal]),
  );
  const missed = report.rows.filter(({ verdict }) => verdict === 'misses').map(({ name }) => name);
  for (const page of pages) {
    const explained = [...page.matchAll(/^### `([\w-]+)`/gm)].map(([, name]) => name);
    const left = missed.filter((name) => !explained.includes(name));
    assert.deepEqual(left, [], 'a section each under “Goals that are missed”');
  }
  assert.ok(report.rows.every(({ verdict }) => verdict !== 'failed' && verdict !== 'ran'));
});

test('what was written says nothing of whose machine it was', () => {
  const texts = [...pages, readFileSync(docsFiles.report, 'utf8'), readFileSync(docsFiles.picture, 'utf8')];
  for (const text of texts) assert.doesNotMatch(text, /\/(home|root|work|Users)\/|file:\/\//);
});
