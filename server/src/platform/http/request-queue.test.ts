import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { buildApp } from '../../../test/build-app.ts';
import { createRequestQueue } from './request-queue.ts';

const sourceOf = (name: string) => ({ address: name.charAt(0), credential: name.charAt(1) });

test('so many requests begin in one iteration of the event loop, the rest in rotation', async () => {
  const queue = createRequestQueue(sourceOf, { atOnce: 3, ofAddress: 3 });
  let begun: string[] = [];
  const enter = (name: string) => queue.enter(name, () => begun.push(name));
  for (const name of ['ax1', 'ax2', 'ax3', 'ax4', 'ax5', 'ax6', 'ay1', 'b_1', 'b_2']) enter(name);
  const iterations = [begun];
  while (begun.length > 0) {
    begun = [];
    await nextIteration();
    iterations.push(begun);
    if (iterations.length === 2) enter('c_1');
  }
  assert.deepEqual(iterations, [['ax1', 'ax2', 'ax3'], ['ax4', 'b_1', 'ay1'], ['b_2', 'ax5', 'c_1'], ['ax6'], []]);
});

test('a request that begins in the same iteration as few others begins at once', () => {
  const queue = createRequestQueue(sourceOf);
  let begun = false;
  queue.enter('ax1', () => {
    begun = true;
  });
  assert.ok(begun);
});

test('more requests begin in an iteration when more addresses wait', async () => {
  const queue = createRequestQueue(sourceOf, { atOnce: 5, ofAddress: 2 });
  const begun: string[] = [];
  for (const name of ['ax', 'ax', 'ax', 'ax', 'ax', 'ax', 'ax', 'bx', 'cx', 'dx'])
    queue.enter(name, () => begun.push(name));
  const counts: number[] = [];
  while (begun.length > 0) {
    counts.push(begun.splice(0).length);
    await nextIteration();
  }
  assert.deepEqual(counts, [2, 5, 2, 1]);
});

test('security 42: requests of the server go through the queue', async (t) => {
  const { http } = await buildApp(t);
  await http.inject('/healthz');
  const iterations: number[] = [];
  let answered = 0;
  const all = Promise.all(
    Array.from({ length: 300 }, async () => {
      await http.inject('/healthz');
      answered += 1;
    }),
  );
  for (let before = 0; answered < 300; before = answered) {
    await nextIteration();
    iterations.push(answered - before);
  }
  await all;
  // At most 64 begin in an iteration, and one that is counted here may hold the end of one and all of the next.
  assert.ok(Math.max(...iterations) <= 128, iterations.join(' '));
});
