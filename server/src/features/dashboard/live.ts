import type { FastifyInstance } from 'fastify';
import { PageError } from '../../platform/web/page-error.ts';
import type { Pages } from '../accounts/index.ts';
import { EventStream, type Streams } from '../sockets/index.ts';

/** Dashboards of one creator that are open at once, over all nodes. */
const mostDashboards = 20;

/**
 * /dashboard/live: this creator's tips as Server-Sent Events, for as long as the session lives. Only a page of ours can
 * read it: the cookie is SameSite, and there is no CORS.
 */
export function liveRoute(scope: FastifyInstance, { pages, streams }: { pages: Pages; streams: Streams }): void {
  scope.get('/dashboard/live', { exposeHeadRoute: false }, async (request, reply) => {
    const { creatorId, id } = pages.requireSession(request);
    const wire = new EventStream(reply.raw, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-accel-buffering': 'no',
      'x-request-id': request.id,
    });
    const { member, opened } = streams.open(
      {
        creatorId,
        kind: 'stream',
        slot: { key: `dashboard:${creatorId}`, most: mostDashboards },
        pass: { key: `session:${id}`, allowed: () => pages.stillSignedIn(request) },
        wants: (type) => type === 'tip.created',
      },
      wire,
      undefined,
    );
    reply.raw.once('close', () => member.leave());
    const refused = (await opened) ?? wire.refused;
    if (refused) throw new PageError(refused === 'too_many' ? 429 : 502);
    reply.hijack();
  });
}
