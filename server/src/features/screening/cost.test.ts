import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertBelow } from '../../../test/assert-below.ts';
import { atOnce } from '../../../test/at-once.ts';
import { nameKey } from './fold.ts';
import { noRules, type Rules } from './rules.ts';
import { compileRules } from './screen.ts';

const list = (words: string[]) => ({ id: '', title: '', words, except: [], match: 'words', action: 'mask' }) as const;
const growing = (part: string, count: number) => Array.from({ length: count }, (_, i) => part.repeat(i + 1));
const tenLists = (words: string[]) => Array.from({ length: 10 }, () => list(words));
const withExceptions = (words: string[]) =>
  tenLists(words).map((each) => ({ ...each, except: words, match: 'anywhere' }) as const);
/** The word with a space after other letters each time. */
const spaced = (word: string, count: number) =>
  Array.from({ length: count }, (_, i) =>
    word.replace(/./g, (letter, at) => letter + ((i >> at) & 1 ? ' ' : '')).trim(),
  );

/** The mean processor time of a decision: unlike the time that passes, it is the same on a busy machine. */
function decisionMs(rules: Partial<Rules>, message: string): number {
  const { decide } = atOnce(compileRules({ ...noRules, ...rules }));
  const words = { amountMinor: 100, name: 'SOMCHAI', displayName: null, message };
  const times = 30;
  decide(words, true);
  const before = process.threadCpuUsage();
  for (let i = 0; i < times; i++) decide(words, true);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000 / times;
}

test('no message takes long to screen, whatever the lists say', async () => {
  const cases: [Partial<Rules>, string][] = [
    [{ lists: tenLists(growing('ab', 29)) }, 'a b '.repeat(63)],
    [{ lists: tenLists(growing('ab', 29)) }, 'ab'.repeat(127)],
    [{ lists: tenLists(growing('aman', 14)) }, 'am an '.repeat(42)],
    [{ lists: [list(spaced('ab'.repeat(7), 1900))] }, '@b'.repeat(127)],
    [{ lists: [list(spaced('ab'.repeat(20), 1900))] }, `${'ab'.repeat(15)} `.repeat(8)],
    [{ lists: withExceptions(['ab', 'ba']) }, 'ab'.repeat(127)],
    [{ lists: withExceptions(['صل', 'له', 'لي', 'ال']) }, 'ﷺ'.repeat(255)],
    [{ links: 'mask', numbers: 'mask' }, `.${'㍿'.repeat(600)}`],
  ];
  for (const [rules, message] of cases)
    await assertBelow(`ms for ${message.slice(0, 12)}…`, 20, () => decisionMs(rules, message));
});

test('a word that is written letter by letter is found in every list', () => {
  const { decide } = atOnce(compileRules({ ...noRules, lists: tenLists(['heckler']) }));
  const words = { amountMinor: 100, name: 'SOMCHAI', displayName: null, message: 'you h e c k l e r' };
  const { shown, reasons } = decide(words, true);
  assert.deepEqual([shown?.message, reasons.length], ['you ************', 10]);
});

test('a word is found, and an exception holds, among characters that stand for many letters', () => {
  const { decide } = atOnce(
    compileRules({ ...noRules, lists: [{ ...list(['heck']), except: ['heckler'], match: 'anywhere' }] }),
  );
  const message = `${'ﷺ'.repeat(240)} heckler heck`;
  const { shown } = decide({ amountMinor: 100, name: 'SOMCHAI', displayName: null, message }, true);
  assert.equal(shown?.message?.slice(-12), 'heckler ****');
});

test('security 41: to compile the longest rules is many short steps', async () => {
  const word = (i: number) =>
    String.fromCodePoint(...Array.from({ length: 25 }, (_, k) => 0x4e00 + ((i * 7_919 + k * 104_729) % 20_000)));
  const words = Array.from({ length: 2_000 }, (_, i) => word(i));
  const rules = { ...noRules, lists: [list(words)], blockedNames: words.slice(0, 500) };
  /** The least time that each step took so far. */
  const least: number[] = [];
  const measure = () => {
    const steps = compileRules(rules);
    for (let [step, done]: [number, boolean | undefined] = [0, false]; !done; step += 1) {
      const began = performance.now();
      done = steps.next().done;
      least[step] = Math.min(least[step] ?? Number.POSITIVE_INFINITY, performance.now() - began);
    }
    // One for each word and name, and one for every hundred letters of the trie.
    assert.ok(least.length >= 2_000 + 500 + 400, `${least.length} steps`);
    return Math.max(...least);
  };
  await assertBelow('ms of the longest step', 5, measure, 20);
});

test('security 41: no text makes the server fold a character anew, however many characters there are', (t) => {
  const text = String.fromCodePoint(...Array.from({ length: 30_000 }, (_, i) => 0x20000 + i));
  const before = nameKey(text);
  const normalize = t.mock.method(String.prototype, 'normalize');
  assert.equal(nameKey(text), before);
  assert.equal(normalize.mock.callCount(), 0);
});
