/**
 * A real Redis for tests: the one at REDIS_URL, or a `redis-server` of our own without persistence.
 *
 * Our own server ends with the process that started it, however that ends: a shell waits at the other end of a pipe,
 * which the system closes even after `kill -9`.
 */
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { freePort } from './free-port.ts';
import { supervisorWithPid } from './supervisor.ts';

const hasServer = spawnSync('redis-server', ['--version']).status === 0;

/** For the `skip` of suites that need a `redis-server` to stop and start: false, or what would enable them. */
export const skipWithoutRedisServer: string | false = hasServer
  ? false
  : 'no redis-server on the path; `apt-get install redis-server` enables this';

/** For the `skip` of suites that need any Redis. */
export const skipWithoutRedis: string | false =
  process.env.REDIS_URL || hasServer
    ? false
    : 'no Redis; `apt-get install redis-server`, or REDIS_URL=redis://host:6379, enables this';

export interface TestRedis {
  readonly url: string;
  stop(): Promise<void>;
}

export interface TestRedisServer extends TestRedis {
  /** Kills the server, as `stop` does. Its data is lost. */
  kill(): Promise<void>;
  /** Starts it again, empty, at the same address. */
  restart(): Promise<void>;
  /** Stops its process without closing its connections. */
  pause(): void;
  resume(): void;
}

export async function openTestRedis(): Promise<TestRedis> {
  const url = process.env.REDIS_URL;
  return url ? { url, stop: async () => {} } : startRedisServer();
}

export async function startRedisServer(): Promise<TestRedisServer> {
  const port = await freePort();
  let running: Running | undefined = await launch(port);
  async function stop(): Promise<void> {
    const ending = running;
    running = undefined;
    if (ending === undefined) return;
    const ended = once(ending.supervisor, 'exit');
    ending.supervisor.stdin.end();
    await ended;
  }
  const signal = (name: NodeJS.Signals) => {
    if (running !== undefined) process.kill(running.pid, name);
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    stop,
    kill: stop,
    async restart() {
      await stop();
      running = await launch(port);
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
  };
}

interface Running {
  supervisor: ChildProcessByStdio<Writable, Readable, null>;
  pid: number;
}

async function launch(port: number): Promise<Running> {
  const options = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    tmpdir(),
  ];
  const supervisor = spawn('sh', ['-c', supervisorWithPid, 'sh', 'redis-server', ...options], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const output: string[] = [];
  let pid = 0;
  for await (const line of createInterface(supervisor.stdout)) {
    output.push(line);
    if (line.startsWith('pid ')) pid = Number(line.slice(4));
    // Further lines are let go, so that the server never waits for a reader.
    if (line.includes('Ready to accept connections')) {
      supervisor.stdout.resume();
      return { supervisor, pid };
    }
    if (line.includes('Failed listening') || line.includes('FATAL')) break;
  }
  supervisor.stdin.end();
  throw new Error(`redis-server did not start:\n${output.join('\n')}`);
}
