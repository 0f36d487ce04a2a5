import { setTimeout as delay } from 'node:timers/promises';

/** Wall-clock milliseconds since 1970. Injected, so that no test sleeps. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/** Lets time pass, as a delay that someone is meant to feel. */
export type Wait = (ms: number) => Promise<void>;

export const systemWait: Wait = (ms) => delay(ms);

/** RFC 3339 in UTC with milliseconds, as every timestamp on the wire. */
export const toTimestamp = (ms: number): string => new Date(ms).toISOString();

export const toTimestampOrNull = (ms: number | null): string | null => (ms === null ? null : toTimestamp(ms));
