import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growthOf } from './memory.ts';

const MiB = 1024 * 1024;
const samples = (count: number, heap: (n: number) => number, files = (_n: number) => 50) =>
  Array.from({ length: count }, (_, n) => ({ seconds: 5 * n, rss: 200 * MiB, heap: heap(n), files: files(n) }));
const verdicts = (list: ReturnType<typeof samples>) => growthOf(list).map(({ kind, verdict }) => `${kind} ${verdict}`);

test('a heap that goes up and down, also far up while it warms up, is flat', () => {
  const sawtooth = (n: number) => (n < 100 ? 20 + n : 60 + 40 * ((n % 10) / 10)) * MiB;
  assert.deepEqual(verdicts(samples(720, sawtooth)), ['rss flat', 'heap flat', 'files flat']);
});

test('a heap that grows by 40 MiB in an hour is found, and so is one connection that stays open every minute', () => {
  const leaking = samples(
    720,
    (n) => (60 + 80 * (n / 720)) * MiB,
    (n) => 50 + Math.floor((n / 720) * 120),
  );
  assert.deepEqual(verdicts(leaking), ['rss flat', 'heap grows', 'files grows']);
});

test('a few samples say nothing', () => {
  assert.deepEqual(verdicts(samples(5, (n) => 100 * n * MiB)), ['rss short', 'heap short', 'files short']);
});
