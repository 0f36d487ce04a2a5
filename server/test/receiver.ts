import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { until } from '../../sdk/test/until.ts';

/** A webhook receiver on loopback that records requests. */
export interface Receiver {
  readonly port: number;
  readonly url: string;
  readonly requests: Received[];
  /** Connections that were ever opened. */
  readonly connections: Socket[];
  /** How it answers from now on. */
  answer: (response: ServerResponse, request: Received) => void;
  waitFor(count: number): Promise<void>;
}

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const fixture = (name: string) => readFileSync(new URL(`./fixtures/${name}`, import.meta.url), 'utf8');

/** Names the certificate is good for: receiver.test and other.test. */
export const receiverCertificate = fixture('receiver-cert.pem');

export async function startReceiver(
  t: Pick<TestContext, 'after'>,
  { tls = false, port = 0 }: { tls?: boolean; port?: number } = {},
): Promise<Receiver> {
  const connections: Socket[] = [];
  const requests: Received[] = [];
  const listener: RequestListener = async (incoming, response) => {
    let body = '';
    incoming.setEncoding('utf8').on('error', () => {});
    for await (const chunk of incoming) body += chunk;
    const { method = '', url: path = '', headers } = incoming;
    const request = { method, path, headers, body };
    requests.push(request);
    receiver.answer(response, request);
  };
  const server = tls
    ? createHttpsServer({ key: fixture('receiver-key.pem'), cert: receiverCertificate }, listener)
    : createServer(listener);
  server.on('connection', (socket: Socket) => connections.push(socket));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  t.after(async () => {
    for (const socket of connections) socket.destroy();
    server.close();
  });
  const receiver: Receiver = {
    port: address.port,
    url: `${tls ? 'https://receiver.test' : 'http://127.0.0.1'}:${address.port}/hook`,
    requests,
    connections,
    answer: (response) => response.writeHead(204).end(),
    async waitFor(count) {
      await until(`${count} requests have come`, () => requests.length >= count);
    },
  };
  return receiver;
}
