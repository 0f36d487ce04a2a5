import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Config, minSecretKeyLength, SettingFailure } from './config.ts';
import { type Clock, systemClock, systemWait, type Wait } from './platform/clock.ts';
import { type Copies, type CopiesOptions, createCopies } from './platform/db/sqlite-copies.ts';
import { createIds } from './platform/ids.ts';
import type { Limiter } from './platform/limiter/limiter.ts';
import { linkNew } from './platform/link-new.ts';
import { createLog, type Log } from './platform/log.ts';
import { makeDirectory } from './platform/make-directory.ts';
import { createMetrics } from './platform/metrics.ts';
import { createOrigins } from './platform/origin.ts';
import type { Platform } from './platform/platform.ts';
import { createSafeFetch, type SafeFetchOptions } from './platform/safe-fetch.ts';
import { createVault } from './platform/vault.ts';
import { createZone } from './platform/zone.ts';
import { createServices, type Services } from './services.ts';
import { openStorage } from './storage.ts';

export interface Runtime extends Platform, Services {
  readonly config: Config;
  /** Continuous copies of the embedded database, if they are set. */
  readonly copies: Copies | undefined;
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

/** In a terminal in development the log is text for people. Everywhere else each line of it is JSON, for programs. */
export const logsAreText = ({ development }: Pick<Config, 'development'>): boolean =>
  development && process.stdout.isTTY;

/** The composition root: opens and migrates the storage, and creates all services. */
export async function createRuntime(config: Config, options: RuntimeOptions = {}): Promise<Runtime> {
  const clock = options.clock ?? systemClock;
  const log = options.log ?? createLog({ level: config.logLevel, pretty: logsAreText(config) });
  const metrics = createMetrics();
  const { writingThread = false, withinMs } = options;
  const storage = await openStorage({ config, log, metrics, writingThread, withinMs });
  const { db, hub } = storage;
  try {
    await storage.migrate(clock);
    const newId = createIds(clock);
    const platform: Platform = {
      clock,
      wait: options.wait ?? systemWait,
      newId,
      origins: createOrigins(clock, newId),
      log,
      metrics,
      db,
      hub,
      limiter: options.take ? { ...storage.limiter, take: options.take } : storage.limiter,
      vault: createVault(...secretKeysOf(config)),
      zone: createZone(config.timeZone),
      fetch: createSafeFetch({ allowCidrs: config.webhookAllowCidrs, ...options.outgoing }),
    };
    const services = createServices({ ...platform, config });
    await services.sealing.refresh();
    return {
      config,
      ...platform,
      ...services,
      copies: copiesOf(config, { clock, registry: metrics.registry }),
      async close() {
        await services.erasure.stop();
        await platform.fetch.close();
        await services.lastUsed.flush();
        await services.failures.flush();
        await storage.close();
        log.flush();
      },
    };
  } catch (error) {
    await storage.close();
    throw error;
  }
}

function copiesOf({ database, backupDir, backupEveryMs }: Config, parts: Pick<CopiesOptions, 'clock' | 'registry'>) {
  if (database.engine !== 'sqlite' || backupDir === undefined || backupEveryMs === undefined) return undefined;
  return createCopies({ ...parts, file: database.file, directory: backupDir, everyMs: backupEveryMs });
}

/** SECRET_KEY and, while it is replaced, the one before. In development both are files beside the database. */
function secretKeysOf(config: Config): [secretKey: string, oldSecretKey?: string] {
  const { database, dataFolder, secretKey, secretKeyOld } = config;
  if (secretKey !== undefined) return secretKeyOld === undefined ? [secretKey] : [secretKey, secretKeyOld];
  const directory = database.engine === 'sqlite' ? dirname(database.file) : dataFolder;
  const file = join(directory, 'secret.key');
  const oldFile = join(directory, 'secret.key.old');
  makeDirectory(directory, 0o700);
  if (!existsSync(file)) makeKeyFile(file);
  const key = readKeyFile(file, 'if nothing was sealed yet, delete the file: the next start makes another');
  if (!existsSync(oldFile)) return [key];
  return [key, readKeyFile(oldFile, 'if nothing is sealed with it any more, delete the file')];
}

/** The file is complete or absent, also after a crash (see linkNew). Of processes that start together, one makes it. */
function makeKeyFile(file: string): void {
  const partial = `${file}.${randomUUID()}.part`;
  try {
    writeFileSync(partial, randomBytes(48).toString('base64'), { mode: 0o600, flag: 'wx', flush: true });
    linkNew(partial, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(partial, { force: true });
  }
}

function readKeyFile(file: string, advice: string): string {
  const key = readFileSync(file, 'utf8').trim();
  if (key.length >= minSecretKeyLength) return key;
  throw new SettingFailure(
    'key_refused',
    `SECRET_KEY: it is not set, and the key in ${file} has fewer than ${minSecretKeyLength} characters. Put the right key there; ${advice}.`,
  );
}
