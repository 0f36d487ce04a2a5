export type ManualClock = ReturnType<typeof manualClock>;

/** Timers that fire only when a test moves the time. */
export function manualClock() {
  let now = 0;
  const pending = new Set<{ at: number; run: () => void }>();

  /** Runs the earliest timer that is due by `end`; false if there is none. */
  function runNext(end: number): boolean {
    let next: { at: number; run: () => void } | undefined;
    for (const entry of pending) if (entry.at <= end && (!next || entry.at < next.at)) next = entry;
    if (!next) return false;
    pending.delete(next);
    now = next.at;
    next.run();
    return true;
  }

  return {
    timer(ms: number, run: () => void): () => void {
      const entry = { at: now + ms, run };
      pending.add(entry);
      return () => pending.delete(entry);
    },
    advance(ms: number): void {
      const end = now + ms;
      while (runNext(end));
      now = end;
    },
    /** Moves the time to the next timer and runs it; false if there is none. */
    advanceToNext: () => runNext(Number.POSITIVE_INFINITY),
    get now(): number {
      return now;
    },
    get pending(): number {
      return pending.size;
    },
  };
}
