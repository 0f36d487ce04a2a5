/**
 * The server for the test suites of apps: `startNamjai` of `@namjai/sdk/testing` runs it as a child process. Invariants:
 *
 * - It is the whole server, on a database of its own in a temporary folder that is deleted at its end. It reads no
 *   settings of the environment, so it cannot reach another database.
 * - Its clock moves and its sockets are cut by lines of JSON on standard input, which only its parent can write. No other
 *   program of the server has such an input. The end of that input ends the process.
 * - It refuses to start where NODE_ENV is production.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import type { Server as HttpServer, IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { createApp } from './app.ts';
import { readConfig } from './config.ts';
import { inventPassword } from './features/accounts/index.ts';
import { parseScopes } from './features/oauth/index.ts';
import { createRehearsalWorker } from './features/rehearsal/index.ts';
import { isRunName } from './features/sandbox/index.ts';
import { createWebhookWorker } from './features/webhooks/index.ts';
import { jobs, startHousekeeping } from './housekeeping.ts';
import { listen } from './platform/http/listen.ts';
import { createMemoryLimiter } from './platform/limiter/memory.ts';
import { createLog } from './platform/log.ts';
import { createRuntime, type Runtime } from './runtime.ts';

interface ProcessStreams {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream;
  exit(code: number): void;
}

interface Call {
  readonly id: number;
  readonly method: string;
  readonly args: never;
}

type Methods = Record<string, (args: never) => unknown>;

/** Prints `{ready: {baseUrl}}` or `{failed}` on a line of its own, then an answer for each call: `{id, value}` or `{id, error}`. */
export async function serveTests({ argv, env, stdin, stdout, exit }: ProcessStreams): Promise<void> {
  const print = (line: object) => void stdout.write(`${JSON.stringify(line)}\n`);
  if (env.NODE_ENV === 'production') {
    print({ failed: 'This server is for tests: NODE_ENV must not be production.' });
    return exit(1);
  }
  const folder = mkdtempSync(join(tmpdir(), 'namjai-testing-'));
  let server: Awaited<ReturnType<typeof start>>;
  try {
    server = await start(folder, argv[2] ?? String(await freePort()));
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    print({ failed: messageOf(error) });
    return exit(1);
  }
  const lines = createInterface({ input: stdin });
  lines.on('line', async (line) => {
    const { id, method, args }: Call = JSON.parse(line);
    try {
      const run = server.methods[method];
      if (!run) throw new Error(`The installed server has no "${method}": install a newer version of namjai.`);
      print({ id, value: await run(args) });
    } catch (error) {
      print({ id, error: messageOf(error) });
    }
  });
  lines.on('close', async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
    exit(0);
  });
  print({ ready: { baseUrl: server.baseUrl } });
}

async function start(folder: string, port: string) {
  const config = readConfig({
    PORT: port,
    DATABASE_URL: `sqlite:${join(folder, 'namjai.db')}`,
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8 ::1/128',
  });
  const log = createLog({ level: 'error', stream: { write: (line) => void process.stderr.write(line) } });
  let movedMs = 0;
  const runtime = await createRuntime(config, {
    writingThread: true,
    log,
    clock: () => Date.now() + movedMs,
    take: createMemoryLimiter({ now: () => performance.now() + movedMs }).take,
  });
  const app = createApp(runtime);
  const cutSockets = trackSockets(app.http.server);
  const connectionsClosed = await listen(app.http, config);
  const webhookWorker = createWebhookWorker(runtime);
  const stopHousekeeping = startHousekeeping(runtime);
  await webhookWorker.start();
  const rehearsalWorker = createRehearsalWorker({ ...runtime, steady: runtime.clock });
  await rehearsalWorker.start();
  const methods: Methods = {
    ...worldMethods(runtime),
    async advance({ ms }: { ms: number }) {
      movedMs += ms;
      for (const { run } of Object.values(jobs)) await run(runtime);
    },
    cutSockets,
  };
  return {
    baseUrl: config.baseUrl,
    methods,
    async close(): Promise<void> {
      stopHousekeeping();
      cutSockets();
      await rehearsalWorker.stop();
      app.http.server.closeAllConnections();
      await Promise.all([app.http.close().then(connectionsClosed), webhookWorker.stop()]);
      await runtime.close();
    },
  };
}

/** What a test suite needs in the world: made by the services, without pages. */
const worldMethods = ({ accounts, apps, grants, tips, sandbox, chaos, newId }: Runtime): Methods => ({
  ...chaosMethods({ accounts, apps, sandbox, chaos, newId }),
  async creator({
    password = inventPassword(),
    ...input
  }: {
    username: string;
    displayName?: string;
    password?: string;
  }) {
    const { id } = await accounts.add({ ...input, password });
    return { id, username: input.username, password };
  },
  async app({ public: isPublic = false, ...input }: { name: string; redirectUris: string[]; public?: boolean }) {
    const app = { ...input, ownerId: null };
    return isPublic ? { ...(await apps.addPublic(app)), clientSecret: null } : apps.add(app);
  },
  async grant({ creatorId, clientId, scope }: { creatorId: string; clientId: string; scope: string }) {
    const tokens = await grants.addByOperator(creatorId, clientId, scope);
    const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn } = tokens;
    return { accessToken, refreshToken, expiresIn, scope: tokens.scope };
  },
  async tip(input: { creatorId: string; amount: number; name: string; displayName?: string; message?: string }) {
    const { displayName = null, message = null } = input;
    return (await tips.record({ ...input, displayName, message, app: null })).tip;
  },
});

/** Chaos needs a sandbox creator, and a developer who owns creator and app. */
function chaosMethods({
  accounts,
  apps,
  sandbox,
  chaos,
  newId,
}: Pick<Runtime, 'accounts' | 'apps' | 'sandbox' | 'chaos' | 'newId'>): Methods {
  return {
    async chaos({ scope, seed, run, shares = {} }: { scope: string; seed: string; run?: string; shares?: object }) {
      const developer = await accounts.add({
        username: `developer_${newId('crt').slice(-12)}`,
        password: inventPassword(),
      });
      const app = await apps.add({
        name: 'App in chaos',
        redirectUris: ['http://localhost:3000/callback'],
        ownerId: developer.id,
      });
      const creator = await sandbox.create(developer.id, 'Sandbox');
      const { scopes, unknown } = parseScopes(scope);
      if (unknown.length > 0) throw new Error(`There is no scope "${unknown[0]}".`);
      const tokens = await sandbox.connect(developer.id, creator.id, app.clientId, scopes);
      if (!tokens) throw new Error('The sandbox creator could not be connected.');
      const pair = { creatorId: creator.id, clientId: app.clientId };
      if (run === undefined) await chaos.save(pair, seed, shares);
      else if (isRunName(run)) await chaos.start(pair, seed, run);
      else throw new Error(`There is no run "${run}".`);
      return {
        creator: { id: creator.id, username: creator.username },
        app,
        accessToken: tokens.access_token,
        refreshToken: tokens.refresh_token,
        expiresIn: tokens.expires_in,
        scope: tokens.scope,
      };
    },
    async report(pair: { creatorId: string; clientId: string }) {
      await chaos.stop(pair);
      return chaos.report(pair);
    },
  };
}

/** Returns a function that cuts every WebSocket and event stream without a word, and tells how many there were. */
function trackSockets(server: HttpServer): () => number {
  const open = new Set<Duplex>();
  const track = (socket: Duplex): void => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  };
  server.on('upgrade', (_request, socket) => track(socket));
  server.on('request', (request: IncomingMessage) => {
    if (request.url?.startsWith('/v1/events/stream')) track(request.socket);
  });
  return () => {
    const cut = open.size;
    for (const socket of open) socket.destroy();
    return cut;
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
