import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { WebSocket } from 'ws';
import { until } from '../../sdk/test/until.ts';
import { buildApp, type TestApp } from './build-app.ts';
import type { Pair } from './factories.ts';

export { recordTips } from './many-tips.ts';

export interface LiveApp extends TestApp {
  /** host:port of a real listener. */
  readonly address: string;
}

/** The whole server, listening on the loopback: on a free port, or on this one. */
export async function listen(
  t: Pick<TestContext, 'after'>,
  env: Record<string, string> = {},
  port = 0,
): Promise<LiveApp> {
  const app = await buildApp(t, env);
  const url = await app.http.listen({ host: '127.0.0.1', port });
  return { ...app, address: new URL(url).host };
}

interface Frame {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** A client that records every frame. */
export interface Client {
  readonly webSocket: WebSocket;
  readonly frames: Frame[];
  /** Sequences of the events so far. */
  readonly sequences: () => number[];
  /** Waits for this many frames and returns the last one. */
  readonly frame: (count: number) => Promise<Frame>;
  readonly closed: Promise<{ code: number }>;
}

export function connect(
  t: Pick<TestContext, 'after'>,
  address: string,
  query: Record<string, string | number> | null,
  options: WebSocket.ClientOptions = {},
): Client {
  const search = query ? `?${new URLSearchParams(Object.entries(query).map(([k, v]) => [k, String(v)]))}` : '';
  const webSocket = new WebSocket(`ws://${address}/v1/socket${search}`, options);
  const frames: Frame[] = [];
  webSocket.on('message', (data) => frames.push(JSON.parse(String(data))));
  webSocket.on('error', () => {});
  t.after(() => webSocket.terminate());
  return {
    webSocket,
    frames,
    sequences: () => frames.filter(({ type }) => type === 'event').map(sequenceOf),
    async frame(count) {
      await until(`${count} frames have come`, () => frames.length >= count);
      return frames[count - 1]!;
    },
    closed: new Promise((resolve) => webSocket.on('close', (code) => resolve({ code }))),
  };
}

function sequenceOf({ event }: Frame): number {
  return event !== null && typeof event === 'object' && 'sequence' in event ? Number(event.sequence) : Number.NaN;
}

/** A TCP connection that has asked for a WebSocket and got it. It reads nothing but what the test reads. */
export async function rawSocket(t: Pick<TestContext, 'after'>, address: string, path = '/v1/socket'): Promise<Socket> {
  const [host = '', port = ''] = address.split(':');
  const socket = connectTcp({ host, port: Number(port), allowHalfOpen: true });
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  const key = 'dGhlIHNhbXBsZSBub25jZQ==';
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: ${address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
  );
  await once(socket, 'data');
  socket.pause();
  return socket;
}

/** A socket token of the pair, through the front door. */
export async function socketToken({ http }: TestApp, { headers }: Pick<Pair, 'headers'>): Promise<string> {
  const answer = await http.inject({ url: '/v1/socket/token', headers });
  return answer.json().socket_token;
}

export const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
