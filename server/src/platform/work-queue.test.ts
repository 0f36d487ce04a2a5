import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createWorkQueue, QueueFull } from './work-queue.ts';

test('work runs so many at once, the rest in order of arrival, and one too many is refused', async () => {
  const { run, goOn } = createWorkQueue({ atOnce: 2, maxWaiting: 3 });
  const order: number[] = [];
  let [running, most] = [0, 0];
  const task = (number: number) => async () => {
    running += 1;
    most = Math.max(most, running);
    await nextTurn();
    running -= 1;
    order.push(number);
    if (number === 1) throw new RangeError('its own failure');
    return number;
  };
  const asked = [0, 1, 2, 3, 4].map((number) => run(task(number)));
  const refused = run(task(5));
  const later = goOn(task(6));
  await assert.rejects(refused, QueueFull);
  const done = await Promise.allSettled([...asked, later]);
  assert.deepEqual(
    done.map((result) => (result.status === 'fulfilled' ? result.value : result.reason.name)),
    [0, 'RangeError', 2, 3, 4, 6],
  );
  assert.deepEqual([order, most], [[0, 1, 2, 3, 4, 6], 2]);
  assert.equal(await run(task(7)), 7, 'and nothing is left behind');
});
