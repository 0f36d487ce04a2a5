import type { FastifyInstance } from 'fastify';
import { ApiError } from '../../errors.ts';
import type { Times } from '../../platform/web/format.ts';
import type { Pages } from '../accounts/index.ts';
import type { Grants, LastUsed } from '../oauth/index.ts';
import { appsView } from './apps-views.ts';
import { appsWords } from './words.ts';

export interface ConnectedAppsParts {
  readonly pages: Pages;
  readonly grants: Grants;
  readonly lastUsed: LastUsed;
  readonly times: Times;
}

export function connectedAppPages(
  scope: FastifyInstance,
  { pages, grants, lastUsed, times }: ConnectedAppsParts,
): void {
  scope.get('/dashboard/apps', async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    await lastUsed.flush();
    const [connections, lang] = [await grants.connections(creatorId), pages.lang(request)];
    const t = appsWords(lang);
    const csrf = pages.csrf(request, reply);
    return pages.show(request, reply, {
      title: t('title'),
      nav: 'apps',
      body: appsView(connections, { lang, csrf, times }),
    });
  });

  scope.post<{ Params: { clientId: string } }>('/dashboard/apps/:clientId/disconnect', async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const { clientId } = request.params;
    const connection = (await grants.connections(creatorId)).find((each) => each.client_id === clientId);
    if (!connection) throw new ApiError('not_found');
    await grants.revoke(creatorId, clientId, 'creator');
    const text = appsWords(pages.lang(request))('done', { app: connection.app_name });
    return pages.redirect(reply, '/dashboard/apps', { tone: 'ok', text });
  });
}
