/** What can be rehearsed: a span of the past, both ends included. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

const hour = 3_600_000;
export const longestMs = 12 * hour;
/** As long as events are kept. */
export const oldestMs = 30 * 24 * hour;
export const maxPace = 100;
/** Alerts of one rehearsal. */
export const maxAlerts = 20_000;
/** Of a sandbox creator each alert is an event, too, for every webhook of the developer's apps. */
export const maxSandboxAlerts = 2_000;

export type SpanProblem = 'order' | 'future' | 'too_long' | 'too_old';

export function spanProblem({ from, to }: Span, now: number): SpanProblem | undefined {
  if (to < from) return 'order';
  if (to > now) return 'future';
  if (to - from > longestMs) return 'too_long';
  return from < now - oldestMs ? 'too_old' : undefined;
}

export const isPace = (pace: number): boolean => Number.isInteger(pace) && pace >= 1 && pace <= maxPace;

/** A rehearsal whose node has not renewed it for so long has ended. */
export const leaseMs = 10_000;
