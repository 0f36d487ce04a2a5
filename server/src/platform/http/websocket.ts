/**
 * WebSockets on Fastify's own server. Invariants:
 *
 * - An upgrade is routed like any request, so all hooks of its route run, and an unknown path is a 404.
 * - A route's handler accepts the upgrade with `accept`. An error thrown before that is an ordinary response, after
 *   which the connection is closed.
 * - Compression is off, so a frame can be built once and written to many sockets. The caller handles back-pressure.
 * - Nothing is written that the caller did not ask for: pings are the caller's to answer.
 * - Once a connection is closed by either side, what its client still sends is not parsed, and beyond a few KiB not
 *   even read.
 */
import { type IncomingHttpHeaders, type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { WebSocket, WebSocketServer } from 'ws';
import { createTurns } from '../turns.ts';
import { type HttpError, httpError } from './http-error.ts';
import { replaceReaders } from './pipelining.ts';

export interface AcceptedWebSocket {
  readonly webSocket: WebSocket;
  /** The TCP socket below, to which whole frames may be written. */
  readonly socket: Socket;
  /** Sends a close frame and ends the connection. The client has so many milliseconds to read what waits for it. */
  close(code: number, reason: string, withinMs: number): void;
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
  // Clients that were closed together are due together, and to destroy one takes 0.4 ms where its bytes are left unread.
  const inTurn = createTurns(1);
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
      parseInSlices(webSocket, socket);
      return acceptedWebSocket(webSocket, socket, inTurn);
    },
  };
}

/** Apart from `accept`: a function made there would hold request and reply in memory as long as the connection lives. */
function acceptedWebSocket(
  webSocket: WebSocket,
  socket: Socket,
  inTurn: (task: () => void) => void,
): AcceptedWebSocket {
  return {
    webSocket,
    socket,
    close(code, reason, withinMs) {
      webSocket.close(code, reason);
      hangUp(socket, withinMs, inTurn);
    },
  };
}

function parseInSlices(webSocket: WebSocket, socket: Socket): void {
  const parsers = replaceReaders(socket, (chunk) => {
    if (webSocket.readyState !== WebSocket.OPEN) {
      // The length of this chunk has closed the connection.
      if (chunk.length > maxIgnoredBytes) socket.pause();
      return free(chunk);
    }
    for (let at = 0; at < chunk.length && webSocket.readyState === WebSocket.OPEN; at += sliceBytes)
      for (const parse of parsers) Reflect.apply(parse, socket, [chunk.subarray(at, at + sliceBytes)]);
  });
}

/** Ends a connection whose close frame has been written. Reads on for a while: unread bytes would reset the connection. */
function hangUp(socket: Socket, withinMs: number, inTurn: (task: () => void) => void): void {
  let left = maxIgnoredBytes;
  replaceReaders(socket, (chunk) => {
    left -= chunk.length;
    if (left < 0) socket.pause();
    free(chunk);
  });
  socket.end();
  const timer = setTimeout(() => inTurn(() => socket.destroy()), withinMs);
  // Before `ws` hears of it, which would parse what is left unread.
  socket.prependOnceListener('close', () => {
    clearTimeout(timer);
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
