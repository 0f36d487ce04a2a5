import type { Steps } from '../src/platform/pauses.ts';

/** The result of work that the server does in steps. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
