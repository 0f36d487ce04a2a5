import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WebSockets } from '../../platform/http/websocket.ts';
import type { Log } from '../../platform/log.ts';
import type { End } from './ends.ts';
import { EventSocket, type Hello, type SocketHost } from './socket.ts';

export interface SocketHostParts {
  readonly webSockets: WebSockets;
  readonly log: Log;
  readonly join: SocketHost['join'];
  readonly onClose?: (socket: EventSocket) => void;
}

/** Takes the sockets of one address in, and ends them when the server closes. */
export function createSocketHost(instance: FastifyInstance, { webSockets, log, join, onClose }: SocketHostParts) {
  const sockets = new Set<EventSocket>();
  const host: SocketHost = {
    join,
    onError: (err) => log.warn({ err }, 'a socket could not be opened'),
    onClose(socket, code) {
      sockets.delete(socket);
      onClose?.(socket);
      const seconds = Math.round((performance.now() - socket.openedAt) / 1000);
      const { sessionId: request_id, member } = socket;
      log.info({ request_id, code, seconds, for: member?.options.slot.key }, 'socket closed');
    },
  };
  instance.addHook('preClose', async () => {
    for (const socket of sockets) socket.end('restart');
  });
  return {
    /** `hello`: what the query said; with nothing said there, the first frame must. */
    accept(request: FastifyRequest, reply: FastifyReply, hello?: Hello | End): void {
      sockets.add(new EventSocket(host, webSockets.accept(request, reply), request.id, hello));
    },
  };
}
