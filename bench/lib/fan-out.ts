/** Events to many sockets: what the rows about sockets share. */
import { makeApp, makeCreator, makePair, type Pair } from '../../server/test/factories.ts';
import { withStore } from '../../server/test/store.ts';
import type { Bench } from './bench.ts';
import type { Child } from './child.ts';
import { newStore, type StoreEnv } from './namjai.ts';
import type { OpenOptions, TriggerOptions } from './socket-worker.ts';

export const tip = { amount: 150.5, name: 'SOMCHAI', display_name: 'สมชาย', message: 'Great stream!' };

/** Namjai allows 50 sockets for each pair of app and creator. */
export const socketsPerApp = 50;

export const startListeners = (bench: Bench): Child => bench.start(new URL('./socket-worker.ts', import.meta.url));

export interface FanOut extends OpenOptions {
  readonly trigger: Omit<TriggerOptions, 'port'>;
}

/** Sends events to all sockets of a server and then stops the server. The first half of the events is the warm-up. */
export async function fanOut(bench: Bench, server: Child, { trigger, ...sockets }: FanOut) {
  const [count, window] = bench.short ? [4, 2] : [100, 8];
  const worker = startListeners(bench);
  await worker.call('open', sockets);
  const send = () =>
    worker.call<{ requests: number; seconds: number }>('broadcast', {
      trigger: { port: sockets.port, ...trigger },
      count,
      window,
    });
  await send();
  const before = [await worker.cpu(), await server.cpu()] as const;
  const { requests, seconds } = await send();
  const [busy, cpu] = [(await worker.cpu()) - before[0], (await server.cpu()) - before[1]];
  await worker.stop();
  await server.stop();
  return { rate: requests / seconds, cpu: cpu / requests, busy: busy / seconds / 1e6 };
}

export async function pairsOf(
  bench: Bench,
  creators: number,
  appsEach: number,
): Promise<{ env: StoreEnv; pairs: Pair[] }> {
  bench.progress('making apps, creators and tokens');
  const env = newStore(bench);
  const pairs = await withStore(env, async (runtime) => {
    await runtime.keys.signing();
    const people = await Promise.all(Array.from({ length: creators }, () => makeCreator(runtime)));
    const apps = await Promise.all(Array.from({ length: appsEach }, () => makeApp(runtime)));
    return Promise.all(apps.flatMap((app) => people.map((creator) => makePair(runtime, { app, creator }))));
  });
  return { env, pairs };
}

/** Addresses of sockets for these pairs, so many each. */
export async function socketPaths(port: number, pairs: readonly Pair[], each = socketsPerApp): Promise<string[]> {
  const paths: string[] = [];
  for (const { headers } of pairs) {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/socket/token`, { headers });
    const { socket_token } = (await answer.json()) as { socket_token: string };
    paths.push(...Array.from({ length: each }, () => `/v1/socket?token=${socket_token}`));
  }
  return paths;
}
