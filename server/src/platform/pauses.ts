import { setImmediate as nextIteration } from 'node:timers/promises';

/** How long a piece of work may compute before others run. */
const longestMs = 1;

/**
 * For a loop whose steps cost what somebody has written: awaited after each step, it lets others run once the steps have
 * taken a millisecond.
 */
export function createPauses(now: () => number = () => performance.now()): () => Promise<void> {
  let began = now();
  return async () => {
    if (now() - began < longestMs) return;
    await nextIteration();
    began = now();
  };
}
