import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Channel,
  chaosKinds,
  decide,
  isAfterCommit,
  kinds,
  lateMs,
  noShares,
  retrySeconds,
  slowMs,
} from './decide.ts';
import { runNames, runs } from './runs.ts';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

test('the same seed, shares and number decide the same, in every version of the program', () => {
  const drawn = numbers(60).map((n) => decide('seed', runs.bad_evening, 'call', n)?.kind ?? '');
  assert.deepEqual(Object.fromEntries(drawn.flatMap((kind, index) => (kind === '' ? [] : [[index + 1, kind]]))), {
    6: 'slow',
    18: 'slow',
    20: 'upstream_failed',
    21: 'slow',
    22: 'upstream_failed',
    23: 'slow',
    24: 'slow',
    42: 'rate_limited',
    43: 'rate_limited',
    45: 'upstream_failed',
    48: 'upstream_failed',
    51: 'upstream_failed',
    54: 'token_expired',
    57: 'rate_limited',
    58: 'upstream_failed',
  });
  assert.notDeepEqual(
    numbers(60).map((n) => decide('another', runs.bad_evening, 'call', n)?.kind ?? ''),
    drawn,
  );
});

test('each kind happens as often as its share says, on its own channel only', () => {
  const shares = { ...noShares, ...Object.fromEntries(chaosKinds.map((kind) => [kind, 125])) };
  for (const channel of ['call', 'frame', 'delivery'] satisfies Channel[]) {
    const counts = new Map<string, number>();
    for (const n of numbers(8_000)) {
      const draw = decide('shares', shares, channel, n);
      if (draw) counts.set(draw.kind, (counts.get(draw.kind) ?? 0) + 1);
    }
    const own = chaosKinds.filter((kind) => kinds[kind].channel === channel);
    assert.deepEqual([...counts.keys()].sort(), [...own].sort());
    for (const [kind, count] of counts) assert.ok(Math.abs(count - 1_000) < 150, `${kind}: ${count} of 8000`);
  }
});

test('no shares, no faults; a whole share, nothing else', () => {
  assert.ok(numbers(1_000).every((n) => decide('none', noShares, 'call', n) === undefined));
  const all = { ...noShares, rate_limited: 1000 };
  assert.ok(numbers(1_000).every((n) => decide('all', all, 'call', n)?.kind === 'rate_limited'));
});

test('what a kind leaves open stays within its bounds, and half of the failures come after the commit', () => {
  const draws = numbers(2_000).map((n) => decide('sizes', { ...noShares, slow: 1000 }, 'call', n));
  const sizes = draws.map((draw) => draw ?? assert.fail('a fault is missing'));
  assert.ok(sizes.every((draw) => slowMs(draw) >= 500 && slowMs(draw) <= 3_000));
  assert.deepEqual([...new Set(sizes.map(retrySeconds))].sort(), [1, 2, 3]);
  assert.ok(sizes.every((draw) => lateMs(draw) >= 5_000 && lateMs(draw) <= 30_000));
  assert.ok(Math.abs(sizes.filter(isAfterCommit).length - 1_000) < 120);
});

test('the shares of the ready-made runs fit', () => {
  for (const name of runNames)
    assert.ok(Object.values(runs[name]).reduce((sum, share) => sum + share, 0) <= 1000, name);
});
