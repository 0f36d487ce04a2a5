import type { FastifyInstance, InjectOptions } from 'fastify';
import type { SignInMethod } from '../src/features/accounts/sessions/service.ts';
import type { Runtime } from '../src/runtime.ts';

/** A browser without scripts over `inject`: stores cookies, and posts with the CSRF token of the last page. */
export interface Visitor {
  readonly cookies: Map<string, string>;
  get(url: string, headers?: Record<string, string>): ReturnType<typeof send>;
  /** Posts a form with our origin and the CSRF token last seen; `headers` and `fields` replace either. */
  post(
    url: string,
    fields?: Record<string, string>,
    headers?: Record<string, string | undefined>,
  ): ReturnType<typeof send>;
}

const send = (http: FastifyInstance, options: InjectOptions) => http.inject(options);

export function createVisitor(
  { http, runtime }: { http: FastifyInstance; runtime: Runtime },
  { address = '127.0.0.1', language = 'en' } = {},
): Visitor {
  const cookies = new Map<string, string>();
  let csrf = '';

  async function request(options: InjectOptions) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { accept: 'text/html', 'accept-language': language, ...(cookie ? { cookie } : {}) };
    const response = await send(http, {
      ...options,
      remoteAddress: address,
      headers: { ...headers, ...options.headers },
    });
    for (const { name, value, maxAge } of response.cookies) {
      if (maxAge === 0) cookies.delete(name);
      else cookies.set(name, value);
    }
    csrf = /name="csrf" value="([^"]+)"/.exec(response.body)?.[1] ?? csrf;
    return response;
  }

  return {
    cookies,
    get: (url, headers = {}) => request({ method: 'GET', url, headers }),
    post: (url, fields = {}, headers = {}) =>
      request({
        method: 'POST',
        url,
        headers: defined({
          origin: runtime.config.authUrl,
          'content-type': 'application/x-www-form-urlencoded',
          ...headers,
        }),
        payload: new URLSearchParams({ csrf, ...fields }).toString(),
      }),
  };
}

const defined = (headers: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));

/** A visitor who is signed in, without the work of a password. */
export async function signedInVisitor(
  app: { http: FastifyInstance; runtime: Runtime },
  creatorId: string,
  method: SignInMethod = 'password',
): Promise<Visitor> {
  const visitor = createVisitor(app);
  const { signIn, config } = app.runtime;
  const token = await signIn.begin(creatorId, method, { address: '127.0.0.1', userAgent: 'test' });
  visitor.cookies.set(config.authUrl.startsWith('https:') ? '__Host-namjai' : 'namjai', token);
  await visitor.get('/logout');
  return visitor;
}
