import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { errorResponses } from '../../errors.ts';
import { Type } from '../../platform/http/type.ts';
import type { WebSockets } from '../../platform/http/websocket.ts';
import type { Log } from '../../platform/log.ts';
import { type AccessLookup, type Protect, protectedErrors, type Tokens } from '../oauth/index.ts';
import { closeReasons } from './close-reasons.ts';
import { forGrant, refusalError } from './connections.ts';
import { LastEventId, SocketQuery } from './schemas.ts';
import { readHello } from './socket.ts';
import { createSocketHost } from './socket-host.ts';
import { EventStream } from './sse.ts';
import type { Streams } from './streams.ts';

export interface LiveRoutesParts {
  readonly webSockets: WebSockets;
  readonly streams: Streams;
  readonly tokens: Tokens;
  readonly access: AccessLookup;
  readonly protect: Protect;
  readonly log: Log;
}

/** The two ways to get events as they happen. */
export function liveRoutes(
  instance: FastifyInstance,
  { streams, tokens, access, protect, log, webSockets }: LiveRoutesParts,
): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>();
  const host = createSocketHost(instance, {
    webSockets,
    log,
    async join({ token, after }, wire) {
      const claims = await tokens.verify('socket', token);
      if (typeof claims === 'string') return 'bad_token';
      return streams.open(forGrant('socket', claims, access), wire, after);
    },
  });

  app.route({
    method: 'GET',
    url: '/v1/socket',
    schema: {
      operationId: 'openSocket',
      summary: 'Events as they happen, on a WebSocket',
      description: socketDescription,
      tags: ['Events'],
      querystring: SocketQuery,
      response: { 101: Type.Null({ description: 'The WebSocket is open' }), ...errorResponses('upgrade_required') },
    },
    // Whatever is wrong with the query is told by a close code: a failed upgrade tells a browser nothing.
    validatorCompiler: () => (value) => ({ value }),
    handler: (request, reply) => {
      const { token, after } = request.query;
      host.accept(request, reply, token === undefined ? undefined : readHello(token, after));
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
      const wire = new EventStream(reply.raw, {
        ...textHeaders(reply.getHeaders()),
        'content-type': 'text/event-stream; charset=utf-8',
        'x-accel-buffering': 'no',
      });
      const after = request.headers['last-event-id'];
      const { member, opened } = streams.open(forGrant('stream', request.grant, access), wire, after);
      reply.raw.once('close', () => member.leave());
      const refused = (await opened) ?? wire.refused;
      if (refused) throw refusalError(refused, /t=(\d+)/.exec(String(reply.getHeader('ratelimit')))?.[1] ?? '1');
      reply.hijack();
    },
  });

  instance.addHook('preClose', async () => streams.close());
}

const textHeaders = (headers: object): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

const socketDescription = [
  'JSON text frames. Either `?token=…&after=…` or, so that no token reaches a log, a first frame',
  '`{"type":"auth","token","after"}` within 10 seconds. `after` is the last sequence you have: what followed it is sent',
  'again, in order. A bad token never fails the upgrade: the socket opens and closes with its code.\n\n',
  'Frames: `welcome` `{session_id, keepalive_seconds, sequence, oldest, resumed, replayed}`, `event` `{event}`,',
  '`keepalive` (also the answer to `{"type":"ping"}`), `reconnect` `{after_ms}`: the server is going away, open a new',
  'connection.\n\n',
  `Close codes: ${Object.values(closeReasons)
    .map(({ code, reason }) => `${code} ${reason}`)
    .join(' · ')}.`,
].join(' ');

const streamDescription = [
  '`id:` is the sequence and `data:` the event on one line; a comment comes every 25 seconds. `Last-Event-ID` resumes;',
  'without it only what happens from now on is sent. If what follows it is gone, the first event is `event: reset` with',
  '`{oldest, sequence}`. An app can have 50 sockets and streams open for each creator.',
].join(' ');
