import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../../../sdk/test/until.ts';
import { maxShareOfTime, repeat } from './repeat.ts';

test('a job that is requested all the time keeps to its share of the time', async (t) => {
  const runs: { readonly began: number; readonly ended: number }[] = [];
  const job = async () => {
    const began = performance.now();
    await sleep(5);
    runs.push({ began, ended: performance.now() });
  };
  const { soon, stop } = repeat(job, 60_000, assert.ifError);
  t.after(stop);
  await until('four runs', () => {
    soon();
    return runs.length === 4;
  });
  for (const [i, { began }] of runs.entries()) {
    const before = runs[i - 1];
    // A timer may fire within the millisecond before its time.
    if (before) assert.ok(began - before.ended > (before.ended - before.began) / maxShareOfTime - 2);
  }
});
