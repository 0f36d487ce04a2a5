import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { type App, createApp } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { createMemoryLimiter } from '../src/platform/limiter/memory.ts';
import { createLog } from '../src/platform/log.ts';
import { createRuntime, type Runtime, type RuntimeOptions } from '../src/runtime.ts';
import { makeMigrated } from './migrated.ts';
import { freshDatabase } from './postgres.ts';
import { openTestRedis, type TestRedis } from './redis.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A clock that only the test advances. */
export interface TestClock {
  (): number;
  set(instant: string | number): void;
  advance(ms: number): void;
}

export function createTestClock(instant: string | number = '2026-11-15T04:00:00.000Z'): TestClock {
  let now = new Date(instant).getTime();
  return Object.assign(() => now, {
    set(to: string | number) {
      now = new Date(to).getTime();
    },
    advance(ms: number) {
      now += ms;
    },
  });
}

export interface TestApp extends App {
  readonly runtime: Runtime;
  readonly clock: TestClock;
  readonly directory: string;
  /** The settings of another process, or another app, on the same store. */
  readonly env: Record<string, string>;
}

/**
 * The database of the tests: SQLite, or with TEST_SHAPE=nodes a database of a real PostgreSQL
 * and a real Redis, so that every test holds both shapes of the program to the same promises.
 */
export const onNodes = process.env.TEST_SHAPE === 'nodes';

let redis: Promise<TestRedis> | undefined;
let migrated: Promise<string> | undefined;
const endings: (() => Promise<void> | void)[] = [async () => (await redis)?.stop()];
after(async () => {
  for (const end of endings) await end();
});

/** Settings of an empty store. */
export async function storageSettings(
  t: { after(end: () => Promise<void> | void): void },
  directory = temporaryDirectory(t),
): Promise<Record<string, string>> {
  const SECRET_KEY = 'a key that only these tests know';
  migrated ??= makeMigrated({ after: (end) => endings.push(end) }, onNodes);
  if (!onNodes) {
    const file = join(directory, 'namjai.db');
    copyFileSync(await migrated, file);
    return { SECRET_KEY, DATABASE_URL: `sqlite:${file}` };
  }
  redis ??= openTestRedis();
  return { SECRET_KEY, DATABASE_URL: await freshDatabase(t, await migrated), REDIS_URL: (await redis).url };
}

/** The whole server on a new database, with a test clock. Cleans up after the test. */
export async function buildApp(
  t: Pick<TestContext, 'after'> & Partial<Pick<TestContext, 'mock'>>,
  env: Record<string, string> = {},
  overrides: Pick<RuntimeOptions, 'outgoing' | 'log' | 'take' | 'writingThread' | 'withinMs'> = {},
): Promise<TestApp> {
  const directory = temporaryDirectory(t);
  const clock = createTestClock();
  // The app closes before its database is dropped: PostgreSQL waits 0.1 s for connections that it has to cut.
  const ownEndings: (() => Promise<void> | void)[] = [];
  t.after(async () => {
    // A mocked clearInterval does not end the intervals that began before the mock: they would outlive the app.
    t.mock?.timers.reset();
    for (const end of ownEndings) await end();
  });
  const lastFirst = { after: (end: () => Promise<void> | void) => void ownEndings.unshift(end) };
  const storage = env.DATABASE_URL === undefined ? await storageSettings(lastFirst, directory) : {};
  const settings = { ...storage, ...env };
  const config = readConfig({ LOG_LEVEL: 'silent', ...settings });
  const runtime = await createRuntime(config, {
    clock,
    wait: async (ms) => clock.advance(ms),
    take: createMemoryLimiter({ now: clock }).take,
    log: createLog({ level: 'silent' }),
    // A machine that others keep busy too may take longer for a call than a server may.
    withinMs: 60_000,
    ...overrides,
  });
  await runtime.events.applyTimeZone();
  const app = createApp(runtime);
  await app.http.ready();
  lastFirst.after(async () => {
    // A browser keeps connections on which it has asked for nothing yet.
    app.http.server.closeAllConnections();
    await app.http.close();
    await runtime.close();
  });
  return { ...app, runtime, clock, directory, env: settings };
}
