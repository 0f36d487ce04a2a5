/** The subscribers: many sockets in a separate process, which also creates the events that they receive. */
import { setTimeout as delay } from 'node:timers/promises';
import { RawConnection, requestBytes } from '../../server/test/raw-http.ts';
import { at } from './at.ts';
import { answerCalls } from './calls.ts';
import { RawSocket } from './raw-socket.ts';
import { quantile } from './row.ts';

export interface OpenOptions {
  readonly port: number;
  /** One socket for each. */
  readonly paths: readonly string[];
  /** `namjai` waits for the welcome, `socket.io` sends a handshake, `ws` sends nothing. */
  readonly kind: 'namjai' | 'socket.io' | 'ws';
}

export interface TriggerOptions {
  readonly port: number;
  readonly path: string;
  readonly status: number;
  readonly tokens: readonly string[];
  readonly body: object;
}

const sockets: RawSocket[] = [];
let received = 0;
let onReceived = (): void => {};
const arrivals = new Map<string, number>();
let noteArrivals = false;

answerCalls({
  async open({ port, paths, kind }: OpenOptions): Promise<void> {
    // In small groups: a server's queue of waiting connections is short.
    for (let i = 0; i < paths.length; i += 50)
      await Promise.all(paths.slice(i, i + 50).map((path) => open(port, path, kind)));
  },

  /** Makes `count` events, some under way at once, and waits until every socket has got each. */
  async broadcast({ trigger, count, window }: { trigger: TriggerOptions; count: number; window: number }) {
    received = 0;
    const send = sender(trigger, window);
    await send.opened;
    const start = performance.now();
    await new Promise<void>((resolve) => {
      let made = 0;
      const next = (): void => {
        for (; made < count && made - Math.floor(received / sockets.length) < window; made += 1) send.one();
        if (received === count * sockets.length) resolve();
      };
      onReceived = next;
      next();
    });
    const seconds = (performance.now() - start) / 1000;
    onReceived = () => {};
    send.close();
    return { requests: received, seconds };
  },

  /** Creates events at a constant rate, and reports the time from each response to its frame. */
  async pace({ trigger, perSecond, seconds }: { trigger: TriggerOptions; perSecond: number; seconds: number }) {
    arrivals.clear();
    noteArrivals = true;
    const answers = new Map<string, number>();
    const send = sender(trigger, 16, (id) => answers.set(id, performance.now()));
    await send.opened;
    const start = performance.now();
    const all = Math.ceil(perSecond * seconds);
    for (let made = 0; made < all; ) {
      const due = Math.min(all, ((performance.now() - start) / 1000) * perSecond);
      for (; made < due; made += 1) send.one();
      await delay(1);
    }
    const deadline = performance.now() + 10_000;
    while ((answers.size < all || arrivals.size < all) && performance.now() < deadline) await delay(5);
    noteArrivals = false;
    send.close();
    const waits = [...answers].map(([id, answered]) => Math.max(0, (arrivals.get(id) ?? Number.NaN) - answered));
    if (waits.length < all || waits.some(Number.isNaN)) throw new Error('not every tip was answered and had its frame');
    return { count: waits.length, p50: quantile(waits, 0.5), p99: quantile(waits, 0.99), most: Math.max(...waits) };
  },

  close() {
    for (const socket of sockets.splice(0)) socket.close();
  },
});

function open(port: number, path: string, kind: OpenOptions['kind']): Promise<void> {
  return new Promise((resolve) => {
    const socket = new RawSocket(port, path);
    sockets.push(socket);
    socket.onText = (bytes, start, end) => {
      if (kind === 'socket.io') socketIo(socket, bytes[start], bytes[start + 1], resolve);
      else if (isEvent(bytes, start)) count(bytes, start, end);
      else resolve();
    };
    if (kind === 'ws') resolve();
  });
}

/** {"type":"event", against welcome and keepalive. */
const isEvent = (bytes: Buffer, start: number): boolean => bytes[start + 9] === 0x65;

function count(bytes: Buffer, start: number, end: number): void {
  received += 1;
  if (noteArrivals) {
    const id = /"tip":\{"id":"([^"]+)"/.exec(bytes.toString('latin1', start, end))?.[1];
    if (id !== undefined && !arrivals.has(id)) arrivals.set(id, performance.now());
  }
  if (received % sockets.length === 0) onReceived();
}

/** Engine.IO 4: 0 open, 2 ping, 4 message; in a message 0 connect, 2 event. */
function socketIo(socket: RawSocket, first: number | undefined, second: number | undefined, opened: () => void): void {
  const [zero, two, four] = [0x30, 0x32, 0x34];
  if (first === zero) socket.sendText('40');
  else if (first === two) socket.sendText('3');
  else if (first === four && second === zero) opened();
  else if (first === four && second === two) {
    received += 1;
    if (received % sockets.length === 0) onReceived();
  }
}

/** Sends one request for each event, over persistent connections. */
function sender({ port, path, status, tokens, body }: TriggerOptions, width: number, onId?: (id: string) => void) {
  const text = JSON.stringify(body);
  const requests = tokens.map((token) =>
    requestBytes('POST', path, { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, text),
  );
  const waiting: Buffer[] = [];
  const all = Array.from({ length: width }, () => new RawConnection(port));
  const free = [...all];
  for (const connection of all)
    connection.onAnswer = ({ status: got, bytes, bodyAt }) => {
      if (got !== status) throw new Error(`answered ${got}: ${bytes.toString('utf8', bodyAt)}`);
      if (onId) onId(/"id":"([^"]+)"/.exec(bytes.toString('latin1', bodyAt))?.[1] ?? '');
      const next = waiting.shift();
      if (next) connection.send(next);
      else free.push(connection);
    };
  let next = 0;
  return {
    opened: Promise.all(all.map((connection) => connection.opened())),
    one(): void {
      const request = at(requests, next++ % requests.length);
      const connection = free.pop();
      if (connection) connection.send(request);
      else waiting.push(request);
    },
    close: () => {
      for (const connection of all) connection.close();
    },
  };
}
