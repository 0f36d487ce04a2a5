import type { Server } from 'node:http';
import { flushCompileCache } from 'node:module';
import { type App, createApp } from './app.ts';
import { type Config, SettingFailure } from './config.ts';
import { createWebhookWorker, type WebhookWorker } from './features/webhooks/index.ts';
import { startHousekeeping } from './housekeeping.ts';
import { listen } from './platform/http/listen.ts';
import { serveMetrics } from './platform/metrics.ts';
import { createRuntime, type Runtime } from './runtime.ts';
import { welcome } from './welcome.ts';

/** The time for sockets to reconnect elsewhere at shutdown, and then for requests to complete. */
const socketsMs = 30_000;
const requestsMs = 5_000;
/** config → runtime → listen → drain */
export async function serve(config: Config): Promise<void> {
  const runtime = await createRuntime(config, { writingThread: true });
  /** What a start that fails closes again: whatever stays open would keep the process alive. */
  const opened: { close(): unknown }[] = [runtime];
  try {
    await checkDemo(runtime);
    // Opens the signing key, so that a wrong SECRET_KEY fails at the start and not at the first request.
    await runtime.keys.signing();
    await runtime.apps.cliClientId();
    const app = createApp(runtime);
    opened.push(app.http);
    const metrics = await startMetrics(runtime);
    if (metrics) opened.push(metrics);
    const connectionsClosed = await listening('HOST', 'PORT', listen(app.http, config));
    const webhookWorker = createWebhookWorker(runtime);
    const stopHousekeeping = startHousekeeping(runtime);
    process.stdout.write(await welcome(runtime));
    await webhookWorker.start();
    // Otherwise a server that is killed never writes the cache, and starts slowly every time.
    flushCompileCache();
    onSignal(async (signal) => {
      stopHousekeeping();
      // After Ctrl-C sockets are not waited for.
      const [noticeMs, moveMs] = signal === 'SIGINT' ? [0, 0] : [config.drainMs, socketsMs];
      await drain({ app, webhookWorker, connectionsClosed, metrics, runtime }, noticeMs, moveMs);
    });
  } catch (error) {
    for (const part of opened.reverse()) await part.close();
    throw error;
  }
}

async function startMetrics({ metrics, config }: Runtime): Promise<Server | undefined> {
  if (config.metricsPort === undefined) return undefined;
  return listening('METRICS_HOST', 'METRICS_PORT', serveMetrics(metrics, config.metricsHost, config.metricsPort));
}

/** Says which setting to change where an address or a port cannot be had. */
async function listening<T>(host: string, port: string, listen: Promise<T>): Promise<T> {
  try {
    return await listen;
  } catch (error) {
    const { code, message }: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
    if (code === 'EADDRINUSE')
      throw new SettingFailure(
        'port_in_use',
        `${message}. Another program uses this port: stop it, or set ${port} to another.`,
      );
    if (code === 'EACCES')
      throw new SettingFailure(
        'address_refused',
        `${message}. Ports below 1024 need root: set ${port} to a larger one.`,
      );
    throw new SettingFailure('address_refused', `${message}. Set ${host} to an address of this machine.`);
  }
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
  readonly webhookWorker: WebhookWorker;
  readonly connectionsClosed: () => Promise<void>;
  readonly metrics: Server | undefined;
  readonly runtime: Runtime;
}

async function drain(
  { app, webhookWorker, connectionsClosed, metrics, runtime }: Running,
  noticeMs: number,
  moveMs: number,
): Promise<void> {
  runtime.log.info('going away: moving sockets, finishing requests');
  await app.drain(moveMs, noticeMs);
  const late = setTimeout(() => {
    app.http.server.closeAllConnections();
    void runtime.fetch.close();
  }, requestsMs);
  await Promise.all([app.http.close().then(connectionsClosed), webhookWorker.stop()]);
  clearTimeout(late);
  metrics?.close();
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
