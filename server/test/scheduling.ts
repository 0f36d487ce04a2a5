import { readdirSync, readFileSync } from 'node:fs';

/** Milliseconds on a processor, and of being ready to run without one. */
interface Scheduling {
  readonly ranMs: number;
  readonly waitedMs: number;
}

/** Threads that an answer does not wait for in turn: the pool takes several pieces of work at once. */
const onTheSide = new Set(['libuv-worker', 'V8Worker']);

/** Of the event loop and the threads that it starts, such as the writing thread. Only Linux tells; elsewhere 0. */
export function schedulingOf(pid: number): Scheduling {
  const folder = `/proc/${pid}/task`;
  const threads = namesIn(folder).map((thread) => `${folder}/${thread}`);
  const each = threads.filter((thread) => !onTheSide.has(read(`${thread}/comm`).trim())).map(schedulingOfThread);
  return {
    ranMs: each.reduce((sum, { ranMs }) => sum + ranMs, 0),
    waitedMs: each.reduce((sum, { waitedMs }) => sum + waitedMs, 0),
  };
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
