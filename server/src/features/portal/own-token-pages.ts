import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Platform } from '../../platform/platform.ts';
import { formText } from '../../platform/web/form-body.ts';
import { limitPage } from '../../platform/web/page-limit.ts';
import type { Pages } from '../accounts/index.ts';
import type { AppRow } from '../apps/index.ts';
import { allScopes, type Grants } from '../oauth/index.ts';
import { accessWords as words } from './access-words.ts';

export interface OwnTokenParts extends Pick<Platform, 'limiter'> {
  readonly pages: Pages;
  readonly grants: Grants;
  readonly ownedApp: (ownerId: string, clientId: string) => Promise<AppRow>;
  readonly showApp: (
    request: FastifyRequest,
    reply: FastifyReply,
    app: AppRow,
    o: { token: { value: string; minutes: number }; status: number },
  ) => unknown;
}

/** Tokens of one developer. Each leaves a row that is kept for a month. */
const tokenLimit = { limit: 20, windowMs: 3_600_000 };

/** A token is a secret: it needs a recent sign-in, and is shown once. */
export function ownTokenPages(
  scope: FastifyInstance,
  { pages, grants, limiter, ownedApp, showApp }: OwnTokenParts,
): void {
  scope.post<{ Params: { clientId: string } }>('/developers/apps/:clientId/token', async (request, reply) => {
    const { creatorId } = pages.requireRecent(request);
    const app = await ownedApp(creatorId, request.params.clientId);
    await limitPage(limiter, `own-token:${creatorId}`, tokenLimit);
    const chosen = allScopes.filter((name) => formText(request, `scope.${name}`) !== '');
    const made = await grants.issueToOwner(creatorId, app.id, chosen);
    if (!made) {
      const text = words(pages.lang(request))('refused');
      return pages.redirect(reply, `/developers/apps/${app.id}`, { tone: 'error', text });
    }
    const token = { value: made.token, minutes: Math.floor(made.expiresIn / 60) };
    return showApp(request, reply, app, { token, status: 201 });
  });
}
