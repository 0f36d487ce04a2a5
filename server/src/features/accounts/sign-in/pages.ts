import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { networkOf } from '../../../platform/addresses.ts';
import type { Limiter } from '../../../platform/limiter/limiter.ts';
import { notice } from '../../../platform/web/blocks.ts';
import { formText } from '../../../platform/web/form-body.ts';
import type { Html } from '../../../platform/web/html.ts';
import { limitPage } from '../../../platform/web/page-limit.ts';
import { visitorOf } from '../../../platform/web/pages.ts';
import type { Passkeys } from '../passkeys/service.ts';
import type { Recovery } from '../recovery/service.ts';
import { AccountError, brokenRules } from '../rules.ts';
import type { Accounts } from '../service.ts';
import type { Pages } from '../sessions/service.ts';
import { type RestoreParts, restorePages } from './restore-pages.ts';
import type { SignIn, SignInResult } from './service.ts';
import {
  type RecoveryForm,
  recoveryView,
  type SignInForm,
  type SignUpForm,
  signInView,
  signOutView,
  signUpClosedView,
  signUpView,
  type View,
} from './views.ts';
import { entryWords } from './words.ts';

export interface SignInPagesParts extends RestoreParts {
  readonly pages: Pages;
  readonly accounts: Accounts;
  readonly signIn: SignIn;
  readonly passkeys: Passkeys;
  readonly recovery: Recovery;
  readonly limiter: Limiter;
  readonly signup: 'open' | 'closed';
}

/**
 * Limits by address, over all accounts, for requests that cost a slow hash or a row. They are wide enough for the many
 * people who share an address of a mobile network.
 */
const rates = {
  'sign-in': { limit: 120, windowMs: 60_000 },
  'sign-up': { limit: 10, windowMs: 60_000 },
} as const;

const fieldErrors = {
  username_invalid: ['username', 'usernameInvalid'],
  username_reserved: ['username', 'nameReserved'],
  username_taken: ['username', 'usernameTaken'],
  password_invalid: ['password', 'passwordInvalid'],
  display_name_invalid: ['display_name', 'displayNameInvalid'],
  display_name_blank: ['display_name', 'displayNameBlank'],
  display_name_reserved: ['display_name', 'nameReserved'],
} as const;

/** /login, /logout, /login/recovery and /signup. */
export function signInPages(scope: FastifyInstance, parts: SignInPagesParts): void {
  const { pages, accounts, signIn, passkeys, recovery, limiter, signup } = parts;
  const offerRestoring = restorePages(scope, parts);
  const passkeyModule = pages.assets.add(new URL('../passkeys/browser/passkeys.ts', import.meta.url));
  const words = (request: FastifyRequest) => entryWords(pages.lang(request));

  const viewOf = (request: FastifyRequest, reply: FastifyReply): View => ({
    t: words(request),
    csrf: pages.csrf(request, reply),
    query: `?return_to=${encodeURIComponent(pages.returnTo(request))}`,
  });

  const show = (
    request: FastifyRequest,
    reply: FastifyReply,
    o: {
      title: 'signIn' | 'signOut' | 'signUp' | 'signUpClosed' | 'recovery';
      body: Html;
      status?: number;
      modules?: string[];
    },
  ) => pages.show(request, reply, { width: 'narrow', ...o, title: words(request)(o.title) });

  function showSignIn(
    request: FastifyRequest,
    reply: FastifyReply,
    filled: Omit<SignInForm, 'again' | 'signUpOpen'> = {},
    status = 200,
  ) {
    const again = pages.session(request)?.username;
    const body = signInView(viewOf(request, reply), { ...filled, again, signUpOpen: signup === 'open' });
    return show(request, reply, { title: 'signIn', body, status, modules: [passkeyModule()] });
  }

  const showSignUp = (request: FastifyRequest, reply: FastifyReply, filled: SignUpForm = {}, status = 200) =>
    show(request, reply, { title: 'signUp', body: signUpView(viewOf(request, reply), filled), status });

  const showClosed = (request: FastifyRequest, reply: FastifyReply) =>
    show(request, reply, { title: 'signUpClosed', body: signUpClosedView(viewOf(request, reply)), status: 403 });

  const showRecovery = (request: FastifyRequest, reply: FastifyReply, filled: RecoveryForm = {}, status = 200) =>
    show(request, reply, { title: 'recovery', body: recoveryView(viewOf(request, reply), filled), status });

  async function limit(rate: keyof typeof rates, request: FastifyRequest): Promise<void> {
    await limitPage(limiter, `${rate}:${networkOf(request.ip)}`, rates[rate]);
  }

  function throttledNotice(request: FastifyRequest, reply: FastifyReply, seconds: number): Html {
    reply.header('retry-after', String(seconds));
    return notice('error', words(request)('throttled', { seconds }));
  }

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    result: Exclude<SignInResult, { outcome: 'wrong' }>,
    username?: string,
  ) {
    if (result.outcome === 'ok') {
      await pages.signedIn(request, reply, result.token);
      return pages.redirect(reply, pages.returnTo(request));
    }
    if (result.outcome === 'leaving') return offerRestoring(request, reply, result.creatorId);
    if (result.outcome === 'suspended')
      return showSignIn(request, reply, { username, notice: notice('error', words(request)('suspended')) }, 403);
    return showSignIn(request, reply, { username, notice: throttledNotice(request, reply, result.retryAfter) }, 429);
  }

  scope.get('/login', async (request, reply) => {
    const session = pages.session(request);
    // A signed-in person comes here by a stale link, or because the sign-in is too long ago.
    if (session && pages.isRecent(session)) return reply.redirect(pages.returnTo(request), 303);
    return showSignIn(request, reply);
  });

  scope.post('/login', async (request, reply) => {
    await limit('sign-in', request);
    const username = formText(request, 'username').trim().toLowerCase();
    const result = await signIn.withPassword(username, formText(request, 'password'), visitorOf(request));
    if (result.outcome !== 'wrong') return answer(request, reply, result, username);
    return showSignIn(request, reply, { username, error: words(request)('wrong') }, 401);
  });

  scope.post('/login/passkey/options', async (request, reply) => {
    await limit('sign-in', request);
    return passkeys.signInOptions(pages.tokenOf(request, reply));
  });

  scope.post('/login/passkey', async (request, reply) => {
    await limit('sign-in', request);
    const browser = pages.tokenOf(request, reply);
    const result = await passkeys.signIn(browser, formText(request, 'credential'), visitorOf(request));
    if (result.outcome !== 'wrong') return answer(request, reply, result);
    return showSignIn(request, reply, { notice: notice('error', words(request)('passkeyFailed')) }, 401);
  });

  scope.get('/logout', async (request, reply) => {
    pages.requireSession(request);
    return show(request, reply, { title: 'signOut', body: signOutView(viewOf(request, reply)) });
  });

  scope.post('/logout', async (request, reply) => {
    await pages.signOut(request, reply);
    const back = pages.returnTo(request, '');
    const login = back ? `/login?return_to=${encodeURIComponent(back)}` : '/login';
    return pages.redirect(reply, login, { tone: 'ok', text: words(request)('signedOut') });
  });

  scope.get('/login/recovery', async (request, reply) => showRecovery(request, reply));

  // The code and the new password are one step, so that a code alone signs nobody in.
  scope.post('/login/recovery', async (request, reply) => {
    await limit('sign-in', request);
    const t = words(request);
    const username = formText(request, 'username').trim().toLowerCase();
    const code = formText(request, 'code').trim();
    try {
      const result = await recovery.signIn(username, code, formText(request, 'password'), visitorOf(request));
      if (result.outcome === 'ok') {
        await pages.signedIn(request, reply, result.token);
        const count = await recovery.left((await accounts.byUsername(username)).id);
        return pages.redirect(reply, pages.returnTo(request), { tone: 'ok', text: t('recovered', { count }) });
      }
      if (result.outcome === 'leaving') return offerRestoring(request, reply, result.creatorId);
      if (result.outcome !== 'throttled')
        return showRecovery(request, reply, { username, code, errors: { code: t('wrongCode') } }, 401);
      const tooOften = throttledNotice(request, reply, result.retryAfter);
      return showRecovery(request, reply, { username, code, notice: tooOften }, 429);
    } catch (error) {
      if (!(error instanceof AccountError)) throw error;
      return showRecovery(request, reply, { username, code, errors: { password: t('passwordInvalid') } }, 422);
    }
  });

  scope.get('/signup', async (request, reply) => {
    if (signup === 'closed') return showClosed(request, reply);
    if (pages.session(request)) return reply.redirect(pages.returnTo(request), 303);
    return showSignUp(request, reply);
  });

  scope.post('/signup', async (request, reply) => {
    if (signup === 'closed') return showClosed(request, reply);
    await limit('sign-up', request);
    const t = words(request);
    const username = formText(request, 'username').trim();
    const displayName = formText(request, 'display_name').trim();
    const password = formText(request, 'password');
    try {
      const creator = await accounts.add({ username, displayName, password, address: request.ip });
      await pages.signedIn(request, reply, await signIn.begin(creator.id, 'signup', visitorOf(request)));
      const text = t('welcome', { name: creator.display_name });
      return pages.redirect(reply, pages.returnTo(request), { tone: 'ok', text });
    } catch (error) {
      if (!(error instanceof AccountError)) throw error;
      const errors: Record<string, string> = {};
      for (const { code } of [
        error,
        ...brokenRules({ username, displayName, password }, new URL(pages.authUrl).hostname),
      ]) {
        if (code === 'creator_unknown' || code === 'creator_is_sandbox' || code === 'creator_is_demo') throw error;
        const [name, text] = fieldErrors[code];
        errors[name] = t(text);
      }
      return showSignUp(request, reply, { username, displayName, errors }, 422);
    }
  });
}
