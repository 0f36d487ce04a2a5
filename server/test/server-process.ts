import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { until } from '../../sdk/test/until.ts';
import { freePort } from './free-port.ts';

export { freePort };

/** The server as a separate process, for load, signals and kills. */
export interface ServerProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** What it has printed so far. */
  output(): string;
  /** The part of it that went to standard output. */
  stdout(): string;
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Asleep until `resume`, its connections open. */
  pause(): void;
  resume(): void;
}

const program = fileURLToPath(new URL('../bin/namjai.js', import.meta.url));

/** A server starts in half the time with the modules that the tests have compiled (`scripts/test.ts`). */
const { NODE_COMPILE_CACHE } = process.env;
const compileCache = NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {};

export interface StartOptions {
  readonly env?: Record<string, string>;
  /** Put before the program, such as a tracer. */
  readonly prefix?: readonly string[];
  readonly port?: number;
  /** A file for what it prints, of which a long run prints too much to be kept in memory. */
  readonly logFile?: string;
}

export async function startServer({ env = {}, prefix = [], port, logFile }: StartOptions): Promise<ServerProcess> {
  const chosen = port ?? (await freePort());
  const [command = process.execPath, ...args] = [...prefix, process.execPath, program, 'serve'];
  const log = logFile === undefined ? undefined : openSync(logFile, 'a');
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, ...compileCache, PORT: String(chosen), LOG_LEVEL: 'error', ...env },
    stdio: ['ignore', log ?? 'pipe', log ?? 'pipe'],
    // A separate process group, so that a tracer and the traced process end together.
    detached: true,
  });
  if (log !== undefined) closeSync(log);
  let output = '';
  let stdout = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
  child.stdout?.on('data', (chunk) => (stdout += chunk));
  const url = `http://localhost:${chosen}`;
  const server: ServerProcess = {
    url,
    child,
    stdout: () => stdout,
    output: () => (logFile === undefined ? output : readFileSync(logFile, 'utf8')),
    async kill(signal = 'SIGKILL') {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      process.kill(-child.pid!, signal);
      await gone;
    },
    pause: () => void process.kill(-child.pid!, 'SIGSTOP'),
    resume: () => void process.kill(-child.pid!, 'SIGCONT'),
  };
  await untilReady(server);
  return server;
}

async function untilReady({ url, child, output, kill }: ServerProcess): Promise<void> {
  const ready = async () => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('it has ended');
    return (await fetch(`${url}/readyz`).catch(() => undefined))?.ok;
  };
  try {
    await until('the server is ready', ready);
  } catch (error) {
    await kill();
    throw new Error(
      `the server did not start:
${output()}`,
      { cause: error },
    );
  }
}
