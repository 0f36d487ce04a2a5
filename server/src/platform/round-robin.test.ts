import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RoundRobin } from './round-robin.ts';

const takeAll = <T>(items: RoundRobin<T>): T[] => Array.from({ length: items.size }, () => items.take() as T);

test('items are taken in rotation between owners, in order of arrival within an owner', () => {
  const items = new RoundRobin<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) items.add(item.charAt(0), item);
  assert.equal(items.take(), 'a1');
  items.add('d', 'd1');
  items.add('b', 'b2');
  assert.deepEqual(takeAll(items), ['b1', 'c1', 'a2', 'd1', 'b2', 'c2', 'a3']);
  assert.equal(items.take(), undefined);
  assert.equal(items.size, 0);
});

test('owners are listed with their items, and the newest matching item of one can be removed', () => {
  const items = new RoundRobin<string>();
  for (const item of ['a1', 'b1', 'b2', 'b3']) items.add(item.charAt(0), item);
  assert.deepEqual(
    [...items.entries()],
    [
      ['a', ['a1']],
      ['b', ['b1', 'b2', 'b3']],
    ],
  );
  assert.equal(
    items.removeNewest('b', (item) => item !== 'b3'),
    'b2',
  );
  assert.equal(
    items.removeNewest('a', () => false),
    undefined,
  );
  assert.deepEqual([items.of('b'), items.of('nobody'), items.size], [['b1', 'b3'], [], 3]);
  assert.equal(
    items.removeNewest('a', () => true),
    'a1',
  );
  assert.deepEqual(takeAll(items), ['b1', 'b3']);
});
