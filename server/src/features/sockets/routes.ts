import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { toTimestamp } from '../../platform/clock.ts';
import { Type } from '../../platform/http/type.ts';
import { type EventLog, eventExample } from '../events/index.ts';
import { formatScopes, protectedErrors, socketSeconds } from '../oauth/index.ts';
import { EncodedEvents } from './encoded-events.ts';
import { type LiveRoutesParts, liveRoutes } from './live-routes.ts';
import { EventPage, EventQuery, SocketToken } from './schemas.ts';

export interface SocketRoutesParts extends LiveRoutesParts {
  readonly events: EventLog;
  readonly baseUrl: string;
}

export function socketRoutes(instance: FastifyInstance, parts: SocketRoutesParts): void {
  const { events, tokens, protect, baseUrl } = parts;
  liveRoutes(instance, parts);
  const app = instance.withTypeProvider<TypeBoxTypeProvider>();
  const url = `${baseUrl.replace(/^http/, 'ws')}/v1/socket`;

  app.route({
    method: 'GET',
    url: '/v1/socket/token',
    ...protect({ scope: 'events.subscribe', limit: 'read' }),
    schema: {
      operationId: 'getSocketToken',
      summary: 'A token for the event socket',
      description: 'Valid for ten minutes. It opens any number of connections, and an open one outlives it.',
      tags: ['Events'],
      response: { 200: SocketToken, ...protectedErrors('events.subscribe') },
      responseExample: {
        socket_token: 'eyJhbGciOiJFUzI1NiIsInR5cCI6InNvY2tldCtqd3QifQ…',
        expires_in: socketSeconds,
        expires_at: '2026-11-15T04:10:00.000Z',
        url: 'wss://tips.example/v1/socket',
      },
    },
    handler: async ({ grant }) => {
      const { token, expiresAt } = await tokens.issue('socket', { ...grant, scope: formatScopes(grant.scopes) });
      return { socket_token: token, expires_in: socketSeconds, expires_at: toTimestamp(expiresAt), url };
    },
  });

  app.route({
    method: 'GET',
    url: '/v1/events',
    ...protect({ scope: 'events.subscribe', limit: 'read' }),
    schema: {
      operationId: 'listEvents',
      summary: 'The event log',
      description: 'Ascending by sequence. Events are kept 30 days.',
      tags: ['Events'],
      querystring: EventQuery,
      response: {
        200: Type.Unsafe<Buffer>({ ...EventPage }),
        ...protectedErrors('events.subscribe', 'validation_failed'),
      },
      responseExample: {
        data: [eventExample('tip.created')],
        next_after: 1,
        oldest: 1,
      },
    },
    // The handler sends text, so only errors are serialized: no serializer is built for the union of event types.
    serializerCompiler: () => (error) => JSON.stringify(error),
    handler: async ({ grant, query: { after = 0, limit = 50 } }, reply) => {
      const [list, oldest] = await Promise.all([
        events.rawAfter(grant.creatorId, after, limit),
        events.oldest(grant.creatorId),
      ]);
      const next = list.at(-1)?.sequence ?? after;
      // The stored bytes are passed on as they are.
      return reply
        .type('application/json; charset=utf-8')
        .send(new EncodedEvents(list).inJson('{"data":[', `],"next_after":${next},"oldest":${oldest}}`));
    },
  });
}
