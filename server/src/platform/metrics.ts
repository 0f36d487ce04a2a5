import { createServer, type Server } from 'node:http';
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly registry: Registry;
  /** Counts one answered request. */
  request(method: string, route: string, status: number, seconds: number): void;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'namjai_http_requests_total',
    help: 'Requests answered',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'namjai_http_request_seconds',
    help: 'Time from a request’s arrival to the end of its answer',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    registers: [registry],
  });
  // Resolving labels costs more than counting, so each combination is resolved once. Routes are patterns: few.
  const known = new Map<string, (seconds: number) => void>();
  return {
    registry,
    request(method, route, status, seconds) {
      const key = `${method} ${route} ${status}`;
      let count = known.get(key);
      if (!count) {
        const [counter, timer] = [requests.labels(method, route, String(status)), duration.labels(method, route)];
        count = (value) => {
          counter.inc();
          timer.observe(value);
        };
        known.set(key, count);
      }
      count(seconds);
    },
  };
}

/** Prometheus' page, on a port of its own and on loopback only. */
export async function serveMetrics(metrics: Metrics, port: number): Promise<Server> {
  const server = createServer(async (request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404).end();
    response.writeHead(200, { 'Content-Type': metrics.registry.contentType }).end(await metrics.registry.metrics());
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return server;
}
