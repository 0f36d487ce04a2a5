import type { FastifyInstance, FastifyRequest } from 'fastify';
import { queryOf } from '../http/query.ts';
import { withinSentence } from './browser/text.ts';
import { cookieValue } from './cookies.ts';
import { keepWordsWhole } from './whole-words.ts';

export const languages = ['en', 'th'] as const;
export type Lang = (typeof languages)[number];

type Placeholders<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | Placeholders<Rest> : never;
type Params<Text> = [Placeholders<Text>] extends [never] ? [] : [params: Record<Placeholders<Text>, string | number>];

export type Translate<En> = <Key extends keyof En>(key: Key, ...params: Params<En[Key]>) => string;

/**
 * A feature's words: `const words = messages({ en: {…}, th: {…} })`, then `const t = words(lang)` and
 * `t('key', { name })`. The compiler checks that both tables have the same keys and that a call fills every
 * `{placeholder}`; that the Thai text holds the same placeholders is checked when the table is made.
 * The result is plain text: `html` escapes it. A text that is filled in may be anybody's, so it is made fit for show.
 */
export function messages<const En extends Record<string, string>>(tables: {
  en: En;
  th: Record<keyof NoInfer<En>, string>;
}): (lang: Lang) => Translate<En> {
  for (const key in tables.en) {
    if (placeholders(tables.en[key] ?? '') !== placeholders(tables.th[key])) {
      throw new Error(`Placeholders of the message "${key}" differ between the languages`);
    }
  }
  return (lang) =>
    (key, ...[params]) => {
      const text = tables[lang][key];
      return fill(lang === 'th' ? keepWordsWhole(text) : text, params);
    };
}

const fill = (text: string, params: Record<string, string | number> = {}) =>
  text.replace(/\{(\w+)\}/g, (whole, name: string) => withinSentence(String(params[name] ?? whole)));

const placeholders = (text: string) => [...new Set(text.match(/\{\w+\}/g))].sort().join();

const found = new WeakMap<FastifyRequest, Lang>();

/** The reader's language: the switch just used, else the one chosen before, else what an app asks for or the browser. */
export function languageOf(request: FastifyRequest): Lang {
  const known = found.get(request);
  if (known) return known;
  const { cookie, 'accept-language': header } = request.headers;
  const lang = chosen(request) ?? remembered(cookie) ?? asked(request) ?? preferred(header);
  found.set(request, lang);
  return lang;
}

/** Remembers a choice made by `?lang=` on any page of this scope, so that the switch is a plain link. */
export function rememberLanguage(app: FastifyInstance, options: { secure: boolean }): void {
  app.addHook('onRequest', async (request, reply) => {
    const lang = chosen(request);
    if (!lang) return;
    const secure = options.secure ? '; Secure' : '';
    reply.header('set-cookie', `lang=${lang}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax${secure}`);
  });
}

/** The link target that shows this page in `lang`. Only a query, so a strange path cannot lead elsewhere. */
export function languageLink(url: string, lang: Lang): string {
  const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
  const kept = query.split('&').filter((part) => part && !part.startsWith('lang='));
  return `?${[...kept, `lang=${lang}`].join('&')}`;
}

/** Of what a browser says about languages. A stranger can send 60,000 characters of it, which takes 15 ms. */
const maxLength = 400;

const isLanguage = (value: unknown): value is Lang => languages.some((lang) => lang === value);

function chosen(request: FastifyRequest): Lang | undefined {
  const value = queryOf(request).get('lang');
  return isLanguage(value) ? value : undefined;
}

/** `ui_locales` as in OpenID Connect: our metadata says which there are. */
function asked(request: FastifyRequest): Lang | undefined {
  const tags = queryOf(request).get('ui_locales') ?? '';
  return tags
    .slice(0, maxLength)
    .toLowerCase()
    .split(' ')
    .map((tag) => tag.split('-')[0])
    .find(isLanguage);
}

function remembered(cookie: string | undefined): Lang | undefined {
  const value = cookieValue(cookie, 'lang');
  return isLanguage(value) ? value : undefined;
}

function preferred(header = ''): Lang {
  let best: Lang = 'en';
  let bestWeight = 0;
  for (const range of header.slice(0, maxLength).toLowerCase().split(',')) {
    const [tag = '', ...parts] = range.split(';').map((part) => part.trim());
    const lang = tag.split('-')[0];
    const quality = parts.find((part) => part.startsWith('q='));
    const weight = quality ? Number(quality.slice(2)) : 1;
    if (isLanguage(lang) && weight > bestWeight) {
      best = lang;
      bestWeight = weight;
    }
  }
  return best;
}
