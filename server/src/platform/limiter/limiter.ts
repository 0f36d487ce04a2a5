/**
 * The limiter port: an exact sliding window.
 *
 * A request let through at t counts until t + window; at exactly t + window it has left. So in any stretch of one
 * window no more than `limit` requests of a key are let through, over all nodes. Refused requests do not count.
 */
export interface LimitRule {
  /** At least 1. */
  readonly limit: number;
  readonly windowMs: number;
}

export interface LimitVerdict {
  readonly allowed: boolean;
  /** How many more would be let through right now, after this one. */
  readonly remaining: number;
  /**
   * Whole seconds until the oldest counted request leaves the window, rounded up, at least 1. A sole caller who was
   * refused and waits this long is let through.
   */
  readonly resetSeconds: number;
}

export interface Limiter {
  /** Counts one request of `key` if it is let through. A key always comes with the same rule. Never rejects. */
  take(key: string, rule: LimitRule): LimitVerdict | Promise<LimitVerdict>;
  close(): Promise<void>;
}
