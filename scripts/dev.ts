/**
 * `npm run dev`: the server, which starts again whenever a source has changed.
 *
 * Folders are watched, not files: Node's watch mode (24.21) loses a file once an editor or Git has replaced it by another
 * of the same name.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { type FSWatcher, globSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** An editor or a checkout changes several files at once. */
export const settleMs = 100;
const maxStopMs = 10_000;
/** Where the shell of npm is bash, Ctrl-C reaches this process twice: from the terminal, and from npm. */
const sameSignalMs = 500;

export interface DevOptions {
  readonly folders: readonly string[];
  /** The arguments of Node.js. */
  readonly args: readonly string[];
}

/** Emits `change`. Changes of tests do not count. */
function watchFolders(folders: readonly string[]) {
  const changes = new EventEmitter<{ change: [] }>();
  const watchers = new Map<string, FSWatcher>();

  function add(folder: string): void {
    watchers.get(folder)?.close();
    watchers.delete(folder);
    try {
      const watcher = watch(folder, (_, name) => {
        if (name?.endsWith('.test.ts')) return;
        if (name !== null && isFolder(join(folder, name))) addAll(join(folder, name));
        changes.emit('change');
      });
      watcher.on('error', () => watchers.delete(folder));
      watchers.set(folder, watcher);
    } catch (error) {
      // It may be gone again, which its parent reports.
      if (isFolder(folder)) console.error(`Changes in ${folder} are not noticed: ${error}`);
    }
  }

  function addAll(folder: string): void {
    add(folder);
    for (const path of globSync('**/', { cwd: folder })) add(join(folder, path));
  }

  for (const folder of folders) addAll(folder);
  const close = (): void => {
    for (const watcher of watchers.values()) watcher.close();
  };
  return { changes, close };
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    // A link to itself, or a path that may not be read.
    return false;
  }
}

/** In a process group of its own: Ctrl-C would else reach it twice, and the second signal means that it must not wait. */
function start(args: readonly string[]): ChildProcess {
  const program = spawn(process.execPath, args, { stdio: 'inherit', detached: process.platform !== 'win32' });
  // So an error of this process ends the program too.
  const end = (): boolean => program.kill('SIGINT');
  process.once('exit', end);
  program.once('exit', () => process.off('exit', end));
  return program;
}

/** Starts the program, and again after each change, until the first signal. The second one does not wait for its end. */
export async function keepRunning({ folders, args }: DevOptions, end: AbortSignal, kill?: AbortSignal): Promise<void> {
  const { changes, close } = watchFolders(folders);
  const ending = new Promise<void>((resolve) => end.addEventListener('abort', () => resolve()));
  try {
    while (!end.aborted) {
      const changed = once(changes, 'change', { signal: end }).catch(() => {});
      const program = start(args);
      const ended = once(program, 'exit').then(() => 'ended');
      if ((await Promise.race([changed, ending, ended])) === 'ended' && !end.aborted) {
        console.log('The program has ended. It starts again on the next change.');
        await Promise.race([changed, ending]);
      }
      if (!end.aborted) await delay(settleMs);
      await stop(program, kill);
    }
  } finally {
    close();
  }
}

async function stop(program: ChildProcess, kill?: AbortSignal): Promise<void> {
  if (program.exitCode !== null || program.signalCode !== null) return;
  const ended = once(program, 'exit');
  const force = (): boolean => program.kill('SIGKILL');
  const late = setTimeout(force, maxStopMs);
  kill?.addEventListener('abort', force);
  if (kill?.aborted) force();
  else program.kill('SIGINT');
  await ended;
  clearTimeout(late);
}

if (import.meta.main) {
  const [end, kill] = [new AbortController(), new AbortController()];
  let firstAt = 0;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const)
    process.on(signal, () => {
      if (!end.signal.aborted) firstAt = performance.now();
      else if (performance.now() - firstAt >= sameSignalMs) kill.abort();
      end.abort();
    });
  await keepRunning(
    {
      folders: ['server/src', 'sdk/src', 'docs'],
      args: ['--disable-warning=ExperimentalWarning', 'server/bin/namjai.js', 'serve', ...process.argv.slice(2)],
    },
    end.signal,
    kill.signal,
  );
}
