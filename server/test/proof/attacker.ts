import { connect, type Socket } from 'node:net';
import { Agent } from 'undici';
import { WebSocket } from 'ws';
import { requestBytes } from '../raw-http.ts';
import { atPace } from './at-pace.ts';
import type { HostileWorld } from './world.ts';

/** Addresses as the proxy tells them: one of a stranger, one of the developer. */
export const strangerAddress = '198.51.100.7';
export const developerAddress = '203.0.113.9';

interface HostileRequest {
  readonly path: string;
  readonly method?: 'GET' | 'POST' | 'HEAD';
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  readonly address?: string;
}

/** One turn of one attack: what it may use, and what came back. All that it opens ends with the turn. */
export interface Attacker {
  readonly url: string;
  /** host:port */
  readonly host: string;
  readonly world: HostileWorld;
  readonly databaseUrl: string | null;
  readonly random: () => number;
  readonly goesOn: () => boolean;
  /** By status, close code or what else happened. */
  readonly outcomes: Record<string, number>;
  /** Ids of requests that had to fail: the server may log them as errors. */
  readonly expectedErrors: string[];
  count(outcome: string | number): void;
  /** As long as the turn lasts, with at most `most` at once. */
  paced(perSecond: number, most: number, attempt: (n: number) => Promise<unknown>): Promise<void>;
  /** The status, or undefined if the connection was ended. Bodies are read and dropped. */
  send(request: HostileRequest): Promise<number | undefined>;
  /** The same with the answer's text. */
  read(request: HostileRequest): Promise<{ status: number; text: string; cookie: string | undefined } | undefined>;
  /** A TCP connection to which anything may be written. */
  tcp(): Socket;
  /** A TCP connection after a WebSocket upgrade, read only by whoever resumes it. */
  upgraded(path: string): Promise<Socket>;
  webSocket(path: string): WebSocket;
  end(): Promise<void>;
}

export interface AttackerOptions {
  readonly url: string;
  readonly world: HostileWorld;
  readonly databaseUrl: string | null;
  readonly random: () => number;
  readonly goesOn: () => boolean;
}

const upgrade = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

export function createAttacker({ url, world, databaseUrl, random, goesOn }: AttackerOptions): Attacker {
  const agent = new Agent({ connections: 48, pipelining: 1, headersTimeout: 60_000, bodyTimeout: 60_000 });
  const endings: (() => void)[] = [];
  const outcomes: Record<string, number> = {};
  const { host } = new URL(url);

  function count(outcome: string | number): void {
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }

  async function request({ path, method = 'GET', headers = {}, body, address = strangerAddress }: HostileRequest) {
    try {
      const answer = await agent.request({
        origin: url,
        path,
        method,
        headers: { 'x-forwarded-for': address, ...headers },
        ...(body === undefined ? {} : { body }),
      });
      count(answer.statusCode);
      return answer;
    } catch {
      if (goesOn()) count('ended');
      return undefined;
    }
  }

  function tcp(allowHalfOpen = false): Socket {
    const socket = connect({ host: '127.0.0.1', port: Number(host.split(':')[1]), allowHalfOpen });
    socket.on('error', () => {});
    endings.push(() => socket.destroy());
    return socket;
  }

  return {
    url,
    host,
    world,
    databaseUrl,
    random,
    goesOn,
    outcomes,
    expectedErrors: [],
    count,
    paced: (perSecond, most, attempt) =>
      atPace({ perSecond, goesOn, most }, async (n) => {
        try {
          await attempt(n);
        } catch (error) {
          // A connection that the server has ended. Anything else is a fault of the attack.
          const isConnection = error instanceof Error && 'code' in error;
          if (goesOn()) count(isConnection ? 'ended' : `failed: ${error}`);
        }
      }),
    async send(options) {
      const answer = await request(options);
      await answer?.body.dump({ limit: 50_000_000 }).catch(() => {});
      return answer?.statusCode;
    },
    async read(options) {
      const answer = await request(options);
      const text = await answer?.body.text().catch(() => undefined);
      if (!answer || text === undefined) return undefined;
      const cookie = /^[^;]+/.exec(String(answer.headers['set-cookie'] ?? ''))?.[0];
      return { status: answer.statusCode, text, cookie };
    },
    tcp,
    async upgraded(path) {
      const socket = tcp(true);
      socket.write(requestBytes('GET', path, { ...upgrade, host, 'x-forwarded-for': strangerAddress }));
      await new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
      return socket.pause();
    },
    webSocket(path) {
      const socket = new WebSocket(`ws://${host}${path}`, { headers: { 'x-forwarded-for': developerAddress } });
      socket.on('error', () => {});
      socket.on('close', (code) => count(`close ${code}`));
      endings.push(() => socket.terminate());
      return socket;
    },
    async end() {
      for (const end of endings.splice(0)) end();
      if (!agent.destroyed) await agent.destroy();
    },
  };
}

/** Whether the connection is closed within so long. */
export function closed(socket: Socket, withinMs: number): Promise<boolean> {
  if (socket.destroyed) return Promise.resolve(true);
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, withinMs, false);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
