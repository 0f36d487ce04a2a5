import type { FastifyInstance } from 'fastify';
import { PageError } from '../../platform/web/page-error.ts';
import type { Pages } from '../accounts/index.ts';
import { SseConnection, type Streams } from '../sockets/index.ts';

/** The most dashboards of one creator that are open at once, over all nodes. */
const maxDashboards = 20;

/**
 * /dashboard/live: this creator's tips as Server-Sent Events, for as long as the session lives. Only a page of ours can
 * read it: the cookie is SameSite, and there is no CORS.
 */
export function liveRoute(scope: FastifyInstance, { pages, streams }: { pages: Pages; streams: Streams }): void {
  scope.get('/dashboard/live', { exposeHeadRoute: false }, async (request, reply) => {
    const { creatorId, id } = pages.requireSession(request);
    const connection = new SseConnection(reply.raw, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-accel-buffering': 'no',
      'x-request-id': request.id,
    });
    const { subscriber, refusal } = streams.subscribe(
      {
        creatorId,
        kind: 'stream',
        slots: { key: `dashboard:${creatorId}`, max: maxDashboards },
        permission: { key: `session:${id}`, isAllowed: () => pages.stillSignedIn(request) },
        wants: (type) => type === 'tip.created',
      },
      connection,
      undefined,
    );
    reply.raw.once('close', () => subscriber.leave());
    const refused = (await refusal) ?? connection.refused;
    if (refused) throw new PageError(refused === 'too_many' ? 429 : 502);
    reply.hijack();
  });
}
