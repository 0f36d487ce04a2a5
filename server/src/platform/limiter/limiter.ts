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

/**
 * Places that are held for as long as something lasts, such as a connection: never more than `most` of a key at once,
 * over all nodes. Those of a node that died are free again after a while.
 */
export interface Places {
  /** Takes a place of `key`, and tells whether there was one. A key always comes with the same `most`. Never rejects. */
  take(key: string, most: number): boolean | Promise<boolean>;
  /** To be called once for each place that was taken. */
  giveBack(key: string): void;
}

export interface Limiter {
  /** Counts one request of `key` if it is let through. A key always comes with the same rule. Never rejects. */
  take(key: string, rule: LimitRule): LimitVerdict | Promise<LimitVerdict>;
  readonly places: Places;
  close(): Promise<void>;
}
