import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from './config.ts';
import { type Clock, systemClock, systemWait, type Wait } from './platform/clock.ts';
import { createIds } from './platform/ids.ts';
import type { Limiter } from './platform/limiter/limiter.ts';
import { createLog, type Log } from './platform/log.ts';
import { makeDirectory } from './platform/make-directory.ts';
import { createMetrics } from './platform/metrics.ts';
import type { Platform } from './platform/platform.ts';
import { createSafeFetch, type SafeFetchOptions } from './platform/safe-fetch.ts';
import { createVault } from './platform/secrets.ts';
import { createZone } from './platform/zone.ts';
import { createServices, type Services } from './services.ts';
import { openStorage } from './storage.ts';

export interface Runtime extends Platform, Services {
  readonly config: Config;
  close(): Promise<void>;
}

export interface RuntimeOptions {
  /** SQLite writes on a separate thread. The server uses one; the command line and most tests do not. */
  readonly writingThread?: boolean;
  // For tests:
  readonly clock?: Clock;
  readonly wait?: Wait;
  /** A limiter with the clock of the test. */
  readonly take?: Limiter['take'];
  readonly log?: Log;
  readonly outgoing?: Pick<SafeFetchOptions, 'resolve' | 'ca' | 'timeoutMs'>;
  /** How long a call of PostgreSQL may take. */
  readonly withinMs?: number;
}

/** The composition root: opens and migrates the storage, and creates all services. */
export async function createRuntime(config: Config, options: RuntimeOptions = {}): Promise<Runtime> {
  const clock = options.clock ?? systemClock;
  const log = options.log ?? createLog({ level: config.logLevel, pretty: config.development && process.stdout.isTTY });
  const metrics = createMetrics();
  const { writingThread = false, withinMs } = options;
  const storage = await openStorage({ config, log, metrics, writingThread, withinMs });
  const { db, hub } = storage;
  try {
    await storage.migrate(clock);
    const platform: Platform = {
      clock,
      wait: options.wait ?? systemWait,
      newId: createIds(clock),
      log,
      metrics,
      db,
      hub,
      limiter: options.take ? { ...storage.limiter, take: options.take } : storage.limiter,
      vault: createVault(config.secretKey ?? developmentKey(config)),
      zone: createZone(config.timeZone),
      fetch: createSafeFetch({ allowCidrs: config.webhookAllowCidrs, ...options.outgoing }),
    };
    const services = createServices({ ...platform, config });
    await services.events.applyTimeZone();
    return {
      config,
      ...platform,
      ...services,
      async close() {
        await platform.fetch.close();
        await services.lastUsed.flush().catch((err) => log.warn({ err }, 'last uses of grants were not written'));
        await services.failures.flush().catch((err) => log.warn({ err }, 'failed requests of apps were not written'));
        await storage.close();
        log.flush();
      },
    };
  } catch (error) {
    await storage.close();
    throw error;
  }
}

/** In development SECRET_KEY is generated once and stored beside the database. */
function developmentKey({ database }: Config): string {
  const directory = database.engine === 'sqlite' ? dirname(database.file) : './data';
  const file = join(directory, 'secret.key');
  makeDirectory(directory);
  try {
    writeFileSync(file, randomBytes(48).toString('base64'), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8').trim();
}
