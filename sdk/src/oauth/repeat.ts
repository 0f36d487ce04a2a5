import { TransientFailure } from './endpoints.ts';

export interface RepeatOptions {
  readonly retries: number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly random: () => number;
}

const MAX_RETRY_AFTER_MS = 5_000;

/** Tries a request again after no answer, or an answer that asks for it. Throws the last try's error. */
export async function repeat<T>({ retries, sleep, random }: RepeatOptions, request: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await request();
    } catch (failure) {
      if (!(failure instanceof TransientFailure)) throw failure;
      // Full jitter, so that processes that failed together do not come back together.
      const { error, waitMs = random() * 200 * 2 ** tries } = failure;
      if (tries >= retries || waitMs > MAX_RETRY_AFTER_MS) throw error;
      await sleep(waitMs);
    }
  }
}
