import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { createHalfTimePauses, createPauses } from './pauses.ts';

test('security 41: of loops that run at the same time one has a turn in an iteration, of a millisecond', async () => {
  let ms = 0;
  const steps: string[] = [];
  async function loop(name: string): Promise<void> {
    const pause = createPauses(name, () => ms);
    for (let step = 0; step < 8; step += 1) {
      await pause();
      ms += 0.5;
      steps.push(name);
    }
  }
  const loops = Promise.all([loop('a'), loop('b')]);
  const iterations: string[] = [];
  while (steps.length < 16 && iterations.length < 100) {
    const before = steps.length;
    await nextIteration();
    iterations.push(steps.slice(before).join(''));
  }
  assert.equal(steps.length, 16, iterations.join(' '));
  await loops;
  // The first turn comes at once, in the iteration before.
  assert.deepEqual(iterations, ['aabb', 'aa', 'bb', 'aa', 'bb', 'aa', 'bb']);
});

test('security 41: whoever has much of such work delays another by one turn', async () => {
  const turns: string[] = [];
  const work = async (owner: string): Promise<void> => {
    await createPauses(owner)();
    turns.push(owner);
  };
  const all = [...Array.from({ length: 20 }, () => work('many')), work('one')];
  await Promise.all(all);
  assert.ok(turns.indexOf('one') <= 2, turns.join(' '));
});

test('security 41: work of many has a millisecond, then rests for as long, however many wait', async () => {
  let ms = 0;
  const rests: number[] = [];
  const pause = createHalfTimePauses(
    () => ms,
    async (restMs) => {
      rests.push(ms);
      ms += restMs;
    },
  );
  for (let step = 0; step < 8; step += 1) {
    await pause();
    ms += 0.5;
  }
  assert.deepEqual(rests, [1, 3, 5]);
  // Three wait for the same rest.
  await Promise.all([pause(), pause(), pause()]);
  assert.deepEqual(rests, [1, 3, 5, 7]);
  // Whoever comes after a long time waits for nothing.
  ms += 10;
  await pause();
  assert.equal(rests.length, 4);
});

test('a rest of work of many lets others run', async () => {
  const pause = createHalfTimePauses();
  const deadline = performance.now() + 60_000;
  const isLate = (): boolean => performance.now() > deadline;
  let iterations = 0;
  const others = (async () => {
    for (; iterations < 5 && !isLate(); iterations += 1) await nextIteration();
  })();
  while (iterations < 5 && !isLate()) await pause();
  assert.equal(iterations, 5);
  await others;
});
