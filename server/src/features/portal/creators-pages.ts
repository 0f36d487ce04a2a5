import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { validationFailed } from '../../platform/http/http-error.ts';
import type { Pages } from '../accounts/index.ts';
import type { AppRow } from '../apps/index.ts';
import type { Grants } from '../oauth/index.ts';
import { accessWords as words } from './access-words.ts';
import { creatorsPage } from './creators-views.ts';
import type { View } from './views.ts';

export interface CreatorsPagesParts {
  readonly pages: Pages;
  readonly grants: Grants;
  readonly viewOf: (request: FastifyRequest, reply: FastifyReply) => View;
  readonly ownedApp: (ownerId: string, clientId: string) => Promise<AppRow>;
}

const pageSize = 25;
interface AppRoute {
  Params: { clientId: string };
  /** A repeated parameter is an array. */
  Querystring: { before?: unknown };
}

/** Who has connected the app. It shows what any token of that creator tells the app: the names of GET /v1/me. */
export function creatorsPages(scope: FastifyInstance, { pages, grants, viewOf, ownedApp }: CreatorsPagesParts): void {
  scope.get<AppRoute>('/developers/apps/:clientId/creators', async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const app = await ownedApp(creatorId, request.params.clientId);
    const before = readPosition(request.query.before);
    const found = await grants.connectedCreators(app.id, before, pageSize + 1);
    const shown = found.slice(0, pageSize);
    const next = found.length > pageSize ? (shown.at(-1)?.grant_id ?? null) : null;
    const view = viewOf(request, reply);
    const isFirst = before === null;
    const sandboxes = isFirst ? await grants.connectedSandboxes(creatorId, app.id) : [];
    return pages.show(request, reply, {
      title: words(view.lang)('creators'),
      nav: 'developers',
      body: creatorsPage(view, app, { creators: shown, sandboxes, next, isFirst }),
    });
  });
}

/** The grant that the page begins after. */
function readPosition(before: unknown): string | null {
  if (before === undefined) return null;
  if (typeof before === 'string' && /^grt_\w{26}$/.test(before)) return before;
  throw validationFailed({ field: 'before', message: 'must be the id of a grant' });
}
