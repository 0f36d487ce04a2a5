/** A job runs at most this share of the time. */
export const maxShareOfTime = 1 / 20;

/**
 * Runs a job now and then periodically, never concurrently with itself. `soon` requests a run without the interval; many
 * requests share one, so that the job keeps to its share of the time.
 */
export function repeat(job: () => Promise<void>, everyMs: number, onError: (error: unknown) => void) {
  let timer: NodeJS.Timeout | undefined;
  let [running, requested, stopped] = [false, false, false];
  let notBefore = 0;

  async function run(): Promise<void> {
    clearTimeout(timer);
    running = true;
    requested = false;
    const started = performance.now();
    await job().catch(onError);
    running = false;
    const ended = performance.now();
    const restMs = (ended - started) / maxShareOfTime;
    notBefore = ended + restMs;
    if (!stopped) timer = setTimeout(run, requested ? restMs : Math.max(everyMs, restMs)).unref();
  }
  void run();
  return {
    soon(): void {
      if (stopped || requested) return;
      requested = true;
      if (running) return;
      clearTimeout(timer);
      timer = setTimeout(run, Math.max(0, notBefore - performance.now())).unref();
    },
    stop(): void {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
