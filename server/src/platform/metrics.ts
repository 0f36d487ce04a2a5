import type { Server } from 'node:http';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { createServer } from './http/node-http.ts';
import { createRequestCounts, type RequestCounts } from './request-counts.ts';

export interface Metrics {
  /** For metrics that are updated less often than requests. */
  readonly registry: Registry;
  readonly requests: RequestCounts;
  /** How far this node's clock is ahead of another time, in seconds. */
  readonly clockOffset: Gauge<'of'>;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const clockOffset = new Gauge({
    name: 'namjai_clock_offset_seconds',
    help: 'By how much the clock of this node is ahead of the database (of="database") or behind the newest record (of="newest_record", negative)',
    labelNames: ['of'] as const,
    registers: [registry],
  });
  return { registry, requests: createRequestCounts(), clockOffset };
}

/** Serves /metrics for Prometheus on a port of its own. */
export async function serveMetrics(metrics: Metrics, host: string, port: number): Promise<Server> {
  const server = createServer(async (request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404).end();
    try {
      const text = `${await metrics.registry.metrics()}\n${metrics.requests.text()}`;
      response.writeHead(200, { 'Content-Type': metrics.registry.contentType }).end(text);
    } catch (error) {
      // Such as the size of a file on a disk that has died. Prometheus sees that the scrape failed; the server goes on.
      response.writeHead(500, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`${String(error)}\n`);
    }
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  return server;
}
