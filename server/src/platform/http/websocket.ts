/**
 * WebSockets on Fastify's own server. Invariants:
 *
 * - An upgrade is routed like any request, so all hooks of its route run, and an unknown path is a 404.
 * - A route's handler accepts the upgrade with `accept`. An error thrown before that is an ordinary response, after
 *   which the connection is closed.
 * - Compression is off, so a frame can be built once and written to many sockets. The caller handles back-pressure.
 * - Nothing is written that the caller did not ask for: pings are the caller's to answer.
 * - What clients send is parsed in rotation between addresses, as requests are: thousands that send at once, each a token
 *   to be verified or a frame that closes its connection, delay the others by a few of them.
 * - Once a connection is closed by either side, what its client still sends is not parsed, and beyond a few KiB not
 *   even read.
 */
import { type IncomingHttpHeaders, type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { WebSocket, WebSocketServer } from 'ws';
import { networkOf } from '../addresses.ts';
import { createTurns } from '../turns.ts';
import { type HttpError, httpError } from './http-error.ts';
import { replaceReaders } from './pipelining.ts';
import { createRequestQueue, type RequestQueue, type RequestSource } from './request-queue.ts';

export interface AcceptedWebSocket {
  readonly webSocket: WebSocket;
  /** The TCP socket below, to which whole frames may be written. */
  readonly socket: Socket;
  /** Sends a close frame and ends the connection. The client has so many milliseconds to read what waits for it. */
  close(code: number, reason: string, withinMs: number): void;
  /** The same when it is this client's turn. Until then nothing more of it is parsed, and the caller writes nothing. */
  closeInTurn(code: number, reason: string, withinMs: number): void;
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
/** A chunk of 64 KiB can hold 10,000 frames. Of a connection that its first frame closes, the others are not parsed. */
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
  const turns: Turns = { frames: createRequestQueue((source) => source), destroyInTurn: createTurns(1) };
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
      return acceptedWebSocket(webSocket, socket, turns, networkOf(request.ip));
    },
  };
}

/** Apart from `accept`: a function made there would hold request and reply in memory as long as the connection lives. */
function acceptedWebSocket(
  webSocket: WebSocket,
  socket: Socket,
  { frames, destroyInTurn }: Turns,
  address: string,
): AcceptedWebSocket {
  const inTurn = (task: () => void) => frames.enter({ address, credential: '' }, task);
  let isClosing = false;
  parseInTurn(socket, inTurn, () => !isClosing && webSocket.readyState === WebSocket.OPEN);
  const close: AcceptedWebSocket['close'] = (code, reason, withinMs) => {
    webSocket.close(code, reason);
    hangUp(socket, withinMs, destroyInTurn);
  };
  return {
    webSocket,
    socket,
    close,
    closeInTurn(...how) {
      isClosing = true;
      ignoreRest(socket);
      inTurn(() => {
        if (!socket.destroyed) close(...how);
      });
    },
  };
}

interface Turns {
  readonly frames: RequestQueue<RequestSource>;
  /** Clients that were closed together are due together, and to destroy one takes 0.4 ms where its bytes are left unread. */
  readonly destroyInTurn: (task: () => void) => void;
}

function parseInTurn(socket: Socket, inTurn: (task: () => void) => void, isOpen: () => boolean): void {
  const parse = (chunk: Buffer): void => {
    for (let at = 0; at < chunk.length && isOpen(); at += sliceBytes)
      for (const parser of parsers) Reflect.apply(parser, socket, [chunk.subarray(at, at + sliceBytes)]);
  };
  const parsers = replaceReaders(socket, (chunk) => {
    if (!isOpen()) {
      // The length of this chunk has closed the connection.
      if (chunk.length > maxIgnoredBytes) socket.pause();
      return free(chunk);
    }
    // Paused while it waits, so that no more than this chunk is held.
    socket.pause();
    inTurn(() => {
      socket.resume();
      parse(chunk);
    });
  });
}

/** Ends a connection whose close frame has been written. */
function hangUp(socket: Socket, withinMs: number, inTurn: (task: () => void) => void): void {
  ignoreRest(socket);
  socket.end();
  const timer = setTimeout(() => inTurn(() => socket.destroy()), withinMs);
  socket.once('close', () => clearTimeout(timer));
}

/** From now on nothing is parsed. Reads on for a while: unread bytes would reset the connection when it is closed. */
function ignoreRest(socket: Socket): void {
  let left = maxIgnoredBytes;
  replaceReaders(socket, (chunk) => {
    left -= chunk.length;
    if (left < 0) socket.pause();
    free(chunk);
  });
  // Before `ws` hears of it, which would parse what is left unread.
  socket.prependOnceListener('close', () => {
    const unread: Buffer | null = socket.read();
    if (unread) free(unread);
  });
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
