import { readdirSync, readFileSync } from 'node:fs';

/** Milliseconds on a processor, and of being ready to run without one. */
interface Scheduling {
  readonly ranMs: number;
  readonly waitedMs: number;
}

/** Threads that an answer does not wait for in turn: the pool takes several pieces of work at once. */
const onTheSide = new Set(['libuv-worker', 'V8Worker']);

/** Processor time of the event loop and its threads, such as the writing thread. Only Linux tells; elsewhere 0. */
export const processorMs = (pid: number): number =>
  threadsOf(pid).reduce((sum, thread) => sum + schedulingOfThread(thread).ranMs, 0);

/**
 * Milliseconds from now on that the thread which waited the most for a core has waited. Several may have waited at the same
 * time, so their times are not added up.
 */
export function startWaiting(pid: number): () => number {
  const before = waitsOf(pid);
  return () => Math.max(0, ...[...waitsOf(pid)].map(([thread, waitedMs]) => waitedMs - (before.get(thread) ?? 0)));
}

const waitsOf = (pid: number): Map<string, number> =>
  new Map(threadsOf(pid).map((thread) => [thread, schedulingOfThread(thread).waitedMs]));

/** The folders of the threads. */
function threadsOf(pid: number): string[] {
  const folder = `/proc/${pid}/task`;
  return namesIn(folder)
    .map((thread) => `${folder}/${thread}`)
    .filter((thread) => !onTheSide.has(read(`${thread}/comm`).trim()));
}

/** By the folder of a thread; that of a process stands for its main thread (proc_pid_schedstat in Linux). */
export function schedulingOfThread(folder: string): Scheduling {
  const [ran = 0, waited = 0] = read(`${folder}/schedstat`).split(' ').map(Number);
  return { ranMs: ran / 1e6, waitedMs: waited / 1e6 };
}

/** None of a process that has ended. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Empty for a thread that has ended. */
function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
