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
    const watcher = watch(folder, (_, name) => {
      if (name?.endsWith('.test.ts')) return;
      if (name !== null && isFolder(join(folder, name))) addAll(join(folder, name));
      changes.emit('change');
    });
    watcher.on('error', () => watchers.delete(folder));
    watchers.set(folder, watcher);
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

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** Starts the program, and again after each change, until the signal. */
export async function keepRunning({ folders, args }: DevOptions, signal: AbortSignal): Promise<void> {
  const { changes, close } = watchFolders(folders);
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  while (!signal.aborted) {
    const changed = once(changes, 'change', { signal }).catch(() => {});
    const program = spawn(process.execPath, args, { stdio: 'inherit' });
    const ended = once(program, 'exit').then(() => 'ended');
    if ((await Promise.race([changed, stopped, ended])) === 'ended' && !signal.aborted) {
      console.log('The program has ended. It starts again on the next change.');
      await Promise.race([changed, stopped]);
    }
    await delay(settleMs);
    await stop(program);
  }
  close();
}

async function stop(program: ChildProcess): Promise<void> {
  if (program.exitCode !== null || program.signalCode !== null) return;
  const ended = once(program, 'exit');
  const late = setTimeout(() => program.kill('SIGKILL'), maxStopMs);
  program.kill('SIGINT');
  await ended;
  clearTimeout(late);
}

if (import.meta.main) {
  const end = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end.abort());
  await keepRunning(
    {
      folders: ['server/src', 'sdk/src', 'docs'],
      args: ['--disable-warning=ExperimentalWarning', 'server/bin/namjai.js', 'serve', ...process.argv.slice(2)],
    },
    end.signal,
  );
}
