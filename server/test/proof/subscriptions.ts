/** The ways in which honest apps get events, and the overlay that shows them. All of them note what they get. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectEvents } from '@namjai/sdk/events';
import { verifyWebhook } from '@namjai/sdk/webhooks';
import type { HonestCall } from './calls.ts';
import type { Measurements } from './measurements.ts';
import type { Scope } from './scope.ts';
import type { LivePair } from './world.ts';

export interface Subscription {
  readonly creatorId: string;
  readonly name: string;
  readonly events: { readonly id: string; readonly sequence: number }[];
  readonly last: () => number;
  /** The app starts again where it had stopped. */
  readonly restart?: () => void;
}

interface Parts {
  readonly scope: Scope;
  readonly call: HonestCall;
  readonly measurements: Measurements;
}

/** By the SDK. Nobody cuts these connections, so the server that closes one has wronged an honest app. */
export function followBySocket({ scope, call, measurements }: Parts, url: string, pair: LivePair): Subscription {
  const events: { id: string; sequence: number }[] = [];
  const last = (): number => events.at(-1)?.sequence ?? 0;
  const open = () =>
    connectEvents({
      url: `${url.replace(/^http/, 'ws')}/v1/socket`,
      async token() {
        const answer = await call({
          kind: 'socket token',
          url,
          path: '/v1/socket/token',
          headers: pair.headers,
          expects: 200,
        });
        if (!answer) throw new Error('no socket token');
        return (answer.json as { socket_token: string }).socket_token;
      },
      after: last(),
      onEvent: ({ id, sequence }) => void events.push({ id, sequence }),
      onReset: ({ sequence }) => measurements.failed('socket', `reset to ${sequence}`),
      onStatus: (status, { code, error }) => {
        if (status === 'waiting' || status === 'ended')
          measurements.failed('socket', `closed: ${code ?? (error instanceof Error ? error.message : status)}`);
      },
    });
  let connection = open();
  scope.after(() => connection.close());
  return {
    creatorId: pair.creatorId,
    name: 'a socket',
    events,
    last,
    restart() {
      connection.close();
      connection = open();
    },
  };
}

/** Server-Sent Events, read without a library: every block as it came over the wire. */
export function followByStream({ scope, measurements }: Parts, url: string, pair: LivePair): Subscription {
  const events: { id: string; sequence: number }[] = [];
  const last = (): number => events.at(-1)?.sequence ?? 0;
  const ending = new AbortController();
  scope.after(() => ending.abort());

  async function read(): Promise<void> {
    const headers = { ...pair.headers, 'last-event-id': String(last()) };
    const answer = await fetch(`${url}/v1/events/stream`, { headers, signal: ending.signal });
    if (answer.status !== 200 || !answer.body) throw new Error(`status ${answer.status}`);
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    let text = '';
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = /^data: (.+)$/m.exec(block)?.[1];
        if (data === undefined) continue;
        const { id, sequence } = JSON.parse(data) as { id: string; sequence: number };
        events.push({ id, sequence });
      }
    }
    throw new Error('the server ended the stream');
  }

  void (async () => {
    while (!ending.signal.aborted)
      await read().catch((error: Error) => {
        if (ending.signal.aborted) return;
        measurements.failed('stream', error.message);
        return sleep(1_000);
      });
  })();
  return { creatorId: pair.creatorId, name: 'a stream of Server-Sent Events', events, last };
}

interface Overlay {
  readonly url: string;
  readonly key: string;
}

export interface OverlayPage {
  /** Closes the page once it has acknowledged what it was sent. */
  close(): Promise<void>;
}

/** An overlay page that shows each alert at once: its acknowledgements become events too. */
export async function openOverlay({ scope, call }: Parts, { url, key }: Overlay): Promise<OverlayPage> {
  const instance = crypto.randomUUID();
  const acknowledging = new Set<Promise<unknown>>();
  const post = (path: string, body: object, expects: number) =>
    call({ kind: `overlay ${path}`, url, path: `/overlay/${key}/${path}`, method: 'POST', body, expects });
  const begun = await post('begin', { instance }, 200);
  const connection = connectEvents({
    url: `${url.replace(/^http/, 'ws')}/overlay/socket`,
    token: () => key,
    after: (begun?.json as { position: number } | undefined)?.position ?? 0,
    sparse: true,
    onEvent({ type, sequence }) {
      if (type !== 'tip.created' && type !== 'alert.test') return;
      const done: Promise<unknown> = post('ack', { instance, acks: [{ sequence, outcome: 'shown' }] }, 204).finally(
        () => acknowledging.delete(done),
      );
      acknowledging.add(done);
    },
  });
  scope.after(() => connection.close());
  return {
    async close() {
      connection.close();
      await Promise.all(acknowledging);
    },
  };
}

export interface WebhookReceiver {
  readonly url: (name: string) => string;
  /** Deliveries of this name are signed with this secret. */
  expect(name: string, secret: string): void;
  /** How often each event arrived, by name. */
  readonly received: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

export async function startWebhookReceiver({ scope, measurements }: Parts): Promise<WebhookReceiver> {
  const secrets = new Map<string, string>();
  const received = new Map<string, Map<string, number>>();
  const server = createServer(async (request, response) => {
    const name = request.url?.slice(1) ?? '';
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const body = Buffer.concat(chunks);
      const { id } = await verifyWebhook({ headers: request.headers, body, secret: secrets.get(name) ?? '' });
      const counts = received.get(name);
      counts?.set(id, (counts.get(id) ?? 0) + 1);
    } catch (error) {
      measurements.failed('webhook', error instanceof Error ? error.message : String(error));
    }
    response.writeHead(204).end();
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  scope.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    url: (name) => `http://127.0.0.1:${port}/${name}`,
    expect(name, secret) {
      secrets.set(name, secret);
      received.set(name, new Map());
    },
    received,
  };
}
