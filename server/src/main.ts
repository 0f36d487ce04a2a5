import type { Server } from 'node:http';
import { flushCompileCache } from 'node:module';
import { type App, createApp } from './app.ts';
import type { Config } from './config.ts';
import { createWebhookWorker, type WebhookWorker } from './features/webhooks/index.ts';
import { startHousekeeping } from './housekeeping.ts';
import { serveMetrics } from './platform/metrics.ts';
import { createRuntime, type Runtime } from './runtime.ts';
import { welcome } from './welcome.ts';

/** The time for sockets to reconnect elsewhere at shutdown, and then for requests to complete. */
const socketsMs = 30_000;
const requestsMs = 5_000;

/** config → runtime → listen → drain */
export async function serve(config: Config): Promise<void> {
  const runtime = await createRuntime(config, { writingThread: true });
  try {
    await checkDemo(runtime);
    // Opens the signing key, so that a wrong SECRET_KEY fails at the start and not at the first request.
    await runtime.keys.signing();
    const app = createApp(runtime);
    const metrics =
      config.metricsPort === undefined ? undefined : await serveMetrics(runtime.metrics, config.metricsPort);
    const stopHousekeeping = startHousekeeping(runtime);
    const webhookWorker = createWebhookWorker(runtime);
    await app.http.listen({ host: config.host, port: config.port });
    process.stdout.write(await welcome(runtime));
    await webhookWorker.start();
    // Otherwise a server that is killed never writes the cache, and starts slowly every time.
    flushCompileCache();
    onSignal(async (signal) => {
      stopHousekeeping();
      // After Ctrl-C sockets are not waited for.
      await drain(app, signal === 'SIGINT' ? 0 : socketsMs, webhookWorker, metrics, runtime);
    });
  } catch (error) {
    await runtime.close();
    throw error;
  }
}

async function checkDemo({ config, demo }: Runtime): Promise<void> {
  if (config.development) return demo.ensure();
  if (await demo.exists())
    throw new Error(
      'This database holds the demo world, whose secrets were printed. Remove it first with: namjai demo remove',
    );
}

async function drain(
  { http, drain }: App,
  socketsMs: number,
  webhookWorker: WebhookWorker,
  metrics: Server | undefined,
  runtime: Runtime,
): Promise<void> {
  runtime.log.info('going away: moving sockets, finishing requests');
  await drain(socketsMs);
  const late = setTimeout(() => {
    http.server.closeAllConnections();
    void runtime.fetch.close();
  }, requestsMs);
  await Promise.all([http.close(), webhookWorker.stop()]);
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
