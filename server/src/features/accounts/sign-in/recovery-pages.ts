import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { button, card, notice } from '../../../platform/web/blocks.ts';
import { formText } from '../../../platform/web/form-body.ts';
import { field, form } from '../../../platform/web/forms.ts';
import { type Html, html } from '../../../platform/web/html.ts';
import { visitorOf } from '../../../platform/web/pages.ts';
import type { AccountPagesParts } from '../pages.ts';
import { AccountError } from '../rules.ts';
import { keepPace } from './pace.ts';
import { entryWords } from './words.ts';

/** /login/recovery: a code and a new password, in one step, so that nobody is let in halfway. */
export function recoveryPages(scope: FastifyInstance, { pages, accounts, recovery, limiter }: AccountPagesParts): void {
  interface Told {
    status?: number;
    username?: string;
    code?: string;
    errors?: { code?: string; password?: string };
    notice?: Html;
  }

  function showForm(request: FastifyRequest, reply: FastifyReply, told: Told = {}) {
    const t = entryWords(pages.lang(request));
    const query = `?return_to=${encodeURIComponent(pages.returnTo(request))}`;
    const body = html`
      <h1>${t('recovery')}</h1>
      <p class="intro">${t('recoveryIntro')}</p>
      !${told.notice ?? ''}
      !${form({
        action: `/login/recovery${query}`,
        csrf: pages.csrf(request, reply),
        body: html`
          !${field({ name: 'username', label: t('username'), value: told.username, autocomplete: 'username', required: true, autofocus: true, maxlength: 30 })}
          !${field({ name: 'code', label: t('code'), hint: t('codeHint'), value: told.code, error: told.errors?.code, autocomplete: 'one-time-code', required: true, maxlength: 40 })}
          !${field({ name: 'password', type: 'password', label: t('newPassword'), hint: t('passwordHint'), error: told.errors?.password, autocomplete: 'new-password', required: true })}
          <div class="actions">!${button(t('setPassword'))}</div>`,
      })}
      <p><a href="/login${query}">${t('backToSignIn')}</a></p>`;
    return pages.show(request, reply, {
      title: t('recovery'),
      width: 'narrow',
      body: card({ body }),
      ...(told.status ? { status: told.status } : {}),
    });
  }

  scope.get('/login/recovery', async (request, reply) => showForm(request, reply));

  scope.post('/login/recovery', async (request, reply) => {
    await keepPace(limiter, 'sign-in', request);
    const t = entryWords(pages.lang(request));
    const username = formText(request, 'username').trim().toLowerCase();
    const code = formText(request, 'code').trim();
    try {
      const result = await recovery.signIn(username, code, formText(request, 'password'), visitorOf(request));
      if (result.outcome === 'ok') {
        await pages.signedIn(request, reply, result.token);
        const count = await recovery.left((await accounts.byUsername(username)).id);
        return pages.redirect(reply, pages.returnTo(request), { tone: 'ok', text: t('recovered', { count }) });
      }
      if (result.outcome !== 'throttled')
        return showForm(request, reply, { status: 401, username, code, errors: { code: t('wrongCode') } });
      reply.header('retry-after', String(result.retryAfter));
      const tooOften = notice('error', t('throttled', { seconds: result.retryAfter }));
      return showForm(request, reply, { status: 429, username, code, notice: tooOften });
    } catch (error) {
      if (!(error instanceof AccountError)) throw error;
      return showForm(request, reply, { status: 422, username, code, errors: { password: t('passwordInvalid') } });
    }
  });
}
