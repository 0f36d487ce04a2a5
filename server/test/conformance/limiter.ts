/** What every limiter must do, whatever stores its counts. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { ConnectionSlots, Limiter, LimitRule, LimitVerdict } from '../../src/platform/limiter/limiter.ts';

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
      const refused = (await takeTimes(limiter, key, rule, 3))[2];
      assert.ok(refused);
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
      // At once, so that they are surely within the window.
      const refused = await Promise.all(Array.from({ length: 20 }, () => limiter.take(key, rule)));
      assert.ok(refused.every((verdict) => !verdict.allowed));
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

    it('counts a request by its cost, and refuses one that costs more than is left', async (t) => {
      const { limiter } = await open(t);
      const key = randomUUID();
      const rule = { limit: 10, windowMs: 60_000 };
      const verdicts: LimitVerdict[] = [];
      for (const cost of [4, 5, 2, 1, 1]) verdicts.push(await limiter.take(key, rule, cost));
      assert.deepEqual(
        verdicts.map(({ allowed, remaining }) => [allowed, remaining]),
        [
          [true, 6],
          [true, 1],
          [false, 1],
          [true, 0],
          [false, 0],
        ],
      );
    });

    it('lets a cost above the limit through when nothing else is counted, as the whole limit', async (t) => {
      const { limiter } = await open(t);
      const key = randomUUID();
      const rule = { limit: 10, windowMs: 60_000 };
      const { allowed, remaining } = await limiter.take(key, rule, 1_000);
      assert.deepEqual([allowed, remaining], [true, 0]);
      assert.equal((await limiter.take(key, rule)).allowed, false);
    });

    it('tells at no cost what is left', async (t) => {
      const { limiter } = await open(t);
      const key = randomUUID();
      const rule = { limit: 2, windowMs: 60_000 };
      const left = async () => {
        const { allowed, remaining, resetSeconds } = await limiter.take(key, rule, 0);
        assert.equal(allowed, true);
        return { remaining, resetSeconds };
      };
      assert.deepEqual(await left(), { remaining: 2, resetSeconds: 60 });
      await limiter.take(key, rule, 2);
      for (const { remaining, resetSeconds } of [await left(), await left()]) {
        assert.equal(remaining, 0);
        // Redis goes by the time of day, which goes on.
        assert.ok(resetSeconds === 60 || resetSeconds === 59, `got ${resetSeconds}`);
      }
    });

    it('tells who was refused when there is room for the whole cost', async (t) => {
      const { limiter, advance } = await open(t);
      const key = randomUUID();
      const rule = { limit: 4, windowMs: 3_900 };
      await limiter.take(key, rule, 2);
      await advance(2_100);
      await limiter.take(key, rule, 2);
      const [two, three] = [await limiter.take(key, rule, 2), await limiter.take(key, rule, 3)];
      assert.deepEqual([two.allowed, three.allowed], [false, false]);
      assert.ok(two.resetSeconds <= 2 && three.resetSeconds > 2, `${two.resetSeconds}, ${three.resetSeconds}`);
      await advance(2_000);
      assert.equal((await limiter.take(key, rule, 3)).allowed, false);
      assert.equal((await limiter.take(key, rule, 2)).allowed, true);
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

/** `open` returns two limiters with the same slots: those of two nodes. */
export function connectionSlotsConformance(
  name: string,
  open: (t: TestContext) => Promise<readonly [ConnectionSlots, ConnectionSlots]>,
): void {
  describe(`connection slots conformance: ${name}`, () => {
    it('lets in exactly as many as there are slots, and one more for each that is released', async (t) => {
      const [here, there] = await open(t);
      const key = randomUUID();
      assert.deepEqual(await acquireTimes([here, there], key, 3, 5), [true, true, true, false, false]);
      here.release(key);
      assert.deepEqual(await acquireTimes([there], key, 3, 2), [true, false]);
      there.release(key);
      here.release(key);
      assert.deepEqual(await acquireTimes([there, here], key, 3, 3), [true, true, false]);
    });

    it('gives 200 who come at once exactly the 50 slots, wherever they come', async (t) => {
      const ways = await open(t);
      const key = randomUUID();
      const taken = await Promise.all(Array.from({ length: 200 }, (_, i) => ways[i % 2 ? 1 : 0].acquire(key, 50)));
      assert.equal(taken.filter(Boolean).length, 50);
    });

    it('keeps keys apart, even ones that look alike', async (t) => {
      const [here, there] = await open(t);
      const base = randomUUID();
      const keys = [base, `${base}:`, `{${base}}`, `${base}}{x`, `{}${base}`, base.toUpperCase()];
      const takeEach = (slots: ConnectionSlots) => Promise.all(keys.map((key) => slots.acquire(key, 1)));
      assert.deepEqual(new Set(await takeEach(here)), new Set([true]));
      assert.deepEqual(new Set(await takeEach(there)), new Set([false]));
    });

    it('lets nobody in above the number, and loses no slot, while many come and go', async (t) => {
      const ways = await open(t);
      const key = randomUUID();
      const max = 7;
      let [held, highest, granted] = [0, 0, 0];
      async function comeAndGo(slots: ConnectionSlots): Promise<void> {
        for (let i = 0; i < 40; i++) {
          if (!(await slots.acquire(key, max))) continue;
          held += 1;
          granted += 1;
          highest = Math.max(highest, held);
          for (let turns = 1 + (i % 4); turns > 0; turns--) await nextIteration();
          held -= 1;
          slots.release(key);
        }
      }
      await Promise.all(Array.from({ length: 24 }, (_, i) => comeAndGo(ways[i % 2 ? 1 : 0])));
      assert.ok(highest <= max, `${highest} were in at once`);
      assert.ok(granted > 100, `only ${granted} came in`);
      assert.deepEqual(await acquireTimes(ways, key, max, max + 1), [...Array(max).fill(true), false]);
    });
  });
}

async function acquireTimes(
  ways: readonly [ConnectionSlots, ...ConnectionSlots[]],
  key: string,
  max: number,
  times: number,
): Promise<boolean[]> {
  const taken: boolean[] = [];
  for (let i = 0; i < times; i++) taken.push(await (ways[i % ways.length] ?? ways[0]).acquire(key, max));
  return taken;
}
