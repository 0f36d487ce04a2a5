/**
 * The base of every page: session, CSRF token, layout and error pages. How a feature uses it:
 *
 *   // app.ts, inside pages.register: one line for each feature
 *   portalPages(scope, { pages, apps });
 *
 *   // features/portal/pages.ts
 *   scope.get('/developers', async (request, reply) => {
 *     const session = pages.requireSession(request);        // else to /login and back here
 *     return pages.show(request, reply, { title, nav: 'developers', body });
 *   });
 *   scope.post('/developers/:id/secret', async (request, reply) => {
 *     const session = pages.requireRecent(request);         // signed in within ten minutes; for secrets
 *     const name = formText(request, 'name');               // platform/web/form-body.ts; also formFile
 *     …                                                     // wrong input: pages.show(…, { status: 422, body with errors })
 *     return pages.redirect(reply, '/developers', { tone: 'ok', text: t('saved') });
 *   });
 *   form({ action, csrf: pages.csrf(request, reply), body }) // every form; pages.lang(request) is the reader's language
 *   form({ …, key: pages.formKeys.newKey() })              // a form that creates something: formKeys.idOf is its id
 *
 * Invariants:
 * - Every request but GET and HEAD in the scope has been checked before its handler runs: our `Origin`, and the CSRF
 *   token (field `csrf`) of the very cookie it came with. A handler cannot forget it.
 * - Such requests are counted, because each may write: none is free, whatever its handler does.
 * - One cookie. Before sign-in it holds a random token without a session, which is enough for CSRF; sign-in always
 *   makes a new token. Its name and `Secure` follow AUTH_URL, never the request.
 * - Everything that is thrown becomes an error page in the reader's language.
 */
import { fastifyCookie } from '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import { dropBody, toHttpError } from '../http/errors.ts';
import { HttpError } from '../http/http-error.ts';
import { queryOf } from '../http/query.ts';
import type { Log } from '../log.ts';
import { isSigned, type Vault } from '../vault.ts';
import type { Assets } from './assets.ts';
import { cookieValue } from './cookies.ts';
import { errorPage } from './error-page.ts';
import { createFlash, type Flash } from './flash.ts';
import { formText, useFormBodies } from './form-body.ts';
import { createFormKeys } from './form-keys.ts';
import { contentSecurityPolicy, pageHeaders } from './headers.ts';
import { type Lang, languageOf, messages, rememberLanguage } from './i18n.ts';
import { createPage, type Navigation, type PageOptions, type Sections } from './layout.ts';
import { PageError, Redirect } from './page-error.ts';
import { safeReturn } from './return-address.ts';

/** Where a request comes from. */
export interface Visitor {
  readonly address: string;
  readonly userAgent: string;
}

/** What pages need to know of a session; the feature that keeps sessions knows more. */
export interface PageSession {
  readonly displayName: string;
  readonly signedInAt: number;
}

interface PageSessions<Session extends PageSession> {
  /** The longest life of a session, and of its cookie. */
  readonly maxMs: number;
  newToken(): string;
  find(token: string, visitor: Visitor): Promise<Session | undefined>;
  /** Ends the session of this token, if there is one. */
  endToken(token: string): Promise<void>;
}

export interface PagesParts<Session extends PageSession> {
  readonly authUrl: string;
  readonly assets: Assets;
  readonly navigation: Navigation & Sections;
  readonly sessions: PageSessions<Session>;
  /** Counts a form that passed all checks. Answers how many seconds to wait before the next one, 0 for none. */
  readonly countPost: (request: FastifyRequest, session: Session | undefined) => Promise<number>;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Log;
}

export type Pages<Session extends PageSession> = ReturnType<typeof createPages<Session>>;
export type ShowOptions = Omit<PageOptions, 'lang' | 'url' | 'user' | 'flash'> & {
  status?: number;
  flash?: Flash;
  /** The address of a page that is the same as long as the server runs: strangers get it from memory. */
  unchanging?: string;
};

/** Showing or making a secret needs a sign-in no older than this. */
const recentMs = 10 * 60_000;

const words = messages({
  en: { otherOrigin: 'This page belongs to {address}. Open it there and try again.' },
  th: { otherOrigin: 'หน้านี้อยู่ที่ {address} กรุณาเปิดจากที่อยู่นั้นแล้วลองใหม่อีกครั้ง' },
});

/** What is known about a request once it reaches the scope. */
interface State<Session> {
  /** The token in the cookie: of a session, or of a browser that has not signed in. */
  token: string | undefined;
  session: Session | undefined;
}

export function createPages<Session extends PageSession>(parts: PagesParts<Session>) {
  const { authUrl, assets, navigation, sessions, countPost, vault, clock, log } = parts;
  const secure = authUrl.startsWith('https:');
  const cookieName = secure ? '__Host-namjai' : 'namjai';
  const cookieOptions = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const;
  const page = createPage(assets, navigation);
  const formKeys = createFormKeys(clock);
  const flashes = createFlash({ vault, secure });
  const states = new WeakMap<FastifyRequest, State<Session>>();
  const stateOf = (request: FastifyRequest): State<Session> => {
    const state = states.get(request) ?? { token: undefined, session: undefined };
    states.set(request, state);
    return state;
  };

  function tokenIn(cookies: string | undefined): string | undefined {
    const token = cookieValue(cookies, cookieName);
    return token && /^[\w-]{43}$/.test(token) ? token : undefined;
  }

  function setCookie(reply: FastifyReply, token: string, maxAgeMs?: number): void {
    const life = maxAgeMs === undefined ? {} : { maxAge: maxAgeMs / 1000 };
    reply.header('set-cookie', fastifyCookie.serialize(cookieName, token, { ...cookieOptions, ...life }));
  }

  /** The token of this browser. A browser without one gets a new one. */
  function tokenOf(request: FastifyRequest, reply: FastifyReply): string {
    const state = stateOf(request);
    if (state.token === undefined) {
      state.token = sessions.newToken();
      setCookie(reply, state.token);
    }
    return state.token;
  }

  const csrf = (request: FastifyRequest, reply: FastifyReply): string =>
    vault.sign('csrf', tokenOf(request, reply)).toString('base64url');

  function checkPost(request: FastifyRequest): void {
    if (request.headers.origin !== authUrl)
      throw new PageError(403, { detail: words(languageOf(request))('otherOrigin', { address: authUrl }) });
    const { token } = stateOf(request);
    if (token === undefined || !isSigned(vault, 'csrf', token, formText(request, 'csrf'))) throw new PageError(403);
  }

  const remembered = new Map<string, Buffer>();

  function show(
    request: FastifyRequest,
    reply: FastifyReply,
    { status = 200, flash = flashes.take(request, reply), unchanging, ...options }: ShowOptions,
  ) {
    const { session } = stateOf(request);
    const lang = languageOf(request);
    const user = session && { displayName: session.displayName, csrf: csrf(request, reply) };
    // The response to a form may show a secret once. A language link to the same URL would lose it.
    const url = unchanging ?? (request.method === 'POST' && status < 400 ? undefined : request.url);
    const key = unchanging === undefined || user || flash ? undefined : `${lang} ${unchanging}`;
    const body = (key && remembered.get(key)) || Buffer.from(String(page({ ...options, lang, url, user, flash })));
    if (key) remembered.set(key, body);
    return reply.code(status).type('text/html; charset=utf-8').send(body);
  }

  function writeError(error: unknown, request: FastifyRequest, reply: FastifyReply) {
    if (error instanceof Redirect) return reply.redirect(error.location, 303);
    const known = error instanceof PageError ? error : toHttpError(error, request, log);
    if (known.status === 413) dropBody(request, reply);
    if (known instanceof HttpError) reply.errorCode = known.code;
    const body = errorPage(page, {
      status: known.status,
      lang: languageOf(request),
      url: request.url,
      requestId: request.id,
      ...(known instanceof PageError && known.detail ? { detail: known.detail } : {}),
      ...(known instanceof HttpError && known.code === 'misdirected_request' ? { detail: known.message } : {}),
    });
    return reply.code(known.status).headers(known.headers).type('text/html; charset=utf-8').send(body);
  }

  /** Sends the reader to sign in, and then back to the page they were on. */
  function signInFirst(request: FastifyRequest): Redirect {
    const { referer } = request.headers;
    const here = ['GET', 'HEAD'].includes(request.method)
      ? request.url
      : referer && URL.canParse(referer)
        ? referer.slice(new URL(referer).origin.length)
        : undefined;
    const back = safeReturn(here, authUrl, '/dashboard');
    return new Redirect(`/login?return_to=${encodeURIComponent(back)}`);
  }

  function requireSession(request: FastifyRequest): Session {
    const { session } = stateOf(request);
    if (!session) throw signInFirst(request);
    return session;
  }

  const isRecent = (session: Session): boolean => session.signedInAt + recentMs > clock();

  return {
    assets,
    authUrl,
    show,
    csrf,
    formKeys,
    tokenOf,
    isRecent,
    requireSession,
    lang: (request: FastifyRequest): Lang => languageOf(request),
    session: (request: FastifyRequest): Session | undefined => stateOf(request).session,

    requireRecent(request: FastifyRequest): Session {
      const session = requireSession(request);
      if (!isRecent(session)) throw signInFirst(request);
      return session;
    },

    /** After a POST: to one of our pages, which shows a message. */
    redirect(reply: FastifyReply, path: string, flash?: Flash) {
      if (flash) flashes.set(reply, flash);
      return reply.redirect(path, 303);
    },

    /** Signs this browser in. The token that it had before becomes invalid. */
    async signedIn(request: FastifyRequest, reply: FastifyReply, token: string): Promise<void> {
      const state = stateOf(request);
      if (state.token !== undefined) await sessions.endToken(state.token);
      state.token = token;
      setCookie(reply, token, sessions.maxMs);
    },

    async signOut(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const { token } = stateOf(request);
      if (token !== undefined) await sessions.endToken(token);
      setCookie(reply, '', 0);
    },

    returnTo: (request: FastifyRequest, fallback = '/dashboard'): string =>
      safeReturn(queryOf(request).get('return_to'), authUrl, fallback),

    /** Whether the session of this request is still valid, for responses that stay open for long. */
    async stillSignedIn(request: FastifyRequest): Promise<boolean> {
      const { token } = stateOf(request);
      return token !== undefined && (await sessions.find(token, visitorOf(request))) !== undefined;
    },

    /** For requests that match no route; `undefined` leaves the answer to the API. */
    errorWriter(request: FastifyRequest): typeof writeError | undefined {
      if (request.url.startsWith('/v1') || !/\btext\/html\b/.test(request.headers.accept ?? '')) return undefined;
      return (error, request, reply) => {
        reply.headers({ 'content-security-policy': contentSecurityPolicy(), 'cache-control': 'no-store' });
        // A reload of a form's target, which takes only POST, leads to the page above it.
        if (request.method === 'GET' && error instanceof HttpError && error.code === 'method_not_allowed')
          return reply.removeHeader('allow').redirect(request.url.replace(/\/[^/?]*(?=\?|$)/, '') || '/', 303);
        return writeError(error, request, reply);
      };
    },

    register(app: FastifyInstance, build: (scope: FastifyInstance) => void): void {
      assets.register(app);
      app.register(async (scope) => {
        // Registered for its serializer only: a hook of ours reads the cookie.
        await scope.register(fastifyCookie, { hook: false });
        useFormBodies(scope);
        scope.setErrorHandler(writeError);
        pageHeaders(scope, { https: secure });
        rememberLanguage(scope, { secure });
        scope.addHook('onRequest', async (request) => {
          const token = tokenIn(request.headers.cookie);
          const session = token === undefined ? undefined : await sessions.find(token, visitorOf(request));
          states.set(request, { token, session });
        });
        scope.addHook('preHandler', async (request) => {
          if (['GET', 'HEAD'].includes(request.method)) return;
          checkPost(request);
          const wait = await countPost(request, stateOf(request).session);
          if (wait > 0) throw new PageError(429, { headers: { 'retry-after': String(wait) } });
        });
        build(scope);
      });
    },
  };
}

export const visitorOf = (request: FastifyRequest): Visitor => ({
  address: request.ip,
  userAgent: request.headers['user-agent'] ?? '',
});
