import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Platform } from '../../platform/platform.ts';
import { button, card, copyable, notice } from '../../platform/web/blocks.ts';
import { formText } from '../../platform/web/form-body.ts';
import { checkbox, form } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import { limitPage } from '../../platform/web/page-limit.ts';
import type { Pages } from '../accounts/index.ts';
import type { AppRow } from '../apps/index.ts';
import { allScopes, type Grants, knownScopes, scopes } from '../oauth/index.ts';
import { accessWords as words } from './access-words.ts';
import { meExample } from './examples.ts';
import { code, type View } from './views.ts';

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

/** `granted`: the scopes of the live grant, if there is one. `token` is set only right after it was made. */
export function ownTokenCard(
  { lang, csrf, baseUrl }: View,
  app: AppRow,
  granted: string | undefined,
  token?: { value: string; minutes: number },
): Html {
  if (app.suspended_at !== null) return '';
  const t = words(lang);
  if (token)
    return card({
      title: t('ownToken'),
      id: 'own-token',
      body: html`!${notice('ok', t('made'))}
!${copyable({ id: 'access-token', label: t('token'), value: token.value, copy: t('copy'), copied: t('copied') })}
<p><strong>${t('tokenShown', { minutes: token.minutes })}</strong></p>
<p>${t('tryIt')}</p>!${code(meExample(baseUrl, token.value))}<p class="hint">${t('disconnect')}</p>`,
    });
  // A new token of a public app changes no other token.
  const replaced = app.public === 1 ? undefined : granted;
  const ticked = replaced === undefined ? allScopes : knownScopes(replaced);
  const fields = allScopes.map((scope) =>
    checkbox({
      name: `scope.${scope}`,
      label: scope,
      hint: scopes[scope].consent[lang][0],
      checked: ticked.includes(scope),
    }),
  );
  return card({
    title: t('ownToken'),
    intro: t('ownTokenIntro'),
    id: 'own-token',
    body: form({
      action: `/developers/apps/${app.id}/token`,
      csrf,
      body: html`<fieldset><legend>${t('scopes')}</legend>!${fields}</fieldset>
!${replaced === undefined ? '' : html`<p class="hint">${t('scopesReplace')}</p>`}
<div class="actions">!${button(t('make'), { kind: 'plain' })}</div>`,
    }),
  });
}

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
