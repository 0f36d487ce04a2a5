import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toTimestamp } from './clock.ts';

test('a timestamp is what the language itself writes, on every side of a day', () => {
  const day = 86_400_000;
  const instants = [0, 1, 999, 1000, 59_999, 60_000, 3_599_999, 3_600_000, day - 1, day, day + 1, 20_000 * day];
  instants.push(Date.UTC(2026, 1, 28, 23, 59, 59, 999), Date.UTC(2028, 1, 29, 12, 5, 9, 7), 253_402_300_799_999, -1);
  for (let i = 0; i < 2000; i++) instants.push((i * 7_919_999_983) % 4_000_000_000_000);
  for (const ms of instants) assert.equal(toTimestamp(ms), new Date(ms).toISOString());
});
