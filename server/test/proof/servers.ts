import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { startPostgres } from '../postgres.ts';
import { startRedisServer } from '../redis.ts';
import { type ServerProcess, startServer } from '../server-process.ts';
import { sameIssuer } from '../store.ts';
import type { Scope } from './scope.ts';

export type Shape = 'process' | 'nodes';

/** Settings of a store, as an operator would make them, and the servers on it. */
export interface Deployment {
  readonly env: Record<string, string>;
  /** Of PostgreSQL. */
  readonly databaseUrl: string | null;
  start(): Promise<Servers>;
}

export interface Servers {
  readonly urls: readonly string[];
  readonly metricsUrls: readonly string[];
  readonly logFiles: readonly string[];
  /** Those that have ended by themselves. */
  ended(): string[];
}

/** `process`: one on SQLite. `nodes`: two on PostgreSQL and Redis. Their logs stay in the directory. */
export async function prepareDeployment(
  scope: Scope,
  shape: Shape,
  directory: string,
  more: Record<string, string> = {},
): Promise<Deployment> {
  const env = {
    ...sameIssuer,
    ...(await storage(scope, shape, directory)),
    NODE_ENV: 'production',
    SECRET_KEY: randomBytes(32).toString('hex'),
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
    // The load comes as through a proxy: strangers have addresses of their own.
    TRUST_PROXY: '127.0.0.0/8',
    // The attackers do not refresh theirs.
    ACCESS_TOKEN_SECONDS: '86400',
    ...more,
  };
  return {
    env,
    databaseUrl: shape === 'nodes' ? env.DATABASE_URL : null,
    async start() {
      const running: { server: ServerProcess; metricsUrl: string; logFile: string }[] = [];
      for (let i = 0; i < (shape === 'nodes' ? 2 : 1); i += 1) {
        const metricsPort = await freePort();
        const logFile = join(directory, `server-${i + 1}.log`);
        const settings = { ...env, METRICS_PORT: String(metricsPort), LOG_LEVEL: 'info' };
        const server = await startServer({ env: settings, logFile });
        // Also if this process ends without closing its scope.
        const killNow = (): void => void server.kill('SIGKILL');
        process.once('exit', killNow);
        scope.after(async () => {
          await stop(server);
          process.off('exit', killNow);
        });
        running.push({ server, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`, logFile });
      }
      return {
        urls: running.map(({ server }) => server.url.replace('localhost', '127.0.0.1')),
        metricsUrls: running.map(({ metricsUrl }) => metricsUrl),
        logFiles: running.map(({ logFile }) => logFile),
        ended: () =>
          running.flatMap(({ server: { child, url } }) =>
            child.exitCode === null && child.signalCode === null ? [] : `${url}: ${child.exitCode ?? child.signalCode}`,
          ),
      };
    },
  };
}

const patienceMs = 15_000;

async function stop(server: ServerProcess): Promise<void> {
  const late = setTimeout(() => void server.kill('SIGKILL'), patienceMs);
  await server.kill('SIGINT');
  clearTimeout(late);
}

async function storage(
  scope: Scope,
  shape: Shape,
  directory: string,
): Promise<{ DATABASE_URL: string; REDIS_URL?: string }> {
  if (shape === 'process') return { DATABASE_URL: `sqlite:${join(directory, 'namjai.db')}` };
  const [postgres, redis] = await Promise.all([startPostgres(), startRedisServer()]);
  scope.after(() => postgres.end());
  scope.after(() => redis.stop());
  return { DATABASE_URL: postgres.url('postgres'), REDIS_URL: redis.url };
}
