import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seed } from '../../../../sdk/test/seeded.ts';
import { connectionSlotsConformance, limiterConformance } from '../../../test/conformance/limiter.ts';
import type { LimitRule, LimitVerdict } from './limiter.ts';
import { createMemoryLimiter } from './memory.ts';

function withFakeClock() {
  let time = 1_000;
  const limiter = createMemoryLimiter({ now: () => time });
  return {
    limiter,
    now: () => time,
    advance: (ms: number) => {
      time += ms;
    },
  };
}

limiterConformance('memory', async () => withFakeClock());

connectionSlotsConformance('memory', async () => {
  const { connectionSlots } = createMemoryLimiter();
  return [connectionSlots, connectionSlots];
});

/** The definition, written down naively. */
function createModel() {
  const allowedAt = new Map<string, number[]>();
  return {
    take(key: string, { limit, windowMs }: LimitRule, now: number, asked: number): LimitVerdict {
      const counted = (allowedAt.get(key) ?? []).filter((at) => now < at + windowMs);
      const cost = Math.min(asked, limit);
      const allowed = counted.length + cost <= limit;
      // A refused one waits until so many of the oldest have left.
      const wait = allowed ? 1 : counted.length + cost - limit;
      if (allowed) counted.push(...Array<number>(cost).fill(now));
      allowedAt.set(key, counted);
      const resetSeconds = Math.max(1, Math.ceil(((counted[wait - 1] ?? now) + windowMs - now) / 1000));
      return { allowed, remaining: limit - counted.length, resetSeconds };
    },
  };
}

const rules = fc.array(
  fc.record({ limit: fc.integer({ min: 1, max: 12 }), windowMs: fc.integer({ min: 1, max: 3_000 }) }),
  {
    minLength: 1,
    maxLength: 4,
  },
);
const steps = fc.array(
  fc.record({
    key: fc.nat({ max: 3 }),
    times: fc.integer({ min: 1, max: 5 }),
    cost: fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 14 })),
    // Whole milliseconds often, so that steps land exactly on the edge of a window.
    wait: fc.oneof(fc.constantFrom(0, 1, 1_000), fc.nat({ max: 400 }), fc.nat({ max: 8_000 })),
    waitForReset: fc.boolean(),
  }),
  { maxLength: 60, size: 'max' },
);

describe('memory limiter', () => {
  it(`agrees with the naive model in every interleaving of keys, rules and time (TEST_SEED=${seed})`, () => {
    fc.assert(
      fc.property(rules, steps, (ruleOfKey, script) => {
        const { limiter, now, advance } = withFakeClock();
        const model = createModel();
        const allowedAt = new Map<number, number[]>();
        for (const step of script) {
          advance(step.wait);
          const index = step.key % ruleOfKey.length;
          const rule = ruleOfKey[index]!;
          for (let i = 0; i < step.times; i++) {
            const verdict = limiter.take(`key-${index}`, rule, step.cost);
            assert.deepEqual(verdict, model.take(`key-${index}`, rule, now(), step.cost));
            const counted = Array<number>(Math.min(step.cost, rule.limit)).fill(now());
            if (verdict.allowed) allowedAt.set(index, [...(allowedAt.get(index) ?? []), ...counted]);
            else if (step.waitForReset) advance(verdict.resetSeconds * 1000);
          }
        }
        for (const [index, times] of allowedAt) assertNeverOverLimit(times, ruleOfKey[index]!);
      }),
      { numRuns: 1_000, seed },
    );
  });

  it('has let a request go at exactly t + window, not a moment sooner', () => {
    const { limiter, advance } = withFakeClock();
    const rule = { limit: 1, windowMs: 60_000 };
    limiter.take('key', rule);
    advance(59_999.999);
    assert.deepEqual(limiter.take('key', rule), { allowed: false, remaining: 0, resetSeconds: 1 });
    advance(0.001);
    assert.deepEqual(limiter.take('key', rule), { allowed: true, remaining: 0, resetSeconds: 60 });
  });

  it('never asks for more than the window, whatever fractions the clock reads', () => {
    const { limiter, advance } = withFakeClock();
    for (let i = 0; i < 1_000; i++) {
      advance(0.1 + i / 7);
      assert.equal(limiter.take(`key-${i}`, { limit: 1, windowMs: 60_000 }).resetSeconds, 60);
    }
  });

  it('holds no key that has been idle for two windows, however many there were', () => {
    const { limiter, advance } = withFakeClock();
    const rule = { limit: 10, windowMs: 60_000 };
    for (let second = 0; second < 600; second++) {
      for (let i = 0; i < 20; i++) limiter.take(`visitor-${second}-${i}`, rule);
      limiter.take('regular', { limit: 1_000, windowMs: 60_000 });
      advance(1_000);
      assert.ok(limiter.keyCount() <= 120 * 21, `${limiter.keyCount()} keys`);
    }
    advance(60_000);
    limiter.take('regular', rule);
    advance(60_000);
    limiter.take('regular', rule);
    assert.equal(limiter.keyCount(), 1);
  });

  it('holds the keys of a minute no longer because others last an hour', () => {
    const { limiter, advance } = withFakeClock();
    const hour = { limit: 1, windowMs: 3_600_000 };
    limiter.take('rare', hour);
    for (let second = 0; second < 600; second++) {
      limiter.take(`visitor-${second}`, { limit: 10, windowMs: 60_000 });
      advance(1_000);
      assert.ok(limiter.keyCount() <= 121, `${limiter.keyCount()} keys`);
    }
    assert.equal(limiter.take('rare', hour).allowed, false);
  });

  it('forgets nothing early when a longer window joins shorter ones', () => {
    const { limiter, advance } = withFakeClock();
    limiter.take('short', { limit: 1, windowMs: 100 });
    advance(99);
    limiter.take('long', { limit: 1, windowMs: 60_000 });
    for (let i = 0; i < 599; i++) {
      advance(100);
      limiter.take('short', { limit: 1, windowMs: 100 });
    }
    assert.equal(limiter.take('long', { limit: 1, windowMs: 60_000 }).allowed, false);
  });
});

function assertNeverOverLimit(times: number[], { limit, windowMs }: LimitRule): void {
  for (let i = limit; i < times.length; i++) {
    assert.ok(times[i]! - times[i - limit]! >= windowMs, `${limit + 1} let through within one window`);
  }
}
