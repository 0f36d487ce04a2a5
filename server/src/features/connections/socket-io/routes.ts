/**
 * `/socket.io/`: programs that were written for Streamlabs' socket. Invariants:
 *
 * - A request without a good key costs at most the look-up of the key: its body is not read, and nothing is kept or loaded.
 * - A session is bound to its key: every further request of it must show the same.
 * - What Engine.IO is given has passed every check, so nothing of a stranger reaches it.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { queryOf } from '../../../platform/http/query.ts';
import { isWebSocketUpgrade, type WebSockets } from '../../../platform/http/websocket.ts';
import { hashSecret, sameHash } from '../../../platform/secrets.ts';
import type { ProgramConnection } from './connection.ts';
import { type Engine, loadEngine } from './engine.ts';
import { createPrograms, type ProgramsParts } from './programs.ts';
import { corsHeaders, engineUrl, problemOf, refusalOf, refuse } from './requests.ts';

export interface SocketIoRoutesParts extends ProgramsParts {
  readonly webSockets: WebSockets;
}

interface Session {
  readonly id: string;
  readonly connection: ProgramConnection;
  readonly keyHash: string;
}

/** A request that Engine.IO handles now, and the session that it belongs to. */
interface Handled {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly session: Session;
}

export function socketIoRoutes(instance: FastifyInstance, parts: SocketIoRoutesParts): void {
  const { webSockets, streamKeys } = parts;
  const programs = createPrograms(parts);
  const sessions = new Map<string, Session>();
  const handling = new WeakMap<IncomingMessage, Handled>();
  const joining = new WeakMap<object, ProgramConnection>();
  let engine: Promise<Engine> | undefined;

  function handled(raw: IncomingMessage): Handled {
    const found = handling.get(raw);
    if (!found) throw new Error('Engine.IO was given a request that nobody has checked');
    return found;
  }

  const load = (): Promise<Engine> =>
    loadEngine({
      accept(raw) {
        const { request, reply, session } = handled(raw);
        const accepted = webSockets.accept(request, reply);
        session.connection.onWebSocket(accepted);
        return accepted.webSocket;
      },
      sessionId: (raw) => handled(raw).session.id,
      onSession(raw, engineSocket) {
        const { session } = handled(raw);
        sessions.set(session.id, session);
        engineSocket.once('close', () => sessions.delete(session.id));
        joining.set(engineSocket, session.connection);
        session.connection.opened(engineSocket);
      },
      onJoin: (engineSocket, program) => joining.get(engineSocket)?.joined(program),
    });

  function handle(to: Engine, { request, reply, session }: Handled): void {
    const { raw } = request;
    raw.url = engineUrl(queryOf(request));
    handling.set(raw, { request, reply, session });
    if (isWebSocketUpgrade(raw)) {
      to.handleUpgrade(raw);
      reply.hijack();
      return;
    }
    // Engine.IO answers by itself.
    for (const [name, value] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value ?? '');
    reply.hijack();
    if (raw.method === 'GET') session.connection.onPoll(reply.raw);
    else session.connection.onPost(Number(raw.headers['content-length'] ?? 0));
    to.handleRequest(raw, reply.raw);
  }

  async function open(request: FastifyRequest, reply: FastifyReply, query: URLSearchParams): Promise<unknown> {
    const token = query.get('token') ?? '';
    const key = await streamKeys.find(token);
    if (!key) return refuse(reply, 'wrong_key');
    engine ??= load();
    const to = await engine;
    const connection = await programs.join({ token, key, isNamed: query.get('for') === 'streamlabs' }, request.id);
    if (typeof connection === 'string') return refuse(reply, refusalOf(connection));
    try {
      // The client may have gone meanwhile.
      if (request.raw.socket.destroyed) return reply.hijack();
      const session = { id: randomBytes(18).toString('base64url'), connection, keyHash: hashSecret(token) };
      handle(to, { request, reply, session });
      // Engine.IO makes the session in this iteration of the event loop, or not at all.
      await new Promise(setImmediate);
    } finally {
      connection.abandon();
    }
    return undefined;
  }

  async function resumeSession(request: FastifyRequest, reply: FastifyReply, query: URLSearchParams): Promise<unknown> {
    const session = sessions.get(query.get('sid') ?? '');
    if (!session || !engine) return refuse(reply, 'unknown_session');
    if (!sameHash(hashSecret(query.get('token') ?? ''), session.keyHash)) return refuse(reply, 'wrong_key');
    if (isWebSocketUpgrade(request.raw) && session.connection.hasWebSocket) return refuse(reply, 'bad_request');
    return handle(await engine, { request, reply, session });
  }

  async function onRequest(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    reply.headers({ 'cache-control': 'no-store', ...corsHeaders(request) });
    if (request.method === 'OPTIONS') return reply.code(204).send();
    const query = queryOf(request);
    const problem = problemOf(request, query);
    if (problem) return refuse(reply, problem);
    return query.has('sid') ? resumeSession(request, reply, query) : open(request, reply, query);
  }

  instance.route({
    method: ['GET', 'POST', 'OPTIONS'],
    url: '/socket.io/',
    exposeHeadRoute: false,
    // Before the body is read: Engine.IO reads it.
    onRequest,
    handler: (_request, reply) => refuse(reply, 'bad_request'),
  });
  instance.addHook('preClose', () => programs.closeAll());
}
