import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../errors.ts';
import type { Limiter } from '../../platform/limiter/limiter.ts';
import { createPauses } from '../../platform/pauses.ts';
import { stylesheet } from '../../platform/web/blocks.ts';
import type { Pages } from '../accounts/index.ts';
import type { AppRow } from '../apps/index.ts';
import type { Grants } from '../oauth/index.ts';
import { countTracePage, type Traces, type TraceView, traceStyle } from '../trace/index.ts';
import { tracePage, traceResult } from './trace-views.ts';
import { traceWords as words } from './trace-words.ts';
import type { View } from './views.ts';

export interface TracePagesParts {
  readonly pages: Pages;
  readonly grants: Grants;
  readonly traces: Traces;
  readonly limiter: Limiter;
  readonly viewOf: (request: FastifyRequest, reply: FastifyReply) => View;
  readonly ownedApp: (ownerId: string, clientId: string) => Promise<AppRow>;
}

interface AppRoute {
  Params: { clientId: string };
  /** A repeated parameter is an array. */
  Querystring: { id?: unknown };
}

/** The way of a tip, as the app itself may read it. */
export function tracePages(scope: FastifyInstance, parts: TracePagesParts): void {
  const { pages, grants, traces, limiter, viewOf, ownedApp } = parts;
  const style = traceStyle(pages.assets);

  /** Nothing if the app may not read tips or events of that creator now. */
  async function find(clientId: string, id: string): Promise<TraceView | undefined> {
    const creatorId = await traces.creatorOf(id);
    if (creatorId === undefined) return undefined;
    const grant = (await grants.connections(creatorId)).find(({ client_id }) => client_id === clientId);
    if (!grant?.scope.split(' ').includes(id.startsWith('tip_') ? 'tips.read' : 'events.subscribe')) return undefined;
    const read = id.startsWith('tip_') ? traces.ofTip : traces.ofEvent;
    return read(creatorId, id, { clientId }).catch((error) => {
      if (error instanceof ApiError && error.code === 'not_found') return undefined;
      throw error;
    });
  }

  scope.get<AppRoute>('/developers/apps/:clientId/trace', async (request, reply) => {
    const { creatorId: ownerId } = pages.requireSession(request);
    const app = await ownedApp(ownerId, request.params.clientId);
    const view = viewOf(request, reply);
    const t = words(view.lang);
    const id = typeof request.query.id === 'string' ? request.query.id.trim() : '';
    if (id !== '') await countTracePage(limiter, ownerId);
    const found = id === '' ? undefined : await find(app.id, id);
    const happened = found ? await traceResult(view, found, createPauses(ownerId)) : '';
    const wrong = id !== '' && !found ? t('notFound') : undefined;
    return pages.show(request, reply, {
      status: wrong ? 404 : 200,
      title: t('title'),
      nav: 'developers',
      head: stylesheet(style()),
      body: tracePage(view, app, { id, wrong, happened }),
    });
  });
}
