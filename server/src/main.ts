import type { Server } from 'node:http';
import { flushCompileCache } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import manifest from '../package.json' with { type: 'json' };
import { type App, createApp } from './app.ts';
import type { Config } from './config.ts';
import { createRehearsalWorker, type RehearsalWorker } from './features/rehearsal/index.ts';
import { createWebhookWorker, type WebhookWorker } from './features/webhooks/index.ts';
import { startHousekeeping } from './housekeeping.ts';
import { steadyMs } from './platform/clock.ts';
import { StorageUnavailable } from './platform/db/database.ts';
import { listen } from './platform/http/listen.ts';
import { serveMetrics } from './platform/metrics.ts';
import { explainListenError } from './preflight.ts';
import { createRuntime, logsAreText, type Runtime } from './runtime.ts';
import { welcome } from './welcome.ts';

/** The time for sockets to reconnect elsewhere at shutdown, and then for requests to complete. */
const socketsMs = 30_000;
const requestsMs = 5_000;
/** For how long a start waits for a storage that is busy. */
const patienceMs = 60_000;

/** config → runtime → listen → drain */
export async function serve(config: Config): Promise<void> {
  const runtime = await createRuntime(config, { writingThread: true });
  /** What a start that fails closes again: the row of this node is removed, the database closed and the log written. */
  const opened: { close(): unknown }[] = [runtime];
  try {
    // Before the first write, because meanwhile the writing thread starts.
    const app = createApp(runtime);
    opened.push(app.http);
    const node = await patiently(runtime, () => runtime.sealing.join());
    opened.push(node);
    await patiently(runtime, async () => {
      await runtime.sealing.check();
      await checkDemo(runtime);
      await runtime.leaving.applyDeletions();
      await runtime.events.applyTimeZone();
      // Opens the signing key, so that a wrong SECRET_KEY fails at the start and not at the first request.
      await runtime.keys.signing();
      await runtime.apps.cliClientId();
    });
    const metrics = await startMetrics(runtime);
    if (metrics) opened.push(metrics);
    const starting = start(app, metrics, runtime);
    // From the first answer on: a signal that nobody handles ends the process in the middle of requests.
    onSignal(async (signal) => {
      const running = await starting;
      running.stopHousekeeping();
      // After Ctrl-C sockets are not waited for.
      await drain(running, signal === 'SIGINT' ? { socketsMs: 0 } : { noticeMs: config.drainMs, socketsMs }, node);
    });
    await starting;
  } catch (error) {
    for (const part of opened.reverse()) await part.close();
    throw error;
  }
}

/**
 * A storage that is busy for a while, because another program holds its lock or the machine has no time, does not end a
 * start. All steps of a start may be repeated.
 */
async function patiently<T>({ log }: Runtime, step: () => Promise<T>): Promise<T> {
  for (const deadline = performance.now() + patienceMs; ; ) {
    try {
      return await step();
    } catch (error) {
      const isBusy = error instanceof StorageUnavailable && ['busy', 'timeout'].includes(error.reason);
      if (!isBusy || performance.now() > deadline) throw error;
      log.warn({ reason: error.reason }, 'the storage is busy: the start goes on when it answers');
      await sleep(500);
    }
  }
}

async function startMetrics({ metrics, config }: Runtime): Promise<Server | undefined> {
  if (config.metricsPort === undefined) return undefined;
  return explainListenError(
    'METRICS_HOST',
    'METRICS_PORT',
    serveMetrics(metrics, config.metricsHost, config.metricsPort),
  );
}

async function checkDemo({ config, demo }: Runtime): Promise<void> {
  if (config.development) return demo.ensure();
  if (await demo.exists())
    throw new Error(
      'This database holds the demo world, whose secrets were printed. Remove it first with: namjai demo remove',
    );
}

interface Running {
  readonly app: App;
  readonly stopHousekeeping: () => void;
  readonly webhookWorker: WebhookWorker;
  readonly rehearsalWorker: RehearsalWorker;
  readonly connectionsClosed: () => Promise<void>;
  readonly metrics: Server | undefined;
  readonly runtime: Runtime;
}

async function start(app: App, metrics: Server | undefined, runtime: Runtime): Promise<Running> {
  const connectionsClosed = await explainListenError('HOST', 'PORT', listen(app.http, runtime.config));
  const { host, port } = runtime.config;
  runtime.log.info({ version: manifest.version, host, port }, 'listening');
  const webhookWorker = createWebhookWorker(runtime);
  const rehearsalWorker = createRehearsalWorker({ ...runtime, steady: steadyMs });
  const stopHousekeeping = startHousekeeping(runtime);
  // Where the log is JSON, standard output has nothing else.
  const terminal = logsAreText(runtime.config) ? process.stdout : process.stderr;
  terminal.write(await welcome(runtime));
  await patiently(runtime, webhookWorker.start);
  await patiently(runtime, rehearsalWorker.start);
  // Otherwise a server that is killed never writes the cache, and starts slowly every time.
  flushCompileCache();
  return { app, metrics, runtime, connectionsClosed, webhookWorker, rehearsalWorker, stopHousekeeping };
}

async function drain(
  { app, webhookWorker, rehearsalWorker, connectionsClosed, metrics, runtime }: Running,
  times: Parameters<App['drain']>[0],
  node: { close(): Promise<void> },
): Promise<void> {
  runtime.log.info('going away: moving sockets, finishing requests');
  await rehearsalWorker.stop();
  await app.drain(times);
  const late = setTimeout(() => {
    app.http.server.closeAllConnections();
    void runtime.fetch.close();
  }, requestsMs);
  await Promise.all([app.http.close().then(connectionsClosed), webhookWorker.stop()]);
  clearTimeout(late);
  metrics?.close();
  await node.close();
  await runtime.close();
}

/** The first SIGTERM or SIGINT drains; a second one does not wait. */
function onSignal(stop: (signal: NodeJS.Signals) => Promise<void>): void {
  let stopping = false;
  const handle = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1);
    stopping = true;
    stop(signal).then(
      () => process.exit(0),
      (error) => {
        console.error(error);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', handle).on('SIGINT', handle);
}
