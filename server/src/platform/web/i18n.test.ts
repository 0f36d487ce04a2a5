import assert from 'node:assert/strict';
import { test } from 'node:test';
import Fastify from 'fastify';
import { languageLink, languageOf, messages, rememberLanguage } from './i18n.ts';

const words = messages({
  en: { hello: 'Hello {name}, {count} tips for {name}', bye: 'Bye' },
  th: { hello: 'สวัสดี {name} คุณ {name} มี {count} ทิป', bye: 'ลาก่อน' },
});

test('a message is filled in either language, and what was filled in is not filled again', () => {
  assert.equal(words('en')('hello', { name: '{count} $&', count: 2 }), 'Hello {count} $&, 2 tips for {count} $&');
  assert.equal(words('th')('hello', { name: 'มะลิ', count: 0 }), 'สวัสดี มะลิ คุณ มะลิ มี 0 ทิป');
  assert.equal(words('th')('bye'), 'ลาก่อน');
});

test('no line ends within a Thai word that browsers do not know', () => {
  const t = messages({ en: { a: 'a {name}' }, th: { a: 'เปิดโอเวอร์เลย์ {name}' } });
  assert.equal(
    t('th')('a', { name: 'โอเวอร์เลย์' }),
    'เปิดโอ\u2060เวอร์\u2060เลย์ โอเวอร์เลย์',
    'and what is filled in stays',
  );
});

test('keys and parameters are checked by the compiler', () => {
  // @ts-expect-error a key is missing in Thai
  assert.throws(() => messages({ en: { a: 'a', b: '{b}' }, th: { a: 'ก' } }));
  // @ts-expect-error a key is missing in English
  messages({ en: { a: 'a' }, th: { a: 'ก', b: 'ข' } });
  // @ts-expect-error a parameter is missing
  words('en')('hello', { name: 'x' });
  // @ts-expect-error no such message
  assert.throws(() => words('en')('nothing'));
});

test('a translation that lost a placeholder is refused', () => {
  assert.throws(() => messages({ en: { a: 'to {name}' }, th: { a: 'ถึง' } }), /"a"/);
});

async function answer(headers: Record<string, string>, url = '/') {
  const app = Fastify();
  rememberLanguage(app, { secure: true });
  app.get('/', (request) => languageOf(request));
  const response = await app.inject({ url, headers });
  return { lang: response.body, cookie: response.headers['set-cookie'] };
}

test('the language comes from the switch, then the cookie, then the app that sent us here, then the browser', async () => {
  const cases: [string, Record<string, string>, string?][] = [
    ['en', {}],
    ['th', { 'accept-language': 'th-TH,th;q=0.9,en;q=0.8' }],
    ['en', { 'accept-language': 'en-GB, th;q=0.5' }],
    ['th', { 'accept-language': 'de, en;q=0.3, th;q=0.7' }],
    ['en', { 'accept-language': 'de,th;q=0' }],
    ['en', { 'accept-language': 'th;q=x' }],
    ['en', { 'accept-language': 'th', cookie: 'a=1; lang=en' }],
    ['th', { cookie: 'lang=xx', 'accept-language': 'th' }],
    ['en', { cookie: 'notlang=th' }],
    ['th', { cookie: 'lang=en' }, '/?a=b&lang=th'],
    ['en', { cookie: 'lang=en' }, '/?lang=<script>'],
    ['th', { 'accept-language': 'en' }, '/?ui_locales=de%20th-TH%20en'],
    ['en', { cookie: 'lang=en' }, '/?ui_locales=th'],
    // What is too long is not read to its end.
    ['en', { 'accept-language': `${'de,'.repeat(20_000)}th` }],
    ['en', {}, `/?ui_locales=${'de+'.repeat(20_000)}th`],
  ];
  for (const [lang, headers, url] of cases) {
    assert.equal((await answer(headers, url)).lang, lang, JSON.stringify({ headers, url }));
  }
});

test('only a choice sets the cookie', async () => {
  assert.equal(
    (await answer({}, '/?lang=th')).cookie,
    'lang=th; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax; Secure',
  );
  assert.equal((await answer({ 'accept-language': 'th' })).cookie, undefined);
  assert.equal((await answer({}, '/?lang=th%0d%0aX:1')).cookie, undefined);
});

test('the switch keeps the rest of the query byte for byte and names no path', () => {
  assert.equal(languageLink('/oauth/authorize?state=a%20b+c&lang=en&scope=', 'th'), '?state=a%20b+c&scope=&lang=th');
  assert.equal(languageLink('//evil.example', 'en'), '?lang=en');
});
