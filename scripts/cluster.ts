/**
 * `npm run cluster`: a deployment of several nodes on this machine, from installed programs.
 * PostgreSQL comes from DATABASE_URL or the npm package, Redis from REDIS_URL or a redis-server on the path;
 * two nodes of the server, and a round-robin balancer in front. Ctrl-C stops all of it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { freePort } from '../server/test/free-port.ts';
import { startPostgres } from '../server/test/postgres.ts';
import { openTestRedis, skipWithoutRedis } from '../server/test/redis.ts';

const port = Number(process.env.PORT ?? 8080);
const nodeCount = 2;

if (!process.env.REDIS_URL && skipWithoutRedis) {
  console.error(`Redis is missing: ${skipWithoutRedis}`);
  process.exit(1);
}

const step = (text: string) => console.log(`  ${text}`);

step('PostgreSQL …');
const postgres = process.env.DATABASE_URL ? undefined : await startPostgres();
step('Redis …');
const redis = await openTestRedis();

const address = `http://localhost:${port}`;
const env = {
  ...process.env,
  DATABASE_URL: process.env.DATABASE_URL ?? postgres?.url('postgres'),
  REDIS_URL: redis.url,
  SECRET_KEY: process.env.SECRET_KEY ?? randomBytes(32).toString('hex'),
  BASE_URL: address,
  AUTH_URL: address,
};

/** One after another: the first one brings the database up to date and fills it, and its welcome is the one to read. */
const nodes: { port: number; child: ChildProcess }[] = [];
for (let i = 0; i < nodeCount; i++) {
  step(`node ${i + 1} of ${nodeCount} …`);
  const own = await freePort();
  const program = ['--disable-warning=ExperimentalWarning', 'server/bin/namjai.js', 'serve'];
  const output = i === 0 ? 'inherit' : 'ignore';
  const child = spawn(process.execPath, program, {
    env: { ...env, PORT: String(own) },
    stdio: ['ignore', output, 'inherit'],
    detached: true,
  });
  nodes.push({ port: own, child });
  await untilReady(own, child);
}

async function untilReady(own: number, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    const answer = await fetch(`http://localhost:${own}/readyz`).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await stop(1);
}

let turn = 0;

/** Round robin. A node that does not answer is skipped. */
function balance(client: ReturnType<typeof connect>, tries = nodes.length): void {
  const node = nodes[turn++ % nodes.length];
  if (!node || tries === 0) return void client.destroy();
  const upstream = connect(node.port, '127.0.0.1');
  upstream.once('connect', () => {
    client.pipe(upstream);
    upstream.pipe(client);
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
  });
  upstream.once('error', () => {
    if (upstream.bytesRead > 0 || client.destroyed) client.destroy();
    else balance(client, tries - 1);
  });
}

const balancer = createServer((client) => {
  client.on('error', () => client.destroy());
  balance(client);
}).listen(port, '127.0.0.1');
balancer.on('error', async (error) => {
  console.error(`The balancer cannot listen on port ${port}: ${error.message}. Set PORT.`);
  await stop(1);
});
await once(balancer, 'listening');
console.log(`  The cluster is up at ${address}: nodes on ports ${nodes.map((node) => node.port).join(' and ')}.\n`);

async function stop(code: number): Promise<never> {
  const running = nodes.filter(({ child }) => child.exitCode === null && child.signalCode === null);
  const ended = running.map(({ child }) => once(child, 'exit'));
  for (const { child } of running) child.kill('SIGINT');
  await Promise.all(ended);
  await redis.stop();
  await postgres?.end();
  process.exit(code);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop(0));
