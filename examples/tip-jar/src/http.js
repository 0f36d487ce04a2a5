import { createServer } from 'node:http';
import { html } from './html.js';
import { languageOf, words } from './words.js';

/** Requests in, pages out: routing, cookies, forms and the headers of every answer. */

const maxFormBytes = 16_384;

/** An answer that is no success; `word` names its text in words.js. */
export class Refusal extends Error {
  constructor(status, word) {
    super(word);
    this.status = status;
    this.word = word;
  }
}

const securityHeaders = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  vary: 'accept-language, cookie',
};

/** `routes`: rows of method, path with `:names`, handler. A handler answers `{ status, headers, body }` or nothing. */
export function createHttpServer({ routes, settings, layout }) {
  const secure = settings.origin.startsWith('https:');
  const cookieName = (name) => (secure ? `__Host-${name}` : name);
  const table = routes.map(([method, path, handle]) => {
    const pattern = new RegExp(`^${path.replace(/:(\w+)/g, '(?<$1>[\\w-]{1,64})')}$`);
    return { method, pattern, handle };
  });

  function visitOf(request, response) {
    const url = new URL(request.url, settings.origin);
    const cookies = Object.fromEntries((request.headers.cookie ?? '').split('; ').map((pair) => pair.split('=', 2)));
    const set = [];
    const visit = {
      request,
      response,
      url,
      cookie: (name) => cookies[cookieName(name)],
      setCookie(name, value, seconds) {
        const attributes = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure ? '; Secure' : ''}`;
        set.push(`${cookieName(name)}=${value}; ${attributes}`);
        response.setHeader('set-cookie', set);
      },
      address: addressOf(request),
      form: () => readForm(request, settings.origin),
    };
    visit.language = languageOf(
      url.searchParams.get('lang') ?? visit.cookie('lang'),
      request.headers['accept-language'],
    );
    visit.t = words[visit.language];
    return visit;
  }

  function addressOf(request) {
    const forwarded = settings.trustProxy && request.headers['x-forwarded-for'];
    return (forwarded || '').split(',').at(-1).trim() || request.socket.remoteAddress;
  }

  async function answer(visit) {
    const { request, url } = visit;
    const found = table.filter(({ pattern }) => pattern.test(url.pathname));
    const asked = request.method === 'HEAD' ? 'GET' : request.method;
    const route = found.find(({ method }) => method === asked);
    if (!route) throw new Refusal(found.length > 0 ? 405 : 404, 'notFound');
    // The language is kept, and its parameter leaves the address.
    if (url.searchParams.has('lang') && request.method === 'GET') {
      visit.setCookie('lang', visit.language, 31_536_000);
      return redirect(url.pathname);
    }
    return await route.handle({ ...visit, params: url.pathname.match(route.pattern).groups ?? {} });
  }

  return createServer(async (request, response) => {
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
    if (!URL.canParse(request.url, settings.origin)) return response.writeHead(400).end();
    const visit = visitOf(request, response);
    const result = await answer(visit).catch((error) => {
      if (!(error instanceof Refusal)) console.error(error);
      const { status, word } = error instanceof Refusal ? error : new Refusal(500, 'failed');
      return page(
        layout(visit, {
          title: visit.t[word],
          body: html`<h1>${visit.t[word]}</h1><p><a href="/">${visit.t.home}</a></p>`,
        }),
        status,
      );
    });
    if (!result || response.headersSent) return;
    response.writeHead(result.status, result.headers);
    response.end(result.body);
  });
}

export const page = (body, status = 200) => ({
  status,
  headers: { 'content-type': 'text/html; charset=utf-8' },
  body: String(body),
});
export const redirect = (location) => ({ status: 303, headers: { location }, body: '' });
export const json = (value, status = 200) => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});

export async function readBody(request, maxBytes = maxFormBytes) {
  if (Number(request.headers['content-length']) > maxBytes) throw new Refusal(413, 'badForm');
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > maxBytes) throw new Refusal(413, 'badForm');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The fields of a form that one of our own pages sent. */
async function readForm(request, origin) {
  if (request.headers.origin !== origin) throw new Refusal(403, 'badForm');
  if (!/^application\/x-www-form-urlencoded\b/.test(request.headers['content-type'])) throw new Refusal(415, 'badForm');
  const fields = new URLSearchParams((await readBody(request)).toString('utf8'));
  return (name) => fields.get(name) ?? '';
}
