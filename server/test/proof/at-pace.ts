import { setTimeout as sleep } from 'node:timers/promises';

interface Pace {
  readonly perSecond: number;
  readonly goesOn: () => boolean;
  /** While this many are open, those that are due are left out. */
  readonly most?: number;
}

/**
 * Starts calls at an even pace, and ends when the last one has. Calls that a stall of more than a second kept from being
 * sent are left out: a burst of them afterwards would be another load than the one that is promised. `call` must not
 * reject.
 */
export async function atPace(
  { perSecond, goesOn, most = 500 }: Pace,
  call: (n: number) => Promise<void>,
): Promise<void> {
  const open = new Set<Promise<void>>();
  const tickMs = Math.min(200, Math.max(10, 1000 / perSecond));
  let [since, started, count] = [performance.now(), 0, 0];
  while (goesOn()) {
    const now = performance.now();
    let due = Math.floor(((now - since) * perSecond) / 1000) - started;
    if (due > Math.max(1, perSecond)) [since, started, due] = [now, 0, 1];
    for (; due > 0; due -= 1) {
      started += 1;
      if (open.size >= most) continue;
      const one: Promise<void> = call(count).finally(() => open.delete(one));
      count += 1;
      open.add(one);
    }
    await sleep(tickMs);
  }
  await Promise.all(open);
}
