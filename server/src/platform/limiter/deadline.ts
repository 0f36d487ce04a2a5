/**
 * The promise's outcome, or a rejection and a call of `onLate` when it takes longer than `ms`.
 *
 * Only time in which this process ran counts. After a pause (the process stopped, the event loop blocked) timers fire
 * before the answers that arrived meanwhile are read; without care a node would blame the other side for its own nap.
 */
export function withinDeadline<T>(answer: Promise<T>, ms: number, onLate: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let settled = false;
    let timer: NodeJS.Timeout;
    function arm(): void {
      const due = performance.now() + ms;
      timer = setTimeout(() => {
        const paused = performance.now() - due > ms / 4;
        // What has arrived is read between the timers and this callback.
        setImmediate(() => {
          if (settled) return;
          if (paused) return arm();
          onLate();
          reject(new Error(`no answer within ${ms} ms`));
        });
      }, ms);
    }
    arm();
    const settle = () => {
      settled = true;
      clearTimeout(timer);
    };
    answer.finally(settle).then(resolve, reject);
  });
}
