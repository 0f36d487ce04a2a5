/** Requests to `/socket.io/`, and the answers to those that are refused: as Engine.IO words them, which clients know. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isWebSocketUpgrade } from '../../../platform/http/websocket.ts';
import type { CloseReason } from '../../sockets/index.ts';
import { maxPacketBytes } from './engine.ts';

/** Status, code and message. */
const refusals = {
  unknown_transport: [400, 0, 'Transport unknown'],
  unknown_session: [400, 1, 'Session ID unknown'],
  bad_method: [400, 2, 'Bad handshake method'],
  bad_request: [400, 3, 'Bad request'],
  too_large: [413, 3, 'Bad request'],
  wrong_key: [403, 4, 'Forbidden'],
  too_many: [429, 3, 'Too many connections'],
  restart: [503, 3, 'Restarting'],
} as const satisfies Record<string, readonly [number, number, string]>;
export type Refusal = keyof typeof refusals;

const retrySeconds = '5';

export function refuse(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const [status, code, message] = refusals[refusal];
  if (refusal === 'too_many' || refusal === 'restart') reply.header('retry-after', retrySeconds);
  return reply.code(status).send({ code, message });
}

/** The refusal of a connection that the stream engine closes or does not let in. */
export function refusalOf(reason: CloseReason): Refusal {
  if (reason === 'grant_ended') return 'wrong_key';
  return reason === 'too_many' ? 'too_many' : 'restart';
}

/** What is wrong with a request, whatever its key is. */
export function problemOf({ raw, method, headers }: FastifyRequest, query: URLSearchParams): Refusal | undefined {
  const transport = query.get('transport');
  if (transport !== 'polling' && transport !== 'websocket') return 'unknown_transport';
  if ((transport === 'websocket') !== isWebSocketUpgrade(raw)) return 'bad_request';
  if (method === 'POST' && !query.has('sid')) return 'bad_method';
  // Clients know the length of what they send.
  if (headers['transfer-encoding'] !== undefined) return 'bad_request';
  if (Number(headers['content-length'] ?? 0) > maxPacketBytes) return 'too_large';
  return undefined;
}

/**
 * A page of any origin may connect: what counts is the key in the address, and cookies mean nothing here. The origin is
 * named, and not `*`, because clients of the older generation ask with credentials.
 */
export const corsHeaders = ({ headers: { origin } }: FastifyRequest): Record<string, string> =>
  origin === undefined
    ? {}
    : {
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-allow-methods': 'GET, POST',
        'access-control-allow-headers': 'content-type',
        vary: 'origin',
      };

/** The parameters of the protocol, and none of ours: Engine.IO keeps and prints addresses. */
export function engineUrl(query: URLSearchParams): string {
  const known = ['EIO', 'transport', 'sid', 'b64'].flatMap((name) => {
    const value = query.get(name);
    return value === null ? [] : [[name, value]];
  });
  return `/socket.io/?${new URLSearchParams(known)}`;
}
