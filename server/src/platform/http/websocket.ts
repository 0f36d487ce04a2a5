/**
 * WebSockets on Fastify's own server. Invariants:
 *
 * - An upgrade is routed like any request, so all hooks of its route run, and an unknown path is a 404.
 * - A route's handler accepts the upgrade with `accept`. An error thrown before that is an ordinary response, after
 *   which the connection is closed.
 * - Compression is off, so a frame can be built once and written to many sockets. The caller handles back-pressure.
 * - Nothing is written that the caller did not ask for: pings are the caller's to answer.
 * - What clients send is parsed in rotation between addresses, 2 KiB of a connection at a time. If thousands of clients
 *   send at once, each a token to verify or a frame that closes its connection, everybody else waits for a few of them
 *   only. Bytes that wait are put back into the stream. If the client ends the connection, that is read after them.
 * - Once a connection is closed by either side, what its client still sends is not parsed, and beyond a few KiB not
 *   even read.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { WebSocket, WebSocketServer } from 'ws';
import { networkOf } from '../addresses.ts';
import { createPacer } from '../pacer.ts';
import { type HttpError, httpError } from './http-error.ts';
import { ServerResponse } from './node-http.ts';
import { createRequestQueue, type RequestQueue, type RequestSource } from './request-queue.ts';
import { putBack, replaceReaders, resumeReading } from './socket-reading.ts';

export interface AcceptedWebSocket {
  readonly webSocket: WebSocket;
  /** The TCP socket below, to which whole frames may be written. */
  readonly socket: Socket;
  /** The caller sets it. Called with the length of what has come, before it is parsed, and may close the connection. */
  onBytes: (length: number) => void;
  /** Sends a close frame and ends the connection. The client has so many milliseconds to read what waits for it. */
  close(code: number, reason: string, withinMs: number): void;
  /** The same when it is this client's turn. Until then nothing more of it is parsed, and the caller writes nothing. */
  closePaced(code: number, reason: string, withinMs: number): void;
}

export interface WebSockets {
  /** Answers 101. Throws 426 if the request is not a WebSocket upgrade. */
  accept(request: FastifyRequest, reply: FastifyReply): AcceptedWebSocket;
}

export interface WebSocketOptions {
  /** In bytes. A longer message closes the connection. */
  readonly maxPayload: number;
  /** How long the client may take to answer a close frame, in milliseconds. */
  readonly closeTimeout: number;
  /** The close code for violations of the protocol: too long, not UTF-8, not a frame. */
  readonly badFrame: number;
}

/**
 * For `shouldUpgradeCallback` of the HTTP server. Requests with other upgrades (h2c, …), or with a body, are served
 * without them.
 */
export const isWebSocketUpgrade = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && !hasBody(headers);

const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';

const protocolErrors = [1002, 1003, 1007, 1009];

/** How much is still read of a client after the close frame. */
const maxIgnoredBytes = 16 * 1024;
/** How much of a connection is parsed in one turn: a frame with a token, or 340 pings. */
const turnBytes = 2048;
/** Bytes are parsed in slices of this size, so that frames after one that closes the connection are mostly not parsed. */
const sliceBytes = 512;

export function useWebSockets(app: FastifyInstance, options: WebSocketOptions): WebSockets {
  const pendingUpgrades = new WeakMap<IncomingMessage, { socket: Socket; head: Buffer }>();
  /** Replaces the close codes that `ws` sends on protocol violations. */
  class BadFrameWebSocket extends WebSocket {
    override close(code?: number, reason?: string): void {
      super.close(code !== undefined && protocolErrors.includes(code) ? options.badFrame : code, reason);
    }
  }
  const serverOptions = {
    ...options,
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
  };
  const server = new WebSocketServer({ ...serverOptions, WebSocket: BadFrameWebSocket });
  const queues: SharedQueues = { frames: createRequestQueue((source) => source), destroyPaced: createPacer(1) };
  // Without a listener `ws` writes a response of its own.
  server.on('wsClientError', () => {});

  app.server.on('upgrade', (request: IncomingMessage, duplex: Duplex, head: Buffer) => {
    const socket = duplex as Socket;
    socket.on('error', destroy);
    // Node has taken its own listener away. A client that does not read an answer is cut off like any other.
    socket.setTimeout(app.server.timeout).on('timeout', destroy);
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    pendingUpgrades.set(request, { socket, head });
    app.routing(request, response);
  });

  return {
    accept(request, reply) {
      const upgrade = pendingUpgrades.get(request.raw);
      pendingUpgrades.delete(request.raw);
      if (!upgrade) throw upgradeRequired();
      const { socket, head } = upgrade;
      let webSocket: WebSocket | undefined;
      const addHeaders = (headers: string[]) => {
        headers.push(`X-Request-Id: ${request.id}`, 'X-Content-Type-Options: nosniff', 'Cache-Control: no-store');
        // Of a route that counts its requests.
        for (const name of ['RateLimit-Policy', 'RateLimit'])
          if (reply.hasHeader(name)) headers.push(`${name}: ${reply.getHeader(name)}`);
      };
      reply.raw.detachSocket(socket);
      server.once('headers', addHeaders);
      server.handleUpgrade(request.raw, socket, head, (opened) => {
        webSocket = opened;
      });
      server.off('headers', addHeaders);
      if (!webSocket) {
        reply.raw.assignSocket(socket);
        throw upgradeRequired();
      }
      socket.off('error', destroy).off('timeout', destroy).setTimeout(0);
      reply.hijack();
      return new Accepted(webSocket, socket, networkOf(request.ip), queues);
    },
  };
}

interface SharedQueues {
  readonly frames: RequestQueue<RequestSource>;
  /** Clients that were closed together are due together, and to destroy one takes 0.4 ms where its bytes are left unread. */
  readonly destroyPaced: (task: () => void) => void;
}

/** Holds neither request nor reply, which would be in memory as long as the connection lives. */
class Accepted implements AcceptedWebSocket {
  readonly webSocket: WebSocket;
  readonly socket: Socket;
  onBytes: (length: number) => void = () => {};
  readonly #source: RequestSource;
  readonly #queues: SharedQueues;
  /** Those of `ws`. */
  readonly #parsers: ReturnType<typeof replaceReaders>;
  #waits = false;
  #hasTurn = false;
  #isClosing = false;

  constructor(webSocket: WebSocket, socket: Socket, address: string, queues: SharedQueues) {
    this.webSocket = webSocket;
    this.socket = socket;
    this.#source = { address, credential: '' };
    this.#queues = queues;
    this.#parsers = replaceReaders(socket, (chunk) => this.#read(chunk));
    // Before `ws` hears of it, which would parse all that is left unread.
    socket.prependOnceListener('close', freeUnread);
  }

  close(code: number, reason: string, withinMs: number): void {
    this.#ignoreRest();
    this.webSocket.close(code, reason);
    this.socket.end();
    const timer = setTimeout(() => this.#queues.destroyPaced(() => this.socket.destroy()), withinMs);
    this.socket.once('close', () => clearTimeout(timer));
  }

  closePaced(code: number, reason: string, withinMs: number): void {
    this.#ignoreRest();
    this.#queues.frames.enter(this.#source, () => {
      if (!this.socket.destroyed) this.close(code, reason, withinMs);
    });
  }

  get #isOpen(): boolean {
    return !this.#isClosing && this.webSocket.readyState === WebSocket.OPEN;
  }

  #read(chunk: Buffer): void {
    if (this.#waits) return void putBack(this.socket, chunk);
    if (!this.#hasTurn) {
      if (this.#isOpen) this.onBytes(chunk.length);
      // The length of this chunk has closed the connection.
      if (!this.#isOpen) return void this.#ignore(chunk);
      this.#queues.frames.enter(this.#source, this.#takeTurn);
      if (!this.#hasTurn) return void this.#wait(chunk);
    }
    this.#hasTurn = false;
    this.#parse(chunk.length > turnBytes ? chunk.subarray(0, turnBytes) : chunk);
    if (chunk.length <= turnBytes || !this.#isOpen) return;
    this.#wait(chunk.subarray(turnBytes));
    setImmediate(() => this.#queues.frames.enter(this.#source, this.#takeTurn));
  }

  #wait(bytes: Buffer): void {
    this.#waits = true;
    putBack(this.socket, bytes);
  }

  /** In the queue this is the turn of the bytes that wait, or, at once, of those that are being read. */
  readonly #takeTurn = (): void => {
    this.#hasTurn = true;
    if (!this.#waits) return;
    this.#waits = false;
    if (!this.socket.destroyed) resumeReading(this.socket);
  };

  /** The answers to what is parsed together are written together. */
  #parse(bytes: Buffer): void {
    this.socket.cork();
    for (let at = 0; at < bytes.length && this.#isOpen; at += sliceBytes)
      for (const parser of this.#parsers) Reflect.apply(parser, this.socket, [bytes.subarray(at, at + sliceBytes)]);
    this.socket.uncork();
  }

  /** From now on nothing is parsed. Reads on for a while: unread bytes would reset the connection when it is closed. */
  #ignoreRest(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    let left = maxIgnoredBytes;
    replaceReaders(this.socket, (chunk) => {
      left -= chunk.length;
      if (left < 0) this.socket.pause();
      free(chunk);
    });
  }

  #ignore(chunk: Buffer): void {
    if (chunk.length > maxIgnoredBytes) this.socket.pause();
    free(chunk);
  }
}

function freeUnread(this: Socket): void {
  const unread: Buffer | null = this.readableLength > 0 ? this.read(this.readableLength) : null;
  if (unread) free(unread);
}

/**
 * Frees the memory of a chunk that nobody needs. V8 would count it until it is collected: floods of 64 KiB each made it
 * collect the whole heap twice a second, 10 ms each time.
 */
function free({ buffer, length }: Buffer): void {
  // Short chunks share theirs.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0);
}

function destroy(this: Socket): void {
  this.destroy();
}

/** RFC 9110, section 15.5.22, and RFC 6455, section 4.4. */
const upgradeRequired = (): HttpError =>
  httpError('upgrade_required', {
    headers: { upgrade: 'websocket', connection: 'upgrade, close', 'sec-websocket-version': '13' },
  });
