import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { button, card } from '../../../platform/web/blocks.ts';
import { formText } from '../../../platform/web/form-body.ts';
import { field, form } from '../../../platform/web/forms.ts';
import { html } from '../../../platform/web/html.ts';
import { visitorOf } from '../../../platform/web/pages.ts';
import type { AccountPagesParts } from '../pages.ts';
import { AccountError, brokenRules } from '../rules.ts';
import { keepPace } from './pace.ts';
import { entryWords } from './words.ts';

const wrongField = {
  username_invalid: ['username', 'usernameInvalid'],
  username_taken: ['username', 'usernameTaken'],
  password_invalid: ['password', 'passwordInvalid'],
  display_name_invalid: ['display_name', 'displayNameInvalid'],
} as const;

/** /signup. */
export function signUpPages(
  scope: FastifyInstance,
  { pages, accounts, signIn, limiter, signup }: AccountPagesParts,
): void {
  interface Told {
    status?: number;
    username?: string;
    displayName?: string;
    errors?: Partial<Record<string, string>>;
  }

  function showForm(request: FastifyRequest, reply: FastifyReply, told: Told = {}) {
    const t = entryWords(pages.lang(request));
    const query = `?return_to=${encodeURIComponent(pages.returnTo(request))}`;
    const body = html`
      <h1>${t('signUp')}</h1>
      <p class="intro">${t('signUpIntro')}</p>
      !${form({
        action: `/signup${query}`,
        csrf: pages.csrf(request, reply),
        body: html`
          !${field({ name: 'username', label: t('username'), hint: t('usernameHint'), value: told.username, error: told.errors?.username, autocomplete: 'username', required: true, autofocus: true, maxlength: 30 })}
          !${field({ name: 'display_name', label: t('displayName'), hint: t('displayNameHint'), value: told.displayName, error: told.errors?.display_name, autocomplete: 'nickname', maxlength: 40 })}
          !${field({ name: 'password', type: 'password', label: t('password'), hint: t('passwordHint'), error: told.errors?.password, autocomplete: 'new-password', required: true })}
          <div class="actions">!${button(t('signUp'))}</div>`,
      })}
      <p>${t('haveAccount')} <a href="/login${query}">${t('signIn')}</a></p>`;
    return pages.show(request, reply, {
      title: t('signUp'),
      width: 'narrow',
      body: card({ body }),
      ...(told.status ? { status: told.status } : {}),
    });
  }

  function showClosed(request: FastifyRequest, reply: FastifyReply) {
    const t = entryWords(pages.lang(request));
    const body = html`
      <h1>${t('signUpClosed')}</h1>
      <p class="intro">${t('signUpClosedText')}</p>
      <p>${t('haveAccount')} <a href="/login">${t('signIn')}</a></p>`;
    return pages.show(request, reply, { status: 403, title: t('signUpClosed'), width: 'narrow', body: card({ body }) });
  }

  scope.get('/signup', async (request, reply) => {
    if (signup === 'closed') return showClosed(request, reply);
    if (pages.session(request)) return reply.redirect(pages.returnTo(request), 303);
    return showForm(request, reply);
  });

  scope.post('/signup', async (request, reply) => {
    if (signup === 'closed') return showClosed(request, reply);
    await keepPace(limiter, 'sign-up', request);
    const t = entryWords(pages.lang(request));
    const username = formText(request, 'username').trim();
    const displayName = formText(request, 'display_name').trim();
    const password = formText(request, 'password');
    try {
      const creator = await accounts.add({ username, displayName, password });
      await pages.signedIn(request, reply, await signIn.begin(creator.id, 'signup', visitorOf(request)));
      const text = t('welcome', { name: creator.display_name });
      return pages.redirect(reply, pages.returnTo(request), { tone: 'ok', text });
    } catch (error) {
      if (!(error instanceof AccountError)) throw error;
      const errors: Record<string, string> = {};
      for (const { code } of [error, ...brokenRules({ username, displayName, password })]) {
        if (code === 'creator_unknown') throw error;
        const [name, words] = wrongField[code];
        errors[name] = t(words);
      }
      return showForm(request, reply, { status: 422, username, displayName, errors });
    }
  });
}
