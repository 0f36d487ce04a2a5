import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits for what sockets, processes and browsers bring about, and gives the first answer that is not false, null or
 * undefined. The deadline is far beyond what a busy machine needs: it only keeps a broken test from hanging.
 */
export async function until<T>(
  what: string | (() => string),
  condition: () => T | Promise<T>,
  ms = 180_000,
): Promise<Exclude<T, false | null | undefined>> {
  const deadline = performance.now() + ms;
  for (let pause = 1; ; pause = Math.min(2 * pause, 50)) {
    const answer = await condition();
    if (answer !== false && answer !== null && answer !== undefined) {
      return answer as Exclude<T, false | null | undefined>;
    }
    if (performance.now() > deadline) {
      throw new Error(`waited ${ms} ms in vain until ${typeof what === 'string' ? what : what()}`);
    }
    await sleep(pause);
  }
}
