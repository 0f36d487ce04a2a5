import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { WebSocket } from 'ws';
import { until } from '../../sdk/test/until.ts';
import type { Trace } from '../src/features/trace/schemas.ts';
import type { TestApp } from './build-app.ts';
import { makePair, type Pair } from './factories.ts';

/** An overlay page that shows what it is told to. */
export async function openTracedOverlay(
  t: Pick<TestContext, 'after'>,
  { runtime, http }: TestApp,
  address: string,
  { creatorId }: Pick<Pair, 'creatorId'>,
) {
  const key = await runtime.overlays.key(creatorId);
  const webSocket = new WebSocket(`ws://${address}/overlay/socket`);
  t.after(() => webSocket.terminate());
  webSocket.on('open', () => webSocket.send(JSON.stringify({ type: 'auth', token: key, after: 0, protocol: 2 })));
  const spans = async () => (await runtime.presence.spans(creatorId)).at(-1);
  await until('the overlay is known to be open', async () => (await spans())?.to === null);
  return {
    shown: (sequence: number, outcome = 'shown') =>
      http.inject({
        method: 'POST',
        url: `/overlay/${key}/ack`,
        payload: { instance: '00000000-0000-4000-8000-000000000001', acks: [{ sequence, outcome }] },
      }),
    async close() {
      webSocket.close();
      await until('the overlay is known to be closed', async () => (await spans())?.to !== null);
    },
  };
}

/** With a token of its own: tests advance the clock by days. */
const headersOf = async ({ runtime }: TestApp, pair: Pair) =>
  (await makePair(runtime, { creator: pair, app: pair })).headers;

/** Records a tip through the front door. */
export async function sendTip(app: TestApp, pair: Pair, body: object = {}) {
  const headers = await headersOf(app, pair);
  const payload = { amount: 150.5, name: 'SOMCHAI', message: 'Hello', ...body };
  const answer = await app.http.inject({ method: 'POST', url: '/v1/tips', headers, payload });
  assert.equal(answer.statusCode, 201, answer.body);
  return { id: String(answer.json().id), requestId: String(answer.headers['x-request-id']) };
}

export async function readTrace(app: TestApp, pair: Pair, id: string): Promise<Trace> {
  const headers = await headersOf(app, pair);
  const answer = await app.http.inject({ url: `/v1/tips/${id}/trace`, headers });
  assert.equal(answer.statusCode, 200, answer.body);
  return answer.json();
}

/** Each step in a few words. */
export const stepTexts = ({ steps }: Trace): string[] =>
  steps.map((step) => {
    const detail: Record<string, unknown> = { ...step.detail };
    const more = step.kind === 'event' ? detail.type : (detail.reason ?? detail.status_code);
    return [step.kind, step.outcome, more].filter((part) => part !== null && part !== undefined).join(' ');
  });

/** What has not happened, in a few words. */
export const missingTexts = ({ missing }: Trace): string[] => missing.map(({ kind, reason }) => `${kind} ${reason}`);
