import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { button, card, notice } from '../../../platform/web/blocks.ts';
import { formText } from '../../../platform/web/form-body.ts';
import { field, form } from '../../../platform/web/forms.ts';
import { type Html, html } from '../../../platform/web/html.ts';
import { visitorOf } from '../../../platform/web/pages.ts';
import type { AccountPagesParts } from '../pages.ts';
import { keepPace } from './pace.ts';
import type { SignInResult } from './service.ts';
import { entryWords } from './words.ts';

/** /login and /logout. */
export function signInPages(
  scope: FastifyInstance,
  { pages, signIn, passkeys, limiter, signup }: AccountPagesParts,
): void {
  const passkeyModule = pages.assets.add(new URL('../passkeys/browser/passkeys.ts', import.meta.url));

  interface Told {
    status?: number;
    username?: string;
    /** Stands beside the password. */
    error?: string;
    notice?: Html;
  }

  function showForm(request: FastifyRequest, reply: FastifyReply, told: Told = {}) {
    const t = entryWords(pages.lang(request));
    const session = pages.session(request);
    const query = `?return_to=${encodeURIComponent(pages.returnTo(request))}`;
    const body = html`
      <h1>${session ? t('signInAgain') : t('signIn')}</h1>
      <p class="intro">${session ? t('signInAgainIntro') : t('signInIntro')}</p>
      !${told.notice ?? ''}
      !${form({
        action: `/login${query}`,
        csrf: pages.csrf(request, reply),
        body: html`
          !${field({ name: 'username', label: t('username'), value: told.username ?? session?.username, autocomplete: 'username', required: true, autofocus: !session, maxlength: 30 })}
          !${field({ name: 'password', type: 'password', label: t('password'), error: told.error, autocomplete: 'current-password', required: true, autofocus: Boolean(session) })}
          <div class="actions">!${button(t('signIn'))}</div>`,
      })}
      <div data-passkey="sign-in" data-options="/login/passkey/options" hidden>
        !${form({
          action: `/login/passkey${query}`,
          csrf: pages.csrf(request, reply),
          body: html`<input type="hidden" name="credential"><div class="actions">!${button(t('passkey'), { kind: 'plain' })}</div>`,
        })}
        <p class="error" role="alert" hidden>${t('passkeyFailed')}</p>
      </div>
      <p>${t('lostPassword')} <a href="/login/recovery${query}">${t('useCode')}</a></p>
      !${signup === 'open' && !session ? html`<p>${t('noAccount')} <a href="/signup${query}">${t('signUp')}</a></p>` : ''}`;
    return pages.show(request, reply, {
      title: t('signIn'),
      width: 'narrow',
      body: card({ body }),
      modules: [passkeyModule()],
      ...(told.status ? { status: told.status } : {}),
    });
  }

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    result: Exclude<SignInResult, { outcome: 'wrong' }>,
    username?: string,
  ) {
    const t = entryWords(pages.lang(request));
    if (result.outcome === 'ok') {
      await pages.signedIn(request, reply, result.token);
      return pages.redirect(reply, pages.returnTo(request));
    }
    const typed = username === undefined ? {} : { username };
    if (result.outcome === 'suspended')
      return showForm(request, reply, { ...typed, status: 403, notice: notice('error', t('suspended')) });
    reply.header('retry-after', String(result.retryAfter));
    const text = t('throttled', { seconds: result.retryAfter });
    return showForm(request, reply, { ...typed, status: 429, notice: notice('error', text) });
  }

  scope.get('/login', async (request, reply) => {
    const session = pages.session(request);
    // Whoever is signed in already was sent here because that is too long ago, or came by a stale link.
    if (session && pages.isRecent(session)) return reply.redirect(pages.returnTo(request), 303);
    return showForm(request, reply);
  });

  scope.post('/login', async (request, reply) => {
    await keepPace(limiter, 'sign-in', request);
    const t = entryWords(pages.lang(request));
    const username = formText(request, 'username').trim().toLowerCase();
    const result = await signIn.withPassword(username, formText(request, 'password'), visitorOf(request));
    if (result.outcome === 'wrong') return showForm(request, reply, { status: 401, username, error: t('wrong') });
    return answer(request, reply, result, username);
  });

  scope.post('/login/passkey/options', async (request, reply) => {
    await keepPace(limiter, 'sign-in', request);
    return passkeys.signInOptions(pages.tokenOf(request, reply));
  });

  scope.post('/login/passkey', async (request, reply) => {
    const browser = pages.tokenOf(request, reply);
    const result = await passkeys.signIn(browser, formText(request, 'credential'), visitorOf(request));
    if (result.outcome !== 'wrong') return answer(request, reply, result);
    const failed = entryWords(pages.lang(request))('passkeyFailed');
    return showForm(request, reply, { status: 401, notice: notice('error', failed) });
  });

  scope.get('/logout', async (request, reply) => {
    pages.requireSession(request);
    const t = entryWords(pages.lang(request));
    const signOut = form({
      action: '/logout',
      csrf: pages.csrf(request, reply),
      body: html`<div class="actions">!${button(t('signOut'))}</div>`,
    });
    const body = html`<h1>${t('signOut')}</h1><p class="intro">${t('signOutIntro')}</p>!${signOut}`;
    return pages.show(request, reply, { title: t('signOut'), width: 'narrow', body: card({ body }) });
  });

  scope.post('/logout', async (request, reply) => {
    await pages.signOut(request, reply);
    const back = pages.returnTo(request, '');
    const login = back ? `/login?return_to=${encodeURIComponent(back)}` : '/login';
    return pages.redirect(reply, login, { tone: 'ok', text: entryWords(pages.lang(request))('signedOut') });
  });
}
