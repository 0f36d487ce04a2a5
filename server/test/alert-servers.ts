/** The servers at which `faults/alerts.test.ts` causes faults, in both shapes. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { freePort } from './free-port.ts';
import { prepareNodes } from './nodes.ts';
import { startServer } from './server-process.ts';
import { smallDisk } from './small-disk.ts';
import { makePairs, sameIssuer, withStore } from './store.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const metricsTarget = (port: number): string => `127.0.0.1:${port}`;

/** One process on SQLite, which can be killed and started again at the same addresses. */
export async function startEmbedded(t: TestContext) {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const file = join(temporaryDirectory(t), 'namjai.db');
  const disk = smallDisk(t, 32);
  const copies = join(disk, 'copies');
  const env = {
    ...sameIssuer,
    NODE_ENV: 'production',
    SECRET_KEY: 'a key that only this test of alerts knows',
    DATABASE_URL: `sqlite:${file}`,
    METRICS_PORT: String(metricsPort),
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
    TRUST_PROXY: '127.0.0.0/8',
    BACKUP_DIR: copies,
    BACKUP_EVERY: '15',
    LOG_LEVEL: 'error',
  };
  const pairs = await withStore(env, (runtime) => makePairs(runtime, 10, 20));
  // Few files, so that few connections use them up.
  const start = () => startServer({ env, port, prefix: ['prlimit', '--nofile=500:500'] });
  let server = await start();
  t.after(() => server.kill());
  return {
    env,
    file,
    disk,
    copies,
    pairs,
    port,
    url: `http://127.0.0.1:${port}`,
    target: metricsTarget(metricsPort),
    pause: () => server.pause(),
    resume: () => server.resume(),
    kill: () => server.kill(),
    async restart() {
      await server.kill();
      server = await start();
    },
  };
}

export type Embedded = Awaited<ReturnType<typeof startEmbedded>>;

/** A node on PostgreSQL and Redis, and the port of one whose clock is ahead, which is started later. */
export async function startNodes(t: TestContext) {
  const [metricsPort, otherPort] = [await freePort(), await freePort()];
  const nodes = await prepareNodes(t, 1, { METRICS_PORT: String(metricsPort), LOG_LEVEL: 'silent' });
  const pairs = await withStore(nodes.env, (runtime) => makePairs(runtime, 10, 20));
  await nodes.start(0);
  const url = nodes.urls[0]!;
  return { ...nodes, pairs, url, target: metricsTarget(metricsPort), otherPort, otherTarget: metricsTarget(otherPort) };
}

export type StartedNodes = Awaited<ReturnType<typeof startNodes>>;
