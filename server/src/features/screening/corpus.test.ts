import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { atOnce } from '../../../test/at-once.ts';
import { createMatcher } from './matcher.ts';
import { starterLists } from './starter-lists.ts';

/** One JSON text on each line, so that invisible characters can be seen. */
const textsOf = (name: string): string[] =>
  readFileSync(new URL(`../../../test/fixtures/screening/${name}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

const { english, thai } = starterLists;
const matcher = atOnce(createMatcher([english, thai].map((list) => ({ ...list, anywhere: false }))));
const isFound = (text: string): boolean => matcher.find(text).length > 0;

const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;

test('the starter lists catch at least 95 % of evasions, and at most 2 % of innocent texts', (t) => {
  const evasions = [...textsOf('english-evasions'), ...textsOf('thai-evasions')];
  const innocent = [...textsOf('english-innocent'), ...textsOf('thai-innocent')];
  assert.deepEqual([evasions.length, innocent.length], [300, 300]);
  const missed = evasions.filter((text) => !isFound(text));
  const wronged = innocent.filter(isFound);
  const caught = evasions.length - missed.length;
  t.diagnostic(`caught ${caught} of ${evasions.length} evasions (${percent(caught, evasions.length)})`);
  t.diagnostic(`wrongly caught ${wronged.length} of ${innocent.length} (${percent(wronged.length, innocent.length)})`);
  for (const text of missed) t.diagnostic(`missed ${JSON.stringify(text)}`);
  for (const text of wronged) t.diagnostic(`wrongly caught ${JSON.stringify(text)}`);
  assert.ok(caught >= 0.95 * evasions.length, `caught only ${percent(caught, evasions.length)}`);
  assert.ok(wronged.length <= 0.02 * innocent.length, `wrongly caught ${percent(wronged.length, innocent.length)}`);
});

test('every word of the starter lists is found, and no exception is', () => {
  for (const { words, except } of [english, thai]) {
    for (const word of words) assert.ok(isFound(word.replaceAll('*', '')), word);
    for (const word of except) assert.ok(!isFound(word), word);
  }
});
