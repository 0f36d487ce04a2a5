import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * The server as a child process. Both sides write lines of JSON: calls go to its standard input, answers come from its
 * standard output. It ends when its standard input does, so it never outlives this process.
 */

type Message =
  | { ready: { baseUrl: string } }
  | { failed: string }
  | { id: number; value?: unknown }
  | { id: number; error: string };
type Pending = { resolve: (value: never) => void; reject: (error: Error) => void };

export type Child = {
  baseUrl: string;
  call<T>(method: string, args: object): Promise<T>;
  close(): Promise<void>;
};

const startWithinMs = 60_000;

export async function startChild({ port, node }: { port?: number; node?: string }): Promise<Child> {
  const program = join(findServer(), 'bin', 'testing.js');
  const args = port === undefined ? [program] : [program, String(port)];
  const child = spawn(node ?? findNode(), args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const pending = new Map<number, Pending>();
  let calls = 0;
  let printed = '';
  let ended: Error | undefined;

  const { promise: ready, resolve, reject } = deferred<string>();
  const exited = new Promise<void>((done) => {
    child.once('error', (error) => end(new Error(`The server could not be started: ${error.message}`)));
    child.once('close', () => end(new Error(`The server has ended. ${printed.trim()}`)));
    function end(error: Error): void {
      ended ??= error;
      reject(ended);
      for (const { reject } of pending.values()) reject(ended);
      pending.clear();
      done();
    }
  });
  child.stdin.on('error', () => {}); // the process has ended, which is told above
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed = `${printed}${text}`.slice(-10_000);
    process.stderr.write(text);
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message: Message = JSON.parse(line);
    if ('ready' in message) return resolve(message.ready.baseUrl);
    if ('failed' in message) return reject(new Error(`The server could not be started: ${message.failed}`));
    const call = pending.get(message.id);
    pending.delete(message.id);
    if ('error' in message) call?.reject(new Error(message.error));
    else call?.resolve(message.value as never);
  });

  const late = setTimeout(() => reject(new Error(`The server was not ready in time. ${printed}`)), startWithinMs);
  let baseUrl: string;
  try {
    baseUrl = await ready;
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  } finally {
    clearTimeout(late);
  }
  const keepAlive = createKeepAlive(child);
  return {
    baseUrl,
    async call<T>(method: string, args: object): Promise<T> {
      if (ended) throw ended;
      calls += 1;
      const id = calls;
      return keepAlive(
        new Promise<T>((resolve, reject) => {
          pending.set(id, { resolve, reject });
          child.stdin.write(`${JSON.stringify({ id, method, args })}\n`);
        }),
      );
    },
    async close() {
      child.stdin.end();
      await keepAlive(exited);
    },
  };
}

/**
 * The child keeps this process alive only while an answer is awaited: a test suite that forgets `close()` still ends.
 * Returns a function that waits for a promise.
 */
function createKeepAlive(child: ChildProcess): <T>(promise: Promise<T>) => Promise<T> {
  const parts: readonly unknown[] = [child, child.stdin, child.stdout, child.stderr];
  const handles = parts.filter(isHandle);
  let awaited = 0;
  for (const handle of handles) handle.unref();
  return async (promise) => {
    awaited += 1;
    if (awaited === 1) for (const handle of handles) handle.ref();
    try {
      return await promise;
    } finally {
      awaited -= 1;
      if (awaited === 0) for (const handle of handles) handle.unref();
    }
  };
}

/** Not every runtime has these on streams. */
const isHandle = (value: unknown): value is { ref(): void; unref(): void } =>
  typeof value === 'object' && value !== null && 'unref' in value && typeof value.unref === 'function';

/** The folder of the package `namjai`, of this project or beside this package. */
function findServer(): string {
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url]) {
    try {
      return dirname(createRequire(from).resolve('namjai/package.json'));
    } catch {
      // the next place
    }
  }
  throw new Error('The package namjai is not installed. Run: npm install --save-dev namjai');
}

/** This Node.js if it is new enough; else that of the package `node`, or of the path. The server itself says if it is too old. */
function findNode(): string {
  if (process.env.NAMJAI_NODE) return process.env.NAMJAI_NODE;
  const isNode = !process.versions.bun && !('deno' in process.versions);
  if (isNode && Number.parseInt(process.versions.node, 10) >= 24) return process.execPath;
  try {
    const folder = dirname(createRequire(join(process.cwd(), 'package.json')).resolve('node/package.json'));
    const file = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    if (existsSync(file)) return file;
  } catch {
    // not installed
  }
  const inPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  return inPath.find((file) => existsSync(file)) ?? 'node';
}

function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
