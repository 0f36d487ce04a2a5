const TICKS = 5;

/**
 * The promise's outcome, or a rejection and a call of `onLate` when it takes longer than `ms`.
 *
 * Only time in which this process ran counts. After a pause (the process stopped, the event loop blocked) timers fire
 * before the answers that arrived meanwhile are read; without care a node would blame the other side for its own nap.
 * So ticks are counted, of which a pause of any length is one.
 */
export function withinDeadline<T>(answer: Promise<T>, ms: number, onLate: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
      if (ticks < TICKS) return;
      clearInterval(timer);
      onLate();
      reject(new Error(`no answer within ${ms} ms`));
    }, ms / TICKS);
    answer.finally(() => clearInterval(timer)).then(resolve, reject);
  });
}
