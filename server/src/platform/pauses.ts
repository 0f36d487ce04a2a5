import { setTimeout as delay } from 'node:timers/promises';
import { createPacer } from './pacer.ts';
import { RoundRobin } from './round-robin.ts';

/** How long a piece of work may compute before others run. */
const longestMs = 1;

/**
 * Of all such work one piece runs in an iteration of the event loop, in rotation between owners. One queue for the
 * process, because its event loop is one.
 */
const paced = createPacer(1);
const waiting = new RoundRobin<() => void>();

/**
 * For a loop whose cost depends on what `owner` has written or stored. Await the function before each step: it waits for
 * the owner's turn, lets steps run for a millisecond, and then waits for the next turn.
 */
export function createPauses(owner: string, now: () => number = () => performance.now()): () => Promise<void> {
  let until = Number.NEGATIVE_INFINITY;
  return async () => {
    if (now() < until) return;
    await new Promise<void>((begin) => {
      waiting.add(owner, begin);
      paced(() => waiting.take()?.());
    });
    until = now() + longestMs;
  };
}

/** Work that can be interrupted wherever it yields. */
export type Steps<Result> = Generator<void, Result>;

/** Runs the steps of `owner` with such pauses. */
export async function runWithPauses<Result>(owner: string, steps: Steps<Result>): Promise<Result> {
  const pause = createPauses(owner);
  for (;;) {
    await pause();
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/**
 * For work of many that would otherwise take all the time there is: awaited before each step, it lets steps begin for a
 * millisecond, and then rests for as long. So at most half of the time is spent on it, and others run in between.
 */
export function createHalfTimePauses(
  now: () => number = () => performance.now(),
  rest: (ms: number) => Promise<unknown> = (ms) => delay(ms),
): () => Promise<void> {
  let until = Number.NEGATIVE_INFINITY;
  let resting: Promise<unknown> | undefined;
  return async () => {
    while (now() >= until) {
      if (now() >= until + longestMs) until = now() + longestMs;
      else {
        resting ??= rest(longestMs).finally(() => {
          resting = undefined;
        });
        await resting;
      }
    }
  };
}
