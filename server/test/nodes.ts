import type { TestContext } from 'node:test';
import { Agent, request } from 'undici';
import { WebSocket } from 'ws';
import { closeReasons } from '../src/features/sockets/index.ts';
import type { Pair } from './factories.ts';
import { freePort } from './free-port.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import { startRedisServer, type TestRedisServer } from './redis.ts';
import { type ServerProcess, startServer } from './server-process.ts';
import { sameIssuer } from './store.ts';

/** Several nodes as processes of their own, on a PostgreSQL and a Redis that can be stopped. */
export interface Nodes {
  readonly env: Record<string, string>;
  readonly postgres: Postgres;
  readonly redis: TestRedisServer;
  /** Their addresses; they stay the same through restarts. */
  readonly urls: readonly string[];
  /** Starts this one, or starts it again. */
  start(index: number): Promise<void>;
  node(index: number): ServerProcess;
}

export async function prepareNodes(
  t: TestContext,
  count: number,
  settings: Record<string, string> = {},
): Promise<Nodes> {
  const [postgres, redis] = await Promise.all([startPostgres(), startRedisServer()]);
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  const running = new Map<number, ServerProcess>();
  t.after(async () => {
    for (const node of running.values()) await node.kill();
    await redis.stop();
    await postgres.end();
  });
  const env = {
    ...sameIssuer,
    DATABASE_URL: postgres.url('postgres'),
    REDIS_URL: redis.url,
    SECRET_KEY: 'a key that all nodes of this test share',
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
    ...settings,
  };
  return {
    env,
    postgres,
    redis,
    urls: ports.map((port) => `http://localhost:${port}`),
    async start(index) {
      running.set(index, await startServer({ env, port: ports[index]! }));
    },
    node: (index) => running.get(index)!,
  };
}

/** A program that follows a creator's events for good: it resumes at the next node whenever its socket closes. */
export interface Follower {
  /** Sequences in the order in which they came. */
  readonly sequences: number[];
  readonly reconnects: number;
}

export async function follow(
  t: TestContext,
  urls: readonly string[],
  { headers }: Pair,
  first: number,
  /** The certificate of whoever ends TLS. */
  tls: { readonly ca?: Buffer } = {},
): Promise<Follower> {
  const dispatcher = new Agent({ connect: tls });
  /** The token is valid for ten minutes. */
  const getToken = async (): Promise<string> => {
    const answer = await request(`${urls[first % urls.length]}/v1/socket/token`, { headers, dispatcher });
    return ((await answer.body.json()) as { socket_token: string }).socket_token;
  };
  let token = await getToken();
  const sequences: number[] = [];
  let socket: WebSocket;
  let [closed, tries] = [false, 0];
  const { promise: opened, resolve: tellOpened } = Promise.withResolvers<void>();

  function open(): void {
    const address = urls[(first + tries) % urls.length]!.replace('http', 'ws');
    const after = sequences.at(-1) ?? 0;
    socket = new WebSocket(`${address}/v1/socket?token=${token}&after=${after}`, {
      handshakeTimeout: 2_000,
      ...tls,
    });
    socket.on('error', () => {}); // a close follows, and another try
    socket.once('open', tellOpened);
    socket.on('message', (data) => {
      const frame = JSON.parse(String(data));
      if (frame.type === 'event') sequences.push(frame.event.sequence);
      if (frame.type === 'reconnect') socket.close();
    });
    socket.on('close', async (code) => {
      tries += 1;
      if (code === closeReasons.bad_token.code) token = await getToken().catch(() => token);
      if (!closed) setTimeout(open, 50);
    });
  }
  open();
  t.after(() => {
    closed = true;
    socket.terminate();
    return dispatcher.destroy();
  });
  await opened;
  return {
    sequences,
    get reconnects() {
      return tries;
    },
  };
}
