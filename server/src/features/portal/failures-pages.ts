import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { validationFailed } from '../../platform/http/http-error.ts';
import type { Pages } from '../accounts/index.ts';
import type { AppRow, FailurePosition, Failures } from '../apps/index.ts';
import { failuresPage } from './failures-views.ts';
import { failuresWords as words } from './failures-words.ts';
import type { View } from './views.ts';

export interface FailuresPagesParts {
  readonly pages: Pages;
  readonly failures: Failures;
  readonly viewOf: (request: FastifyRequest, reply: FastifyReply) => View;
  readonly ownedApp: (ownerId: string, clientId: string) => Promise<AppRow>;
}

const pageSize = 50;
interface AppRoute {
  Params: { clientId: string };
  /** A repeated parameter is an array. */
  Querystring: { before?: unknown };
}

export function failuresPages(scope: FastifyInstance, { pages, failures, viewOf, ownedApp }: FailuresPagesParts): void {
  scope.get<AppRoute>('/developers/apps/:clientId/failures', async (request, reply) => {
    const app = await ownedApp(pages.requireSession(request).creatorId, request.params.clientId);
    const before = readPosition(request.query.before);
    await failures.flush();
    const { entries, next } = await failures.page(app.id, before, pageSize);
    const view = viewOf(request, reply);
    return pages.show(request, reply, {
      title: words(view.lang)('title'),
      nav: 'developers',
      body: failuresPage(view, app, entries, { next, isFirst: before === null }),
    });
  });
}

/** The failure that the page begins after: its time and its id. */
function readPosition(before: unknown): FailurePosition | null {
  if (before === undefined) return null;
  const [, at, id] = (typeof before === 'string' && /^(\d{1,15})\.(req_\w{26})$/.exec(before)) || [];
  if (at === undefined || id === undefined)
    throw validationFailed({ field: 'before', message: 'must be the position of a failed request' });
  return { at: Number(at), id };
}
