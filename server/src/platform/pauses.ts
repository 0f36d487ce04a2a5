import { createTurns } from './turns.ts';

/** How long a piece of work may compute before others run. */
const longestMs = 1;

/** Of all such work one piece runs in an iteration of the event loop, whoever asked for it. */
const inTurn = createTurns(1);

/**
 * For a loop whose steps cost what somebody has written or stored: awaited before each step, it waits for a turn, and for
 * the next one when the steps have taken a millisecond.
 */
export function createPauses(now: () => number = () => performance.now()): () => Promise<void> {
  let until = Number.NEGATIVE_INFINITY;
  return async () => {
    if (now() < until) return;
    await new Promise<void>(inTurn);
    until = now() + longestMs;
  };
}
