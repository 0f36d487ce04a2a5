import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createBench } from './bench.ts';
import { compareRates, type Side } from './compare.ts';

/** Two sides of which one does three requests where the other does two, and in which order they were run. */
function openSides(t: TestContext, { short = false, divisible = true } = {}) {
  const bench = createBench({ rounds: 2, short, progress: () => {} });
  t.after(() => bench.end());
  const child = bench.start(new URL('./load-worker.ts', import.meta.url));
  const runs: (readonly [label: string, part: number])[] = [];
  const side = (label: string, requests: number): Side => ({
    label,
    child,
    divisible,
    async run(part) {
      runs.push([label, part]);
      // Slower and slower: what comes later in a round must not weigh on one side alone.
      return { requests: requests * part, seconds: part * runs.length };
    },
  });
  return { bench, sides: { ours: side('ours', 300), reference: side('bare', 200) }, runs };
}

test('a round goes to and fro between the sides, and each begins as often as the other', async (t) => {
  const { bench, sides, runs } = openSides(t);
  const { values } = await compareRates(bench, sides);
  const [warmUp, rounds] = [runs.slice(0, 2), runs.slice(2)];
  assert.deepEqual(warmUp, [
    ['ours', 1],
    ['bare', 1],
  ]);
  const labels = rounds.map(([label]) => label).join(' ');
  assert.equal(labels, `${'ours bare bare ours '.repeat(3)}${'bare ours ours bare '.repeat(3)}`.trim());
  assert.ok(rounds.every(([, part]) => part === 1 / 6));
  assert.equal(values.length, 2);
  for (const value of values) assert.ok(Math.abs(value - 1.5) < 1e-9, `${value}`);
});

test('what cannot be divided, and a short run, has whole rounds', async (t) => {
  for (const options of [{ divisible: false }, { short: true }]) {
    const { bench, sides, runs } = openSides(t, options);
    await compareRates(bench, sides);
    assert.deepEqual(
      runs.slice(2).map(([label, part]) => `${label} ${part}`),
      ['ours 1', 'bare 1', 'bare 1', 'ours 1'],
    );
  }
});
