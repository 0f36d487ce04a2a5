/** The contract's waits after each failed attempt; ten attempts in all, over about three days. */
const seconds = 1000;
const minutes = 60 * seconds;
const hours = 60 * minutes;

export const waits: readonly number[] = [
  5 * seconds,
  5 * minutes,
  30 * minutes,
  2 * hours,
  5 * hours,
  10 * hours,
  14 * hours,
  20 * hours,
  24 * hours,
];

const jitter = 0.2;
const longestRetryAfter = 24 * hours;

/** When to try again after attempt number `tries`, which ended at `endedAt`; nothing when it was the last. */
export function nextAttempt(
  tries: number,
  endedAt: number,
  retryAfter: string | null,
  random: () => number,
): number | undefined {
  const wait = waits[tries - 1];
  if (wait === undefined) return undefined;
  const jittered = Math.round(wait * (1 - jitter + 2 * jitter * random()));
  return endedAt + Math.max(jittered, Math.min(askedFor(retryAfter, endedAt), longestRetryAfter));
}

/** RFC 9110, section 10.2.3: seconds or a date. */
function askedFor(retryAfter: string | null, now: number): number {
  if (retryAfter === null) return 0;
  if (/^\d{1,10}$/.test(retryAfter)) return Number(retryAfter) * seconds;
  const date = / GMT$/.test(retryAfter) ? Date.parse(retryAfter) : Number.NaN;
  return Number.isNaN(date) ? 0 : date - now;
}
