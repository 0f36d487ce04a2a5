import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { createPacer } from './pacer.ts';

test('tasks that are due together run so many in an iteration of the event loop, in their order', async () => {
  const paced = createPacer(2);
  const done: number[] = [];
  const counts: number[] = [];
  const add = (n: number) => paced(() => done.push(n));
  for (let n = 0; n < 5; n++) add(n);
  while (counts.at(-1) !== 5 && counts.length < 100) {
    counts.push(done.length);
    await nextIteration();
  }
  assert.deepEqual(counts, [2, 4, 5]);
  assert.deepEqual(done, [0, 1, 2, 3, 4]);
  await nextIteration();
  add(5);
  assert.deepEqual(done.length, 6, 'one that is due alone does not wait');
});

test('a task that is added while others wait comes after them', async () => {
  const paced = createPacer(2);
  const done: string[] = [];
  for (const name of ['a', 'b', 'c', 'd'])
    paced(() => {
      done.push(name);
      if (name === 'c') paced(() => done.push('added by c'));
    });
  for (let n = 0; done.length < 5 && n < 100; n += 1) await nextIteration();
  assert.deepEqual(done, ['a', 'b', 'c', 'd', 'added by c']);
});
