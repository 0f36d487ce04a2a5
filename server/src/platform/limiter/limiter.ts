/**
 * The limiter port: an exact sliding window for requests, and slots for connections.
 *
 * A request let through at t counts until t + window; at exactly t + window it has left. So in any stretch of one
 * window no more than `limit` requests of a key are let through, over all nodes. Refused requests do not count.
 * A request of cost n counts as n requests: all of them are let through, or none.
 */
export interface LimitRule {
  /** At least 1. */
  readonly limit: number;
  readonly windowMs: number;
}

export interface LimitVerdict {
  readonly allowed: boolean;
  /** How many more requests would be let through right now. */
  readonly remaining: number;
  /**
   * Whole seconds, rounded up, at least 1: until the oldest counted request leaves the window, or, after a refusal, until
   * enough of them have left. A sole caller who was refused and waits this long is let through at the same cost.
   */
  readonly resetSeconds: number;
}

/**
 * At most `max` slots of a key are held at once, over all nodes. A connection holds one for as long as it is open. The
 * slots of a node that died become free after its lease.
 */
export interface ConnectionSlots {
  /** Resolves to false when all slots are taken. A key always comes with the same `max`. Never rejects. */
  acquire(key: string, max: number): boolean | Promise<boolean>;
  /** Must be called once for each acquired slot. */
  release(key: string): void;
}

export interface Limiter {
  /**
   * Counts a request of `key` if it is let through, as `cost` requests (a whole number, 1 by default; a higher one than
   * the limit counts as the limit; 0 counts nothing and tells what is left). A key always comes with the same rule. Never
   * rejects.
   */
  take(key: string, rule: LimitRule, cost?: number): LimitVerdict | Promise<LimitVerdict>;
  readonly connectionSlots: ConnectionSlots;
  close(): Promise<void>;
}
