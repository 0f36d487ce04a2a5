import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { WebSocket } from 'ws';
import { until } from '../../sdk/test/until.ts';
import { basic } from './factories.ts';

export interface DeliveryFrame {
  readonly type: 'delivery';
  readonly id: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

interface ReadyFrame {
  readonly type: 'ready';
  readonly endpoint_id: string;
  readonly secret: string;
}

/** A listener that records deliveries and answers each with 200, until the test says otherwise. */
export interface TestListener {
  readonly webSocket: WebSocket;
  readonly ready: Promise<ReadyFrame>;
  readonly deliveries: DeliveryFrame[];
  readonly closed: Promise<number>;
  /** Answers a delivery, or nothing to leave it unanswered. */
  answer: (delivery: DeliveryFrame) => object | undefined;
  waitFor(count: number): Promise<void>;
  result(id: string, fields?: object): void;
  close(): Promise<void>;
}

export const ok = { status_code: 200, duration_ms: 7, error: null, response_body: 'ok' };

export function openListener(
  t: Pick<TestContext, 'after'>,
  address: string,
  app: { clientId: string; clientSecret: string },
): TestListener {
  const webSocket = new WebSocket(`ws://${address}/v1/webhooks/listen`, { headers: basic(app) });
  t.after(() => webSocket.terminate());
  webSocket.on('error', () => {});
  const ready = Promise.withResolvers<ReadyFrame>();
  const listener: TestListener = {
    webSocket,
    ready: ready.promise,
    deliveries: [],
    closed: new Promise((resolve) => webSocket.on('close', resolve)),
    answer: () => ok,
    async waitFor(count) {
      await until(`${count} deliveries have come`, () => listener.deliveries.length >= count);
    },
    result: (id, fields = ok) => webSocket.send(JSON.stringify({ type: 'result', id, ...fields })),
    async close() {
      webSocket.close();
      await once(webSocket, 'close');
    },
  };
  webSocket.on('message', (data) => {
    const frame = JSON.parse(String(data));
    if (frame.type === 'ready') ready.resolve(frame);
    else {
      listener.deliveries.push(frame);
      const fields = listener.answer(frame);
      if (fields) listener.result(frame.id, fields);
    }
  });
  return listener;
}

/** The status of an upgrade that was refused. */
export function refusedUpgrade(address: string, headers: Record<string, string>): Promise<number> {
  const webSocket = new WebSocket(`ws://${address}/v1/webhooks/listen`, { headers });
  return new Promise((resolve, reject) => {
    webSocket.on('error', () => {});
    webSocket.on('open', () => reject(new Error('the upgrade succeeded')));
    webSocket.on('unexpected-response', (_, response) => resolve(response.statusCode ?? 0));
  });
}
