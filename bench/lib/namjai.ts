import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../server/test/server-process.ts';
import { sameIssuer } from '../../server/test/store.ts';
import type { Bench } from './bench.ts';
import { type Child, hasEnded } from './child.ts';

/** Our server as it is deployed: production settings, metrics and access log on. */
export interface Namjai {
  readonly child: Child;
  readonly port: number;
  /** From the start of the process to its first answered request. */
  readonly startMs: number;
}

const program = new URL('../../server/bin/namjai.js', import.meta.url);

export type StoreEnv = Record<string, string> & { readonly DATABASE_URL: string };

/** The settings of a server for a database; `withStore` uses them too. */
export function storeEnv(databaseUrl: string): StoreEnv {
  return {
    ...sameIssuer,
    DATABASE_URL: databaseUrl,
    SECRET_KEY: 'for the benchmark only, on this machine only',
    NODE_ENV: 'production',
  };
}

export const newStore = (bench: Bench): StoreEnv =>
  storeEnv(`sqlite:${join(bench.directory, `${crypto.randomUUID()}.db`)}`);

export async function startNamjai(bench: Bench, env: StoreEnv, more: Record<string, string> = {}): Promise<Namjai> {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const begun = performance.now();
  const child = bench.start(program, {
    args: ['serve'],
    env: { ...env, PORT: String(port), METRICS_PORT: String(metricsPort), LOG_LEVEL: 'info', ...more },
  });
  while (!hasEnded(child.process)) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (answer?.ok) return { child, port, startMs: performance.now() - begun };
    await delay(5);
  }
  await child.cpu();
  throw new Error('the server ended');
}

/** Starts a peer, which reports its port. */
export async function startPeer(bench: Bench, name: string, env: Record<string, string> = {}) {
  const child = bench.start(new URL(`../peers/${name}.js`, import.meta.url), { env });
  return { child, port: await child.call<number>('listen') };
}
