import { readFileSync } from 'node:fs';

/**
 * Milliseconds from now on, less those in which this process or one of the others was ready to run while the machine
 * gave its cores to somebody else. So a promise like “within a second” is held to, and a busy machine breaks none.
 * Only Linux tells how long a process has waited for a core; elsewhere all time counts.
 */
export function startStopwatch(...pids: (number | undefined)[]): () => number {
  const files = [process.pid, ...pids].map((pid) => `/proc/${pid}/schedstat`);
  const waited = () => files.reduce((sum, file) => sum + waitedForCore(file), 0);
  const [from, waitedBefore] = [performance.now(), waited()];
  return () => performance.now() - from - Math.max(0, waited() - waitedBefore);
}

function waitedForCore(file: string): number {
  try {
    return Number(readFileSync(file, 'latin1').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}
