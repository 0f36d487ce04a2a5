import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from './type.ts';
import { createCheck } from './validation.ts';

test('of a list that is far too long few items are looked at, and the other fields as ever', () => {
  const schema = Type.Object({ list: Type.Array(Type.String(), { maxItems: 3 }), name: Type.String() });
  const check = createCheck(schema);
  const details = check({ list: Array(30_000).fill(0), name: 5 });
  assert.equal(
    details.filter(({ field }) => field === 'list').length,
    5,
    'four wrong items, and that they are too many',
  );
  assert.equal(details.filter(({ field }) => field === 'name').length, 1);
  assert.deepEqual(check({ list: ['a', 'b', 'c'], name: 'd' }), []);
  assert.equal(check({ list: ['a', 'b', 'c', 'd'], name: 'd' }).length, 1);
});
