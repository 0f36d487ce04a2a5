import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WebSockets } from '../../platform/http/websocket.ts';
import type { Log } from '../../platform/log.ts';
import type { CloseReason } from './close-reasons.ts';
import { EventSocket, type Hello, type SocketHost } from './socket.ts';

export interface SocketHostParts {
  readonly webSockets: WebSockets;
  readonly log: Log;
  readonly join: SocketHost['join'];
  readonly onClose?: (socket: EventSocket) => void;
  readonly mostWaiting?: number;
}

/**
 * How many may be open without having said who they are: room for the 5,000 of a node that went away to come back at
 * once, and a bound on what a stranger's idle sockets cost (13 KiB each). The one that has waited longest makes room,
 * because whoever means to speak does so at once.
 */
const mostWaitingHere = 6000;

/** Takes the sockets of one address in, and ends them when the server closes. */
export function createSocketHost(instance: FastifyInstance, parts: SocketHostParts) {
  const { webSockets, log, onClose, mostWaiting = mostWaitingHere } = parts;
  const sockets = new Set<EventSocket>();
  const waiting = new Set<EventSocket>();
  const host: SocketHost = {
    join(hello, socket) {
      waiting.delete(socket);
      return parts.join(hello, socket);
    },
    onError: (err) => log.warn({ err }, 'a socket could not be opened'),
    onClose(socket, code) {
      sockets.delete(socket);
      waiting.delete(socket);
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
    accept(request: FastifyRequest, reply: FastifyReply, hello?: Hello | CloseReason): void {
      const socket = new EventSocket(host, webSockets.accept(request, reply), request.id, hello);
      sockets.add(socket);
      if (hello !== undefined) return;
      waiting.add(socket);
      const [oldest] = waiting; // in the order they came
      if (oldest && waiting.size > mostWaiting) {
        waiting.delete(oldest);
        oldest.evict();
      }
    },
  };
}
