import { setTimeout as delay } from 'node:timers/promises';

/** Wall-clock milliseconds since 1970. Injected, so that no test sleeps. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/** Later than every instant, and a number that SQL and JSON hold exactly. */
export const endOfTime: number = Number.MAX_SAFE_INTEGER;

/** A monotonic clock in milliseconds that all threads of a process share. */
export const steadyMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** A deliberate delay. Injected, so that no test sleeps. */
export type Wait = (ms: number) => Promise<void>;

export const systemWait: Wait = (ms) => delay(ms);

/** RFC 3339 in UTC with milliseconds: the format of every timestamp in the API. */
export function toTimestamp(ms: number): string {
  const day = Math.floor(ms / dayMs);
  // Timestamps of a list are mostly of one day. With the day cached each costs about a tenth of `toISOString`.
  if (day !== lastDay.number) lastDay = { number: day, text: new Date(ms).toISOString().slice(0, 11) };
  const inDay = ms - day * dayMs;
  const hour = Math.floor(inDay / 3_600_000);
  const minute = Math.floor(inDay / 60_000) % 60;
  const second = Math.floor(inDay / 1000) % 60;
  return `${lastDay.text}${twoDigits[hour]}:${twoDigits[minute]}:${twoDigits[second]}.${threeDigits[inDay % 1000]}Z`;
}

const dayMs = 86_400_000;
let lastDay = { number: Number.NaN, text: '' };
const twoDigits = Array.from({ length: 60 }, (_, i) => String(i).padStart(2, '0'));
const threeDigits = Array.from({ length: 1000 }, (_, i) => String(i).padStart(3, '0'));

export const toTimestampOrNull = (ms: number | null): string | null => (ms === null ? null : toTimestamp(ms));
