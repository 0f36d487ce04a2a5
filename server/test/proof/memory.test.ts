import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growthOf } from './memory.ts';

const MiB = 1024 * 1024;
const samples = (
  count: number,
  heap: (n: number) => number,
  files = (_n: number) => 50,
  rss = (_n: number) => 200 * MiB,
) => Array.from({ length: count }, (_, n) => ({ seconds: 5 * n, rss: rss(n), heap: heap(n), files: files(n) }));
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

test('memory that is given back after minutes is flat, and growth below it is found', () => {
  // As V8 does: from some time on 180 MiB more for eight minutes, then none for two.
  const kept = (n: number) => (500 + (n > 400 && n % 120 < 96 ? 180 : 0)) * MiB;
  const of = (rss: (n: number) => number) =>
    verdicts(
      samples(
        720,
        () => 60 * MiB,
        () => 50,
        rss,
      ),
    )[0];
  assert.equal(of(kept), 'rss flat');
  assert.equal(
    of((n) => kept(n) + 180 * MiB * (n / 720)),
    'rss grows',
  );
});

test('a few samples say nothing', () => {
  assert.deepEqual(verdicts(samples(5, (n) => 100 * n * MiB)), ['rss short', 'heap short', 'files short']);
});
