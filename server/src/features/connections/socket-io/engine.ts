/**
 * The real Socket.IO behind our own routes. Invariants:
 *
 * - It is loaded when the first key is shown, and has no listener of its own: requests come from a route, and WebSockets
 *   are accepted as all others are (platform/http/websocket.ts).
 * - It sees no credential: of the address it gets only what the protocol needs.
 * - A client can join the main namespace and say that it lives. Whatever else it sends is ignored, or closes it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Socket as ProgramSocket, Server } from 'socket.io';
import type { WebSocket } from 'ws';
import { createServer } from '../../../platform/http/node-http.ts';

type EngineSocket = ProgramSocket['conn'];

export interface EngineCallbacks {
  /** Answers 101 for a request that `handleUpgrade` was called with. */
  readonly accept: (request: IncomingMessage) => WebSocket;
  /** The id of the session that a request opens. */
  readonly sessionId: (request: IncomingMessage) => string;
  readonly onSession: (request: IncomingMessage, session: EngineSocket) => void;
  readonly onJoin: (session: EngineSocket, program: ProgramSocket) => void;
}

/** What a client has to send: one packet of a few bytes, or its answer to a ping. */
export const maxPacketBytes = 4096;

const options = {
  path: '/socket.io',
  serveClient: false,
  // Both generations of the protocol.
  allowEIO3: true,
  maxHttpBufferSize: maxPacketBytes,
  httpCompression: false,
  perMessageDeflate: false,
  connectTimeout: 10_000,
  pingInterval: 25_000,
  pingTimeout: 10_000,
  upgradeTimeout: 10_000,
} as const;

export interface Engine {
  handleRequest(request: IncomingMessage, response: ServerResponse): void;
  handleUpgrade(request: IncomingMessage): void;
}

export async function loadEngine({ accept, sessionId, onSession, onJoin }: EngineCallbacks): Promise<Engine> {
  const socketIo: { Server: typeof Server } = await import('socket.io');
  /** In place of the server of `ws` that Engine.IO would make. */
  class OwnWebSockets {
    handleUpgrade(request: IncomingMessage, _socket: Duplex, _head: Buffer, opened: (socket: WebSocket) => void): void {
      opened(accept(request));
    }
    close(): void {}
  }
  // Attached to a server that never listens.
  const server = new socketIo.Server(createServer(), { ...options, wsEngine: OwnWebSockets });
  server.engine.generateId = sessionId;
  server.engine.on('connection', (session: EngineSocket) => {
    onSession(session.request, session);
    // Otherwise the first request stays in memory as long as the connection.
    Reflect.deleteProperty(session, 'request');
  });
  server.on('connection', (program) => onJoin(program.conn, program));
  return {
    handleRequest: (request, response) => server.engine.handleRequest(request, response),
    handleUpgrade: (request) => server.engine.handleUpgrade(request, request.socket, Buffer.alloc(0)),
  };
}
