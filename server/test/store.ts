import { readConfig } from '../src/config.ts';
import { createLog } from '../src/platform/log.ts';
import { createRuntime, type Runtime, type RuntimeOptions } from '../src/runtime.ts';
import { makeApp, makeCreator, makePair, type Pair } from './factories.ts';

/** Opens the store beside a server, as the command line does, with patience for a busy machine. */
export async function withStore<T>(
  env: Record<string, string>,
  use: (runtime: Runtime) => Promise<T>,
  options: Pick<RuntimeOptions, 'clock'> = {},
): Promise<T> {
  const log = createLog({ level: 'silent' });
  const runtime = await createRuntime(readConfig(env), { log, withinMs: 60_000, ...options });
  try {
    return await use(runtime);
  } finally {
    await runtime.close();
  }
}

/**
 * Every app with every creator: as many (app, creator) pairs as the limits require. Each is of another creator than the
 * one before, so that a load that goes through them in order is one of many creators at a time.
 */
export async function makePairs(runtime: Runtime, creators: number, apps: number): Promise<Pair[]> {
  // Asked for at once by thousands, the first key would be made by each of them.
  await runtime.keys.signing();
  const owners = await Promise.all(Array.from({ length: creators }, () => makeCreator(runtime)));
  const clients = await Promise.all(Array.from({ length: apps }, () => makeApp(runtime)));
  const byOwner: Pair[][] = [];
  // An owner at a time: a pool of connections is not for a thousand at once.
  for (const creator of owners)
    byOwner.push(await Promise.all(clients.map((app) => makePair(runtime, { creator, app }))));
  return clients.flatMap((_, i) => byOwner.map((own) => own[i]!));
}

/** The settings of a server that accepts the tokens of `withStore`, on any port. */
export const sameIssuer = { BASE_URL: 'http://localhost:8080', AUTH_URL: 'http://localhost:8080' };
