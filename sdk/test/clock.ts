import { setTimeout as sleep } from 'node:timers/promises';

export type ManualClock = ReturnType<typeof manualClock>;

/** Timers that fire only when a test moves the time. */
export function manualClock() {
  let now = 0;
  const pending = new Set<{ at: number; run: () => void }>();
  return {
    timer(ms: number, run: () => void): () => void {
      const entry = { at: now + ms, run };
      pending.add(entry);
      return () => pending.delete(entry);
    },
    advance(ms: number): void {
      const end = now + ms;
      for (;;) {
        const due = [...pending].filter((entry) => entry.at <= end).sort((a, b) => a.at - b.at)[0];
        if (!due) break;
        pending.delete(due);
        now = due.at;
        due.run();
      }
      now = end;
    },
    get pending(): number {
      return pending.size;
    },
  };
}

/** Waits for something that real sockets bring about. */
export async function until(what: string, condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await sleep(1);
  }
}
