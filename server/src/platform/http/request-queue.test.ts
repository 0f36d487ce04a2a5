import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { buildApp } from '../../../test/build-app.ts';
import { createRequestQueue } from './request-queue.ts';

const sourceOf = (name: string) => ({ address: name.charAt(0), credential: name.charAt(1) });

test('so many requests begin in one iteration of the event loop, the rest in rotation', async () => {
  const queue = createRequestQueue(sourceOf, { atOnce: 3, ofAddress: 3, ms: Infinity });
  let begun: string[] = [];
  const enter = (name: string) => queue.enter(name, () => begun.push(name));
  for (const name of ['ax1', 'ax2', 'ax3', 'ax4', 'ax5', 'ax6', 'ay1', 'b_1', 'b_2']) enter(name);
  const iterations = [begun];
  while (begun.length > 0 && iterations.length < 100) {
    begun = [];
    await nextIteration();
    iterations.push(begun);
    if (iterations.length === 2) enter('c_1');
  }
  const [first, ...later] = iterations;
  assert.deepEqual(first, ['ax1', 'ax2', 'ax3', 'ax4', 'b_1'], 'so many, and the first of each address after that');
  assert.deepEqual(later, [['ax5', 'b_2', 'ay1', 'c_1'], ['ax6'], []]);
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
  const queue = createRequestQueue(sourceOf, { atOnce: 5, ofAddress: 2, ms: Infinity });
  const begun: string[] = [];
  for (const name of ['ax', 'ax', 'ax', 'ax', 'ax', 'ax', 'ax', 'bx', 'bx', 'cx', 'cx', 'dx', 'dx'])
    queue.enter(name, () => begun.push(name));
  const counts: number[] = [];
  while (begun.length > 0 && counts.length < 100) {
    counts.push(begun.splice(0).length);
    await nextIteration();
  }
  assert.deepEqual(counts, [6, 5, 2]);
});

test('security 41, 42: fewer requests begin in an iteration while they are expensive', async () => {
  let ms = 0;
  const queue = createRequestQueue(sourceOf, { atOnce: 8, ofAddress: 8, ms: 1 }, () => ms);
  async function iterationsOf(costs: readonly number[]): Promise<number[]> {
    let begun = 0;
    for (const cost of costs)
      queue.enter('ax', async () => {
        begun += 1;
        // Half of it is computed after a promise, and counts too.
        ms += cost / 2;
        for (let i = 0; i < 10; i++) await undefined;
        ms += cost / 2;
      });
    const counts: number[] = [];
    for (let all = 0; all < costs.length; all = begun) {
      const before = begun;
      // What runs beside them does not count.
      ms += 100;
      await nextIteration();
      counts.push(begun - before);
    }
    return counts;
  }
  const cheap = Array.from({ length: 80 }, () => 0.1);
  const expensive = Array.from({ length: 80 }, () => 0.5);
  const mostOf = (counts: number[]) => Math.max(...counts.slice(counts.length / 2));
  assert.equal(mostOf(await iterationsOf(cheap)), 8);
  assert.equal(mostOf(await iterationsOf(expensive)), 2);
  assert.equal(mostOf(await iterationsOf(expensive.map(() => 20))), 1);
  assert.equal(mostOf(await iterationsOf([...expensive, ...cheap, ...cheap])), 8);
});

test('security 37: however expensive they are, one request of each address begins in an iteration', async () => {
  let ms = 0;
  const queue = createRequestQueue(sourceOf, { atOnce: 64, ofAddress: 8, ms: 1 }, () => ms);
  const begun: string[] = [];
  const enter = (name: string) =>
    queue.enter(name, () => {
      begun.push(name);
      ms += 20;
    });
  for (let n = 0; n < 20; n += 1) for (const name of ['ax', 'bx', 'cx', 'dx']) enter(name);
  for (let n = 0; n < 5; n += 1) await nextIteration();
  const before = begun.length;
  enter('vx');
  assert.deepEqual(begun.slice(before), ['vx'], 'one of an address that sends nothing else at once');
  enter('vx');
  await nextIteration();
  assert.deepEqual(begun.slice(before), ['vx', 'ax', 'bx', 'cx', 'dx', 'vx']);
});

test('security 42: of addresses that send one request each no more than so many begin at once', async () => {
  const queue = createRequestQueue(sourceOf, { atOnce: 3, ofAddress: 1, ms: Infinity });
  const begun: string[] = [];
  for (const name of ['ax', 'bx', 'cx', 'dx', 'ex', 'fx', 'gx']) queue.enter(name, () => begun.push(name));
  assert.deepEqual(begun, ['ax', 'bx', 'cx', 'dx']);
  await nextIteration();
  assert.deepEqual(begun.slice(4), ['ex', 'fx', 'gx']);
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
