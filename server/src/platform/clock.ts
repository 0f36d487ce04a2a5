/** Wall-clock milliseconds since 1970. Injected, so that no test sleeps. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/** RFC 3339 in UTC with milliseconds, as every timestamp on the wire. */
export const toTimestamp = (ms: number): string => new Date(ms).toISOString();

export const toTimestampOrNull = (ms: number | null): string | null => (ms === null ? null : toTimestamp(ms));
