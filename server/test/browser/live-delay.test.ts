import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { rounds } from '../../../sdk/test/rounds.ts';
import { until } from '../../../sdk/test/until.ts';
import { skip } from './chromium.ts';
import { inPart, prepare } from './live-control.ts';

const promisedMs = 300;

type Change = 'added' | 'removed' | 'hidden' | 'visible';
interface Seen {
  readonly what: Change;
  /** On the clock of this machine, which both pages read. */
  readonly at: number;
}

/** Notes every alert that comes and goes on the overlay's page, and whether everything is hidden. */
async function watch(overlay: Page): Promise<(from: number) => Promise<Seen[]>> {
  await overlay.evaluate(() => {
    const seen: Seen[] = [];
    Reflect.set(window, 'seen', seen);
    const note = (what: Change): unknown => seen.push({ what, at: performance.timeOrigin + performance.now() });
    const isAlert = (node: Node): boolean => node instanceof HTMLElement && node.matches('.alert');
    const { documentElement: page } = document;
    new MutationObserver((records) => {
      for (const { addedNodes, removedNodes } of records) {
        for (const node of addedNodes) if (isAlert(node)) note('added');
        for (const node of removedNodes) if (isAlert(node)) note('removed');
      }
    }).observe(page, { childList: true, subtree: true });
    let hidden = page.classList.contains('hidden');
    new MutationObserver(() => {
      if (hidden !== page.classList.contains('hidden')) note(hidden ? 'visible' : 'hidden');
      hidden = page.classList.contains('hidden');
    }).observe(page, { attributes: true, attributeFilter: ['class'] });
  });
  return (from) => overlay.evaluate((from) => (Reflect.get(window, 'seen') as Seen[]).slice(from), from);
}

/** What each button does to the overlay, in the order in which they are pressed. */
const presses: readonly (readonly [name: string, label: string | RegExp, changes: readonly Change[]])[] = [
  ['approve', /^Approve/, ['added']],
  ['skip', /, which is on screen/, ['removed']],
  ['replay', /^Play/, ['added']],
  ['pause', 'Pause', ['removed']],
  ['resume', 'Resume', []],
  ['replay again', /^Play/, ['added']],
  ['hide', 'Hide everything', ['removed', 'hidden']],
  ['show again', 'Show again', ['visible']],
];

/** `npm run proof -- live-control` judges the times: they say nothing while the rest of the suite runs. */
test(`each press on live control changes the overlay, and nothing else does; within ${promisedMs} ms`, {
  skip,
}, async (t) => {
  const { overlay, control, hold, tip } = await prepare(t);
  const seenFrom = await watch(overlay);
  const times = new Map<string, number[]>();
  let seen = 0;
  await hold(true);
  for (let round = 0; round < rounds(2); round++) {
    await tip(`round ${round}`);
    await inPart(control, 'held').getByText(`round ${round}`).waitFor();
    for (const [name, label, changes] of presses) {
      const button = control.getByRole('button', { name: label }).first();
      await button.waitFor();
      // A control that has just drawn itself anew has another button of this name.
      const pressedAt = await until(`${name} is pressed`, () =>
        button.evaluate((element) => {
          const now = performance.timeOrigin + performance.now();
          if (element.isConnected) (element as HTMLButtonElement).click();
          return element.isConnected && now;
        }),
      );
      let after: Seen[] = [];
      await until(
        () => `the overlay follows ${name}; round ${round}; it has ${after.map(({ what }) => what)}`,
        async () => {
          after = await seenFrom(seen);
          return after.length >= changes.length;
        },
      );
      seen += after.length;
      assert.deepEqual(
        after.map(({ what }) => what),
        changes,
        name,
      );
      const last = after.at(-1);
      if (last) times.set(name, [...(times.get(name) ?? []), Math.round(last.at - pressedAt)]);
    }
  }
  for (const [name, all] of times) {
    const sorted = all.toSorted((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
    t.diagnostic(`${name}: median ${median} ms, at most ${sorted.at(-1)} ms, of ${sorted.length}`);
    assert.ok((sorted[0] ?? 0) > 0, `${name} came before it was asked for`);
    if (process.env.PROOF) assert.ok(median <= promisedMs, `${name} took ${all.join(', ')} ms`);
  }
});
