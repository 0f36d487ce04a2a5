import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIds } from './ids.ts';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

test('an id is a UUIDv7 in 26 characters of Crockford base32', () => {
  const now = Date.parse('2026-11-15T04:00:00.123Z');
  const id = createIds(() => now)('tip');
  assert.match(id, /^tip_[0-9a-hjkmnp-tv-z]{26}$/);
  const value = [...id.slice(4)].reduce((sum, character) => sum * 32n + BigInt(alphabet.indexOf(character)), 0n);
  assert.ok(value < 1n << 128n);
  assert.equal(value >> 80n, BigInt(now), '48 bits of time');
  assert.equal((value >> 76n) & 15n, 7n, 'version');
  assert.equal((value >> 62n) & 3n, 2n, 'variant');
});

test('ids order by time and do not repeat', () => {
  let now = 1_000_000;
  const newId = createIds(() => now++);
  const ids = Array.from({ length: 5000 }, () => newId('evt'));
  assert.deepEqual(ids, [...ids].sort());
  assert.equal(new Set(Array.from({ length: 5000 }, () => createIds(() => 1)('evt'))).size, 5000);
});
