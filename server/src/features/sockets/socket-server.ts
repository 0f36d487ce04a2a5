import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WebSockets } from '../../platform/http/websocket.ts';
import type { Log } from '../../platform/log.ts';
import type { CloseReason } from './close-reasons.ts';
import { type Auth, type SocketCallbacks, SocketConnection } from './socket.ts';

export interface SocketServerParts {
  readonly webSockets: WebSockets;
  readonly log: Log;
  readonly subscribe: SocketCallbacks['subscribe'];
  readonly onRefused: SocketCallbacks['onRefused'];
  readonly onClose?: (connection: SocketConnection) => void;
  readonly maxUnauthenticated?: number;
}

/**
 * How many sockets may be open without being authenticated: enough for the 5,000 of a node that went away to come back
 * at once, and a bound on what a stranger's idle sockets cost (13 KiB each). Above it the oldest one is closed, because
 * honest clients authenticate at once.
 */
const defaultMaxUnauthenticated = 6000;

/** Accepts the sockets of one route, and closes them when the server closes. */
export function createSocketServer(instance: FastifyInstance, parts: SocketServerParts) {
  const { webSockets, log, onClose, maxUnauthenticated = defaultMaxUnauthenticated } = parts;
  const connections = new Set<SocketConnection>();
  /** In the order of arrival. */
  const unauthenticated = new Set<SocketConnection>();
  const callbacks: SocketCallbacks = {
    subscribe(auth, connection) {
      unauthenticated.delete(connection);
      return parts.subscribe(auth, connection);
    },
    onRefused: parts.onRefused,
    onError: (err) => log.warn({ err }, 'a socket could not be opened'),
    onClose(connection, code) {
      connections.delete(connection);
      unauthenticated.delete(connection);
      onClose?.(connection);
      const seconds = Math.round((performance.now() - connection.openedAt) / 1000);
      const { sessionId: request_id, subscriber } = connection;
      log.info({ request_id, code, seconds, for: subscriber?.options.slots.key }, 'socket closed');
    },
  };
  instance.addHook('preClose', async () => {
    for (const connection of connections) connection.close('restart');
  });
  return {
    /** `auth` is what the query said. Without it the first frame must authenticate. */
    accept(request: FastifyRequest, reply: FastifyReply, auth?: Auth | CloseReason): void {
      const connection = new SocketConnection(callbacks, webSockets.accept(request, reply), request.id, auth);
      connections.add(connection);
      if (auth !== undefined) return;
      unauthenticated.add(connection);
      const [oldest] = unauthenticated;
      if (oldest && unauthenticated.size > maxUnauthenticated) {
        unauthenticated.delete(oldest);
        oldest.close('no_auth');
      }
    },
  };
}
