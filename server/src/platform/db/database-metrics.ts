/** Metrics of the database port, the same for both engines. */
import { type StatsFs, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { type Database, type DatabaseStats, StorageUnavailable, storageProblems } from './database.ts';

/** From a millisecond up to the five seconds after which every call has failed. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** The same database, whose calls are counted. `onUnavailable` is called when one fails because the storage is away. */
export function measuredDatabase(db: Database, registry: Registry, onUnavailable: () => void): Database {
  const registers = [registry];
  const writeSeconds = new Histogram({
    name: 'namjai_database_write_seconds',
    help: 'Time from a write’s call until it is durable, or has failed',
    buckets,
    registers,
  });
  const errors = new Counter({
    name: 'namjai_database_errors_total',
    help: 'Calls that failed because the storage was away, by reason',
    labelNames: ['reason'],
    registers,
  });
  // From zero on, so that Prometheus sees the first one as an increase.
  for (const reason of storageProblems) errors.inc({ reason }, 0);
  let pending = 0;
  gauge(registry, 'namjai_database_writes_pending', 'Writes that wait for their turn or their commit', () => pending);
  counter(registry, 'namjai_database_commits_total', 'Commits of writes', () => db.stats().commits);
  counter(registry, 'namjai_database_committed_writes_total', 'Writes in these commits', () => db.stats().writes);
  counter(
    registry,
    'namjai_database_commit_seconds_total',
    'Time that these commits took: on SQLite the flush, on PostgreSQL the round trip',
    () => db.stats().commitSeconds,
  );

  const countError = (error: unknown): void => {
    if (!(error instanceof StorageUnavailable)) return;
    errors.inc({ reason: error.reason });
    onUnavailable();
  };
  /** Passes the call on as it is: whoever asked handles its error. */
  const counted = <T>(call: Promise<T>): Promise<T> => {
    call.then(undefined, countError);
    return call;
  };
  return {
    ...db,
    all: (sql, params) => counted(db.all(sql, params)),
    get: (sql, params) => counted(db.get(sql, params)),
    ping: () => counted(db.ping()),
    write(write, ...args) {
      const started = performance.now();
      pending += 1;
      const done = (): void => {
        pending -= 1;
        writeSeconds.observe((performance.now() - started) / 1000);
      };
      const call = db.write(write, ...args);
      call.then(done, (error) => {
        done();
        countError(error);
      });
      return call;
    },
  };
}

/** Connections of PostgreSQL's pool. */
export function addPoolMetrics(registry: Registry, read: () => NonNullable<DatabaseStats['pool']>): void {
  new Gauge({
    name: 'namjai_postgres_connections',
    help: 'Connections of this node to PostgreSQL',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const { open, idle } = read();
      this.set({ state: 'used' }, open - idle);
      this.set({ state: 'idle' }, idle);
    },
  });
  gauge(registry, 'namjai_postgres_waiting', 'Calls that wait for a connection to PostgreSQL', () => read().waiting);
}

/** Sizes of SQLite's files. */
export function addFileMetrics(registry: Registry, file: string): void {
  const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  new Gauge({
    name: 'namjai_sqlite_bytes',
    help: 'Size of the database file, and of its write-ahead log',
    labelNames: ['file'],
    registers: [registry],
    collect() {
      this.set({ file: 'main' }, sizeOf(file));
      this.set({ file: 'wal' }, sizeOf(`${file}-wal`));
    },
  });
}

/** Size of, and room on, the file systems of these folders. One that cannot be asked has no value. */
export function addDiskMetrics(registry: Registry, folders: Readonly<Record<string, string>>): void {
  const add = (name: string, help: string, bytesOf: (disk: StatsFs) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['of'],
      registers: [registry],
      async collect() {
        for (const [of, folder] of Object.entries(folders))
          await statfs(folder).then(
            (disk) => this.set({ of }, bytesOf(disk)),
            () => this.remove({ of }),
          );
      },
    });
  const system = 'the file system that holds the database (of="database") or the copies (of="copies")';
  add('namjai_disk_size_bytes', `Size of ${system}`, ({ blocks, bsize }) => blocks * bsize);
  add('namjai_disk_free_bytes', `Room for this user on ${system}`, ({ bavail, bsize }) => bavail * bsize);
}

function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

/** A counter that is kept elsewhere. */
function counter(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}
