import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counter, Histogram, Registry } from 'prom-client';
import { createRequestCounts } from './request-counts.ts';

test('prints what prom-client would', async () => {
  const registry = new Registry();
  const requests = new Counter({
    name: 'namjai_http_requests_total',
    help: 'Requests answered',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  const failures = new Counter({
    name: 'namjai_http_failures_total',
    help: 'Requests answered with a status of 5xx, over all routes',
    labelNames: ['status'],
    registers: [registry],
  });
  for (const status of [500, 502, 503]) failures.inc({ status }, 0);
  const seconds = new Histogram({
    name: 'namjai_http_request_seconds',
    help: 'Time from a request’s arrival to the end of its answer',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  });
  const counts = createRequestCounts();
  const observed: [string, string, number, number][] = [
    ['GET', '/v1/me', 200, 0.0004],
    ['GET', '/v1/me', 200, 0.001],
    ['GET', '/v1/me', 429, 0.0010001],
    ['GET', '/v1/me', 500, 0.3],
    ['GET', '/v1/me', 500, 0.3],
    ['GET', '/v1/tips', 200, 0.25],
    ['GET', '/v1/tips', 502, 4.8],
    ['POST', '/v1/tips', 201, 0.03],
    ['POST', '/v1/tips', 422, 5],
    ['GET', 'none', 404, 5.5],
  ];
  for (const [method, route, status, time] of observed) {
    counts.count(method, route, status, time);
    requests.inc({ method, route, status });
    if (status >= 500) failures.inc({ status });
    seconds.observe({ method, route }, time);
  }
  assert.equal(counts.text(), await registry.metrics());
});

test('prints a page that can be read before anything was answered, with failures at zero', () => {
  assert.match(
    createRequestCounts().text(),
    /^# HELP .*\n# TYPE .* counter\n\n# HELP .*\n# TYPE .* counter\n(namjai_http_failures_total\{status="50\d"\} 0\n){3}\n# HELP .*\n# TYPE .* histogram\n$/,
  );
});
