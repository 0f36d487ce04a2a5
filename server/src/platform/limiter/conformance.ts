/** What every limiter must do, whatever it counts with. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import type { Limiter, LimitRule, LimitVerdict } from './limiter.ts';

export interface LimiterUnderTest {
  limiter: Limiter;
  /** Lets at least this much of the limiter's own time go by. */
  advance(ms: number): void | Promise<void>;
}

export function limiterConformance(name: string, open: (t: TestContext) => Promise<LimiterUnderTest>): void {
  describe(`limiter conformance: ${name}`, () => {
    it('lets exactly the limit through, counting down, and refuses the next', async (t) => {
      const { limiter } = await open(t);
      const verdicts = await takeTimes(limiter, randomUUID(), { limit: 3, windowMs: 60_000 }, 5);
      assert.deepEqual(
        verdicts.map((verdict) => [verdict.allowed, verdict.remaining]),
        [
          [true, 2],
          [true, 1],
          [true, 0],
          [false, 0],
          [false, 0],
        ],
      );
    });

    it('gives whole seconds until the oldest leaves, rounded up', async (t) => {
      const { limiter, advance } = await open(t);
      const key = randomUUID();
      const rule = { limit: 1, windowMs: 60_000 };
      assert.equal((await limiter.take(key, rule)).resetSeconds, 60);
      await advance(1001);
      const refused = await limiter.take(key, rule);
      assert.equal(refused.allowed, false);
      assert.ok(refused.resetSeconds <= 59 && refused.resetSeconds >= 55, `got ${refused.resetSeconds}`);
    });

    it('never says less than one second', async (t) => {
      const { limiter } = await open(t);
      const verdicts = await takeTimes(limiter, randomUUID(), { limit: 1, windowMs: 400 }, 2);
      assert.deepEqual(
        verdicts.map((verdict) => verdict.resetSeconds),
        [1, 1],
      );
    });

    it('lets a refused sole caller through who waits as long as told', async (t) => {
      const { limiter, advance } = await open(t);
      const key = randomUUID();
      const rule = { limit: 2, windowMs: 1_900 };
      const refused = (await takeTimes(limiter, key, rule, 3))[2]!;
      assert.equal(refused.allowed, false);
      await advance(refused.resetSeconds * 1000);
      assert.equal((await limiter.take(key, rule)).allowed, true);
    });

    it('does not count what it refused', async (t) => {
      const { limiter, advance } = await open(t);
      const key = randomUUID();
      const rule = { limit: 2, windowMs: 3_000 };
      await takeTimes(limiter, key, rule, 2);
      await advance(1_000);
      assert.ok((await takeTimes(limiter, key, rule, 20)).every((verdict) => !verdict.allowed));
      await advance(2_010);
      assert.equal((await limiter.take(key, rule)).allowed, true);
    });

    it('slides: room appears one by one, not all at once', async (t) => {
      const { limiter, advance } = await open(t);
      const key = randomUUID();
      const rule = { limit: 2, windowMs: 3_000 };
      await limiter.take(key, rule);
      await advance(2_000);
      await limiter.take(key, rule);
      await advance(1_010);
      assert.deepEqual(
        (await takeTimes(limiter, key, rule, 2)).map((verdict) => verdict.allowed),
        [true, false],
      );
    });

    it('keeps keys apart, even ones that look alike', async (t) => {
      const { limiter } = await open(t);
      const base = randomUUID();
      const rule = { limit: 1, windowMs: 60_000 };
      for (const key of [base, `${base}:`, `{${base}}`, `${base}}{x`, `{}${base}`, base.toUpperCase()]) {
        assert.equal((await limiter.take(key, rule)).allowed, true, key);
      }
    });

    it('counts requests that arrive at the same instant one by one', async (t) => {
      const { limiter } = await open(t);
      const key = randomUUID();
      const rule = { limit: 120, windowMs: 60_000 };
      const verdicts = await Promise.all(Array.from({ length: 300 }, () => limiter.take(key, rule)));
      assert.equal(verdicts.filter((verdict) => verdict.allowed).length, 120);
    });
  });
}

async function takeTimes(limiter: Limiter, key: string, rule: LimitRule, times: number): Promise<LimitVerdict[]> {
  const verdicts: LimitVerdict[] = [];
  for (let i = 0; i < times; i++) verdicts.push(await limiter.take(key, rule));
  return verdicts;
}
