import { dirname } from 'node:path';
import { Counter, Gauge } from 'prom-client';
import { type Config, SettingFailure } from './config.ts';
import type { Clock } from './platform/clock.ts';
import { type Database, StorageUnavailable } from './platform/db/database.ts';
import { addDiskMetrics, addFileMetrics, addPoolMetrics, measuredDatabase } from './platform/db/database-metrics.ts';
import { migrate } from './platform/db/migrate.ts';
import { openSqlite } from './platform/db/sqlite.ts';
import type { Hub } from './platform/hub/hub.ts';
import { createMemoryHub } from './platform/hub/memory.ts';
import type { Limiter } from './platform/limiter/limiter.ts';
import { createMemoryLimiter } from './platform/limiter/memory.ts';
import type { Log } from './platform/log.ts';
import type { Metrics } from './platform/metrics.ts';
import { createOutage, watchOutages } from './platform/outages.ts';

/** The three ports, for one process (SQLite, in memory) or for a node of many (PostgreSQL, Redis). */
export interface Storage {
  readonly db: Database;
  readonly hub: Hub;
  readonly limiter: Limiter;
  /** Migrates the database to the schema of this version. */
  migrate(now: Clock): Promise<void>;
  close(): Promise<void>;
}

/** To migrate a large table, or to wait for another node that does, may take minutes. */
const migrationTimeoutMs = 30 * 60_000;
/** A start that waits for a database that is away soon says so. */
const connectWithinMs = 3_600;

export interface StorageParts {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  /** SQLite writes on a separate thread: for a server, not for a short command. */
  readonly writingThread: boolean;
  /** How long a call may take on PostgreSQL, if not as long as its port says. */
  readonly withinMs?: number | undefined;
}

export async function openStorage(parts: StorageParts): Promise<Storage> {
  const { database } = parts.config;
  const name = database.engine === 'sqlite' ? database.file : describeAddress(database.url);
  const storage = await explainOpenError(name, () =>
    database.engine === 'sqlite' ? openEmbedded(database.file, parts) : openShared(database.url, parts),
  );
  return { ...storage, migrate: (now) => explainOpenError(name, () => storage.migrate(now)) };
}

/** Says which setting leads to a database that cannot be used. */
async function explainOpenError<T>(name: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof StorageUnavailable || isRefusal(error))) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new SettingFailure('database_unavailable', `DATABASE_URL: ${name} cannot be used: ${reason}`);
  }
}

/**
 * PostgreSQL refuses a user or a password (class 28), or has no database of this name (3D000). SQLite finds a damaged
 * file (11) or one that is no database (26).
 */
const isRefusal = (error: unknown): boolean =>
  error instanceof Error &&
  (('code' in error && /^(?:28...|3D000)$/.test(String(error.code))) ||
    ('errcode' in error && (error.errcode === 11 || error.errcode === 26)));

/** Without user, password and options. */
function describeAddress(url: string): string {
  const { host, pathname } = new URL(url);
  return `PostgreSQL at ${host}${pathname}`;
}

async function openEmbedded(file: string, { config, log, metrics, writingThread }: StorageParts): Promise<Storage> {
  const { db, stopWatching } = watchedDatabase(openSqlite({ file, thread: writingThread }), log, metrics);
  addFileMetrics(metrics.registry, file);
  const { backupDir } = config;
  addDiskMetrics(metrics.registry, { database: dirname(file), ...(backupDir ? { copies: backupDir } : {}) });
  const hub = createMemoryHub({ onListenerError: (err) => log.error({ err }, 'a listener failed') });
  const limiter = createMemoryLimiter();
  return {
    db,
    hub,
    limiter,
    async migrate(now) {
      // Not on the thread, whose writes are refused when they take long.
      const patient = openSqlite({ file });
      try {
        await migrate(patient, { now });
      } finally {
        await patient.close();
      }
    },
    async close() {
      stopWatching();
      await closeAll(hub, limiter, db);
    },
  };
}

/** Loads the drivers here, so that a server on SQLite starts without them. */
async function openShared(url: string, { config, log, metrics, withinMs }: StorageParts): Promise<Storage> {
  const [{ openPostgres }, { createRedisHub }, { createRedisLimiter }, { connectRedis }] = await Promise.all([
    import('./platform/db/postgres.ts'),
    import('./platform/hub/redis.ts'),
    import('./platform/limiter/redis.ts'),
    import('./platform/redis.ts'),
  ]);
  const fallbacks = new Counter({
    name: 'namjai_limiter_fallback_total',
    help: 'Requests and connections that were counted on this node alone, because Redis was away',
    registers: [metrics.registry],
  });
  const { db, stopWatching } = watchedDatabase(openPostgres({ url, withinMs }), log, metrics);
  addPoolMetrics(metrics.registry, () => db.stats().pool ?? { open: 0, idle: 0, waiting: 0 });
  const outage = createOutage(log, { away: 'Redis is away', back: 'Redis is back' });
  const redis = await connectRedis({
    url: config.redisUrl ?? '',
    onError: (err) => outage.away({ err }),
    onReady: outage.back,
  });
  new Gauge({
    name: 'namjai_redis_up',
    help: '1 while this node is connected to Redis',
    registers: [metrics.registry],
    collect() {
      this.set(redis.client.isReady ? 1 : 0);
    },
  });
  const lag = new Gauge({
    name: 'namjai_hub_lag_seconds',
    help: 'How long the last hint of this node took through Redis and back',
    registers: [metrics.registry],
  });
  const hub = createRedisHub({
    client: redis.client,
    onLag: (seconds) => lag.set(seconds),
    onListenerError: (err) => log.error({ err }, 'a listener failed'),
  });
  const limiter = createRedisLimiter({
    client: redis.client,
    fallback: createMemoryLimiter(),
    onFallback: () => fallbacks.inc(),
  });
  return {
    db,
    hub,
    limiter,
    async migrate(now) {
      const migrationDb = openPostgres({ url, connections: 1, withinMs: migrationTimeoutMs, connectWithinMs });
      try {
        await migrate(migrationDb, { now });
      } finally {
        await migrationDb.close();
      }
    },
    async close() {
      stopWatching();
      await closeAll(hub, limiter, db);
      redis.close();
    },
  };
}

/** The same database, whose calls are counted, and whose outages the log tells of. */
function watchedDatabase(db: Database, log: Log, { registry }: Metrics) {
  const outage = createOutage(log, { away: 'storage is away', back: 'storage is back' });
  const watch = watchOutages({ outage, probe: () => db.ping() });
  return { db: measuredDatabase(db, registry, watch.suspect), stopWatching: watch.stop };
}

async function closeAll(...parts: readonly { close(): Promise<void> }[]): Promise<void> {
  for (const part of parts) await part.close();
}
