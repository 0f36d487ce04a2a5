import { schedulingOf } from './scheduling.ts';

/**
 * Milliseconds from now on, less those in which a thread of this process or of one of the others was ready to run while
 * the machine gave its cores to somebody else. So a promise like “within a second” is held to, and a busy machine breaks
 * none. Only Linux tells how long a thread has waited for a core; elsewhere all time counts.
 */
export function startStopwatch(...pids: (number | undefined)[]): () => number {
  const all = [process.pid, ...pids].filter((pid) => pid !== undefined);
  const waited = () => all.reduce((sum, pid) => sum + schedulingOf(pid).waitedMs, 0);
  const [from, waitedBefore] = [performance.now(), waited()];
  return () => performance.now() - from - Math.max(0, waited() - waitedBefore);
}
