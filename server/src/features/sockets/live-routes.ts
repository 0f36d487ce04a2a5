import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { ApiError, errorResponses } from '../../errors.ts';
import { onceClosed } from '../../platform/http/closed.ts';
import { Type } from '../../platform/http/type.ts';
import type { WebSockets } from '../../platform/http/websocket.ts';
import type { Log } from '../../platform/log.ts';
import { type AccessLookup, type Protect, protectedErrors, type TokenSubject, type Tokens } from '../oauth/index.ts';
import { type CloseReason, closeReasons } from './close-reasons.ts';
import { keepaliveSeconds } from './connection.ts';
import { ClientFrame, LastEventId, ServerFrame, SocketQuery } from './schemas.ts';
import { readAuth } from './socket.ts';
import { createSocketServer } from './socket-server.ts';
import { SseConnection } from './sse.ts';
import type { Streams } from './streams.ts';
import type { Subscriber, SubscriberOptions } from './subscriber.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The caller shows a socket token, in the query or in the first frame. */
    socketToken?: boolean;
  }
}

export interface LiveRoutesParts {
  readonly webSockets: WebSockets;
  readonly streams: Streams;
  readonly tokens: Tokens;
  readonly access: AccessLookup;
  readonly protect: Protect;
  readonly log: Log;
  readonly sandboxFrames: SandboxFrames;
}

/** Frames that were sent to an app for a sandbox creator: the welcome, and the events of one write. */
interface SentFrames extends Pick<TokenSubject, 'creatorId' | 'clientId'> {
  readonly kind: 'socket' | 'stream';
  readonly frames: number;
  /** The welcome of a client that has a position. */
  readonly resumed: boolean;
}

/** Resolves to the words of the close if the connection must be dropped. Never rejects. */
export type SandboxFrames = (sent: SentFrames) => Promise<string | undefined>;

/** The most sockets and streams of one app for one creator. */
const maxConnections = 50;

/** The two ways to get events as they happen: a WebSocket and Server-Sent Events. */
export function liveRoutes(
  instance: FastifyInstance,
  { streams, tokens, access, protect, log, webSockets, sandboxFrames }: LiveRoutesParts,
): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>();
  const socketServer = createSocketServer(instance, {
    webSockets,
    log,
    onRefused: streams.refused,
    async subscribe({ token, after }, connection) {
      const claims = await tokens.verify('socket', token);
      if (typeof claims === 'string') return 'bad_token';
      return streams.subscribe(forGrant('socket', claims, after), connection, after);
    },
  });

  app.route({
    method: 'GET',
    url: '/v1/socket',
    config: { checksItself: true, socketToken: true },
    schema: {
      operationId: 'openSocket',
      summary: 'Events as they happen, on a WebSocket',
      description: socketDescription,
      tags: ['Events'],
      querystring: SocketQuery,
      frames: { server: ServerFrame, client: ClientFrame },
      response: { 101: Type.Null({ description: 'The WebSocket is open' }), ...errorResponses('upgrade_required') },
    },
    // A bad query is answered with a close code: browsers hide the response of a failed upgrade.
    validatorCompiler: () => (value) => ({ value }),
    handler: (request, reply) => {
      const { token, after } = request.query;
      socketServer.accept(request, reply, token === undefined ? undefined : readAuth(token, after));
    },
  });

  app.route({
    method: 'GET',
    url: '/v1/events/stream',
    exposeHeadRoute: false,
    ...protect({ scope: 'events.subscribe', limit: 'read' }),
    schema: {
      operationId: 'streamEvents',
      summary: 'Events as they happen, as Server-Sent Events',
      description: streamDescription,
      tags: ['Events'],
      headers: LastEventId,
      response: {
        200: Type.String({ description: 'A stream that ends when the permission does' }),
        ...protectedErrors('events.subscribe', 'validation_failed', 'shutting_down'),
      },
      responseType: 'text/event-stream',
      responseExample: 'id: 1\ndata: {"id":"evt_01kaxk2t5v7f9sd3n8q6w4y0zr","type":"tip.created","sequence":1,…}\n\n',
    },
    handler: async (request, reply) => {
      const connection = new SseConnection(reply.raw, {
        ...textHeaders(reply.getHeaders()),
        'content-type': 'text/event-stream; charset=utf-8',
        'x-accel-buffering': 'no',
      });
      const after = request.headers['last-event-id'];
      const { subscriber, refusal } = streams.subscribe(forGrant('stream', request.grant, after), connection, after);
      onceClosed(reply.raw, () => subscriber.leave());
      const refused = (await refusal) ?? connection.refused;
      if (refused) throw refusalError(refused, /t=(\d+)/.exec(String(reply.getHeader('ratelimit')))?.[1] ?? '1');
      reply.hijack();
    },
  });

  instance.addHook('preClose', async () => streams.close());

  /** A connection of an app lasts as long as its grant, its token family and the scope. */
  function forGrant(kind: 'socket' | 'stream', subject: TokenSubject, after: number | undefined): SubscriberOptions {
    const { creatorId, clientId, familyId, scopes } = subject;
    let sandbox = false;
    let resumed = after !== undefined;
    return {
      creatorId,
      kind,
      clientId,
      slots: { key: `${clientId}:${creatorId}`, max: maxConnections },
      permission: {
        key: `${familyId} ${scopes.join(' ')}`,
        async isAllowed() {
          const now = await access(subject);
          sandbox = now !== undefined && now.sandboxOf !== null;
          if (now?.paused) return { closeText: 'chaos: revoked' };
          return now?.scopes.includes('events.subscribe') ?? false;
        },
      },
      onSent(subscriber, frames) {
        if (sandbox) void dropAsSandboxAsks(subscriber, { creatorId, clientId, kind, frames, resumed });
        resumed = false;
      },
    };
  }

  async function dropAsSandboxAsks(subscriber: Subscriber, sent: SentFrames): Promise<void> {
    const closeText = await sandboxFrames(sent);
    if (closeText === undefined) return;
    subscriber.closeText = closeText;
    subscriber.close('restart');
  }
}

/** A refusal as an error of the API. `retryAfter` is in seconds. */
function refusalError(reason: CloseReason, retryAfter: string): ApiError {
  if (reason === 'grant_ended') return new ApiError('grant_unusable');
  if (reason !== 'too_many') return new ApiError('shutting_down');
  return new ApiError('rate_limited', {
    message: `This app already has ${maxConnections} sockets and streams of this creator. Close one first.`,
    headers: { 'retry-after': retryAfter },
  });
}

const textHeaders = (headers: object): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

const socketDescription = [
  'JSON text frames. Either `?token=…&after=…` or, so that no token reaches a log, a first frame',
  '`{"type":"auth","token","after"}` within 10 seconds. `after` is the last sequence you have: what followed it is sent',
  'again, in order. A bad token never fails the upgrade: the socket opens and closes with its code.\n\n',
  'The frames are the schemas `ServerFrame` and `ClientFrame`.\n\n',
  `Close codes: ${Object.values(closeReasons)
    .map(({ code, reason }) => `${code} ${reason}`)
    .join(' · ')}.`,
].join(' ');

const streamDescription = [
  `\`id:\` is the sequence and \`data:\` the event on one line; a comment comes after ${keepaliveSeconds} seconds without an event.`,
  '`Last-Event-ID` resumes; without it only what happens from now on is sent. If what follows it is gone, the first event',
  `is \`event: reset\` with \`{oldest, sequence}\`. An app can have ${maxConnections} sockets and streams open for each creator.`,
].join(' ');
