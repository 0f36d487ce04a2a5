import { startWaiting } from './scheduling.ts';

/**
 * Milliseconds from now on, less those in which a thread of this process or of one of the others was ready to run while
 * the machine gave its cores to somebody else. So a promise like “within a second” is held to, and a busy machine breaks
 * none. Only Linux tells how long a thread has waited for a core; elsewhere all time counts.
 */
export function startStopwatch(...pids: (number | undefined)[]): () => number {
  const waits = [process.pid, ...pids].filter((pid) => pid !== undefined).map(startWaiting);
  const from = performance.now();
  return () => performance.now() - from - waits.reduce((sum, waited) => sum + waited(), 0);
}
