import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { createPauses } from './pauses.ts';

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
  while (steps.length < 16) {
    const before = steps.length;
    await nextIteration();
    iterations.push(steps.slice(before).join(''));
  }
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
