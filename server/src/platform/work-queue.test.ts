import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { createWorkQueue, QueueFull } from './work-queue.ts';

test('work runs so many at once, the rest in order of arrival, and one too many is refused', async () => {
  const { run, runAdmitted } = createWorkQueue({ atOnce: 2, maxWaiting: 3 });
  const order: number[] = [];
  let [running, most] = [0, 0];
  const task = (number: number) => async () => {
    running += 1;
    most = Math.max(most, running);
    await nextIteration();
    running -= 1;
    order.push(number);
    if (number === 1) throw new RangeError('its own failure');
    return number;
  };
  const asked = [0, 1, 2, 3, 4].map((number) => run('one', task(number)));
  const refused = run('one', task(5));
  const later = runAdmitted('one', task(6));
  await assert.rejects(refused, QueueFull);
  const done = await Promise.allSettled([...asked, later]);
  assert.deepEqual(
    done.map((result) => (result.status === 'fulfilled' ? result.value : result.reason.name)),
    [0, 'RangeError', 2, 3, 4, 6],
  );
  assert.deepEqual([order, most], [[0, 1, 2, 3, 4, 6], 2]);
  assert.equal(await run('one', task(7)), 7, 'and nothing is left behind');
});

test('owners take turns, and a full queue refuses the newest of whoever has the most waiting', async () => {
  const { run, runAdmitted } = createWorkQueue({ atOnce: 1, maxWaiting: 4 });
  const [order, refused]: [string[], string[]] = [[], []];
  async function add(queue: typeof run, name: string): Promise<void> {
    const begin = async () => {
      order.push(name);
      await nextIteration();
    };
    await queue(name.charAt(0), begin).catch((error) => {
      assert.ok(error instanceof QueueFull);
      refused.push(name);
    });
  }
  const asked = ['a0', 'a1', 'a2'].map((name) => add(run, name));
  // Work that has begun is not refused, although it is the newest of its owner.
  asked.push(add(runAdmitted, 'a3'));
  asked.push(...['b1', 'c1', 'a4', 'd1', 'e1'].map((name) => add(run, name)));
  await Promise.all(asked);
  assert.deepEqual(order, ['a0', 'a3', 'b1', 'c1', 'd1']);
  assert.deepEqual(refused.sort(), ['a1', 'a2', 'a4', 'e1']);
});

test('security 41: however much of one owner goes on, another is not refused', async () => {
  const { run, runAdmitted } = createWorkQueue({ atOnce: 1, maxWaiting: 3 });
  const going = Array.from({ length: 20 }, () => runAdmitted('many', () => nextIteration()));
  const asked = [run('one', () => nextIteration()), run('two', () => nextIteration())];
  await assert.rejects(
    run('three', () => nextIteration()),
    QueueFull,
  );
  await Promise.all([...going, ...asked]);
});

test('security 41: one owner has so many slots, and the others stay free although more of theirs wait', async () => {
  const { runAdmitted } = createWorkQueue({
    atOnce: 3,
    atOnceOf: (owner) => (owner === 'nobody' ? 3 : 2),
    maxWaiting: Number.POSITIVE_INFINITY,
  });
  const running: string[] = [];
  const ends: (() => void)[] = [];
  const add = (owner: string) =>
    runAdmitted(owner, async () => {
      running.push(owner);
      await new Promise<void>((resolve) => ends.push(resolve));
      running.splice(running.indexOf(owner), 1);
    });
  const many = Array.from({ length: 4 }, () => add('many'));
  assert.deepEqual(running, ['many', 'many']);
  const one = add('one');
  assert.deepEqual(running, ['many', 'many', 'one']);
  // The slot of the one who is done stays free for the next.
  ends.pop()?.();
  await one;
  await nextIteration();
  assert.deepEqual(running, ['many', 'many']);
  const others = [add('other'), add('last')];
  assert.deepEqual(running, ['many', 'many', 'other']);
  // Of those who wait the next has the slot: of the many, then the last.
  ends.shift()?.();
  await nextIteration();
  assert.deepEqual(running.toSorted(), ['many', 'many', 'other']);
  ends.shift()?.();
  await nextIteration();
  assert.deepEqual(running.toSorted(), ['last', 'many', 'other']);
  while (ends.length > 0) {
    ends.shift()?.();
    await nextIteration();
  }
  await Promise.all([...many, ...others]);
  const nobodys = Array.from({ length: 3 }, () => add('nobody'));
  assert.equal(running.length, 3);
  for (const end of ends) end();
  await Promise.all(nobodys);
});
