import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Gauge } from 'prom-client';
import { createMetrics, serveMetrics } from './metrics.ts';

test('the page has the process’s own metrics and the requests, each on lines of its own', async (t) => {
  const metrics = createMetrics();
  const server = await serveMetrics(metrics, '127.0.0.1', 0);
  t.after(() => server.close());
  metrics.requests.count('GET', '/v1/me', 200, 0.002);
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  const text = await answer.text();
  assert.match(String(answer.headers.get('content-type')), /^text\/plain; version=0\.0\.4/);
  assert.match(text, /^process_cpu_seconds_total /m);
  assert.match(text, /^namjai_http_requests_total\{method="GET",route="\/v1\/me",status="200"\} 1$/m);
  assert.match(text, /^namjai_http_request_seconds_bucket\{le="0\.0025",method="GET",route="\/v1\/me"\} 1$/m);
  for (const line of text.split('\n')) assert.match(line, /^(# (HELP|TYPE) \w+ .+|\w+(\{.*\})? [-+\w.]+|)$/);
  assert.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 404);
});

test('a metric that cannot be read fails the scrape, not the server', async (t) => {
  const metrics = createMetrics();
  let fails = true;
  new Gauge({
    name: 'namjai_of_a_dead_disk',
    help: 'For this test',
    registers: [metrics.registry],
    collect() {
      if (fails) throw new Error('EIO: i/o error, stat');
    },
  });
  const server = await serveMetrics(metrics, '127.0.0.1', 0);
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const failed = await fetch(`http://127.0.0.1:${port}/metrics`);
  assert.deepEqual([failed.status, await failed.text()], [500, 'Error: EIO: i/o error, stat\n']);
  fails = false;
  assert.equal((await fetch(`http://127.0.0.1:${port}/metrics`)).status, 200);
});
