import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { RequestSlots } from './request-slots.ts';

const quick = (owner: string) => ({ owner, slow: false });
const slow = (owner: string) => ({ owner, slow: true });
const nobody = () => {};

test('security 32: one owner, and all slow endpoints together, take so many slots and no more', () => {
  const slots = new RequestSlots({ all: 10, slow: 4, ofOwner: 3 });
  const take = (requests: { owner: string; slow: boolean }[]) =>
    requests.map((request) => slots.acquire(request, nobody));
  assert.deepEqual(take([quick('a'), slow('a'), slow('a'), quick('a'), slow('a')]), [true, true, true, false, false]);
  assert.deepEqual(take([slow('b'), slow('b'), slow('b'), quick('b')]), [true, true, false, true]);
  assert.deepEqual(take(['c', 'c', 'c', 'd', 'd'].map(quick)), [true, true, true, true, false], 'all are taken');
});

test('a free slot goes to a waiting endpoint of the same owner, then to the one that had it, then to others', () => {
  const slots = new RequestSlots({ all: 4, slow: 2, ofOwner: 2 });
  const called: string[] = [];
  const wait = (name: string, request = quick(name.charAt(0))) =>
    assert.equal(
      slots.acquire(request, () => called.push(name)),
      false,
    );
  for (const owner of ['a', 'a', 'b']) assert.ok(slots.acquire(quick(owner), nobody));
  wait('a1');
  wait('a2');
  assert.ok(slots.acquire(quick('b'), nobody));
  wait('c1');
  wait('d1', slow('d'));
  slots.release(quick('a'), () => called.push('first'));
  // Nobody takes the slot, so all that can use it are told.
  assert.deepEqual(called, ['a1', 'a2', 'first', 'c1', 'd1']);
});

test('one who takes the free slot leaves the others waiting', () => {
  const slots = new RequestSlots({ all: 2, slow: 1, ofOwner: 2 });
  const called: string[] = [];
  for (const owner of ['a', 'b']) assert.ok(slots.acquire(quick(owner), nobody));
  for (const name of ['c', 'd'])
    slots.acquire(quick(name), () => {
      called.push(name);
      slots.acquire(quick(name), nobody);
    });
  slots.release(quick('a'), nobody);
  assert.deepEqual(called, ['c']);
  slots.release(quick('c'), nobody);
  assert.deepEqual(called, ['c', 'd']);
});

test('security 39: however many receivers answer at once, four slots are released in an iteration', async () => {
  const slots = new RequestSlots();
  for (let i = 0; i < 10; i += 1) assert.ok(slots.acquire(quick('a'), nobody));
  let released = 0;
  for (let i = 0; i < 10; i += 1) slots.release(quick('a'), () => (released += 1));
  const counts = [released];
  while (released < 10 && counts.length < 100) {
    await nextIteration();
    counts.push(released);
  }
  assert.deepEqual(counts, [4, 8, 10]);
});

test('security 39: however many endpoints want an event, four requests begin in an iteration', async () => {
  const slots = new RequestSlots();
  let begun = 0;
  for (let i = 0; i < 10; i += 1) void slots.mayBegin().then(() => (begun += 1));
  await Promise.resolve();
  const counts = [begun];
  while (begun < 10 && counts.length < 100) {
    await nextIteration();
    counts.push(begun);
  }
  assert.deepEqual(counts, [4, 8, 10]);
});
