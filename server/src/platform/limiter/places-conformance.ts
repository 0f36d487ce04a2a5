/** What places must be, whatever counts them. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Places } from './limiter.ts';

/** `open` gives two ways to the same places: with many nodes, two of them. */
export function placesConformance(name: string, open: (t: TestContext) => Promise<readonly [Places, Places]>): void {
  describe(`places conformance: ${name}`, () => {
    it('lets in exactly as many as there are places, and one more for each that is given back', async (t) => {
      const [here, there] = await open(t);
      const key = randomUUID();
      assert.deepEqual(await takeTimes([here, there], key, 3, 5), [true, true, true, false, false]);
      here.giveBack(key);
      assert.deepEqual(await takeTimes([there], key, 3, 2), [true, false]);
      there.giveBack(key);
      here.giveBack(key);
      assert.deepEqual(await takeTimes([there, here], key, 3, 3), [true, true, false]);
    });

    it('gives 200 who come at once exactly the 50 places, wherever they come', async (t) => {
      const ways = await open(t);
      const key = randomUUID();
      const taken = await Promise.all(Array.from({ length: 200 }, (_, i) => ways[i % 2]!.take(key, 50)));
      assert.equal(taken.filter(Boolean).length, 50);
    });

    it('keeps keys apart, even ones that look alike', async (t) => {
      const [here, there] = await open(t);
      const base = randomUUID();
      const keys = [base, `${base}:`, `{${base}}`, `${base}}{x`, `{}${base}`, base.toUpperCase()];
      const takeEach = (places: Places) => Promise.all(keys.map((key) => places.take(key, 1)));
      assert.deepEqual(new Set(await takeEach(here)), new Set([true]));
      assert.deepEqual(new Set(await takeEach(there)), new Set([false]));
    });

    it('lets nobody in above the number, and loses no place, while many come and go', async (t) => {
      const ways = await open(t);
      const key = randomUUID();
      const most = 7;
      let [held, highest, granted] = [0, 0, 0];
      async function comeAndGo(places: Places): Promise<void> {
        for (let i = 0; i < 40; i++) {
          if (!(await places.take(key, most))) continue;
          held += 1;
          granted += 1;
          highest = Math.max(highest, held);
          for (let turns = 1 + (i % 4); turns > 0; turns--) await nextTurn();
          held -= 1;
          places.giveBack(key);
        }
      }
      await Promise.all(Array.from({ length: 24 }, (_, i) => comeAndGo(ways[i % 2]!)));
      assert.ok(highest <= most, `${highest} were in at once`);
      assert.ok(granted > 100, `only ${granted} came in`);
      assert.deepEqual(await takeTimes(ways, key, most, most + 1), [...Array(most).fill(true), false]);
    });
  });
}

async function takeTimes(ways: readonly Places[], key: string, most: number, times: number): Promise<boolean[]> {
  const taken: boolean[] = [];
  for (let i = 0; i < times; i++) taken.push(await ways[i % ways.length]!.take(key, most));
  return taken;
}
