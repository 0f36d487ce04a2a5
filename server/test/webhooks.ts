import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createWebhookWorker, type WebhookWorker } from '../src/features/webhooks/index.ts';
import type { Log } from '../src/platform/log.ts';
import { assertDeclared } from './api-cases.ts';
import { buildApp, type TestApp } from './build-app.ts';
import { basic, makeApp, makePair, type Pair } from './factories.ts';
import { receiverCertificate } from './receiver.ts';

/** The fields of a delivery that tests use. */
export interface ShownDelivery {
  id: string;
  event_id: string;
  event_type: string;
  status: string;
  attempts: {
    at: string;
    status_code: number | null;
    duration_ms: number;
    error: string | null;
    response_body: string | null;
  }[];
  next_attempt_at: string | null;
  created_at: string;
}

/** An app that may send to loopback, a creator who granted it every scope, and a worker that the test runs. */
export async function buildWebhooks(
  t: Pick<TestContext, 'after'>,
  { timeoutMs = 15_000, random = 0.5, log }: { timeoutMs?: number; random?: number; log?: Log } = {},
) {
  // Hooks run in the order in which they were added: the worker stops before its database closes.
  t.after(() => worker.stop());
  const app = await buildApp(
    t,
    { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' },
    { outgoing: { resolve: async () => ['127.0.0.1'], ca: receiverCertificate, timeoutMs }, ...(log ? { log } : {}) },
  );
  const worker: WebhookWorker = createWebhookWorker({ ...app.runtime, random: () => random });
  const pair = await makePair(app.runtime);
  return { ...app, worker, pair, ...callers(app, pair) };
}

function callers({ http, runtime }: TestApp, pair: Pair) {
  async function call(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    payload?: object,
    as: { clientId: string; clientSecret: string } = pair,
  ) {
    const request = { method, url: `/v1/webhooks${path}`, headers: basic(as), ...(payload ? { payload } : {}) };
    const answer = await http.inject(request);
    await assertDeclared({ http }, request, answer);
    return answer;
  }

  async function add(url: string, more: object = {}): Promise<{ id: string; secret: string }> {
    const response = await call('POST', '', { url, ...more });
    assert.equal(response.statusCode, 201, response.body);
    return response.json();
  }

  async function deliveries(id: string, query = ''): Promise<ShownDelivery[]> {
    const response = await call('GET', `/${id}/deliveries${query}`);
    assert.equal(response.statusCode, 200, response.body);
    return response.json().data;
  }

  /** Straight in the store, so that no limit is in the way. */
  async function tip(creatorId = pair.creatorId, name = 'SOMCHAI') {
    const { tip } = await runtime.tips.record({
      creatorId,
      app: null,
      amount: 99,
      name,
      displayName: null,
      message: null,
    });
    return tip;
  }

  return { call, add, deliveries, tip, otherApp: () => makeApp(runtime) };
}
