import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAssets } from './assets.ts';
import * as blocks from './blocks.ts';
import { errorPage } from './error-page.ts';
import { createTimes, money } from './format.ts';
import * as forms from './forms.ts';
import { html } from './html.ts';
import { languages } from './i18n.ts';
import { createPage } from './layout.ts';

const page = createPage(createAssets(), {
  apps: { href: '/dashboard/apps', en: 'Connected apps', th: 'แอปที่เชื่อมต่อ' },
});
const evil = `"><script>alert('x')</script>&`;
const safe = '&#34;&#62;&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;&#38;';

test('every text of the layout and of each block is escaped', () => {
  const field = { name: evil, label: evil, hint: evil, error: evil, value: evil, id: evil };
  const pieces = {
    page: page({
      lang: 'en',
      url: `/?${evil}`,
      title: evil,
      body: '',
      user: { displayName: evil, csrf: evil },
      flash: { tone: 'error', text: evil },
      modules: [evil],
    }),
    heading: blocks.heading({ title: evil, intro: evil }),
    card: blocks.card({ title: evil, intro: evil, id: evil, body: '' }),
    notice: blocks.notice('ok', evil),
    button: blocks.button(evil, { name: evil, value: evil, form: evil }),
    linkButton: blocks.linkButton(evil, evil),
    badge: blocks.badge(evil),
    definitions: blocks.definitions([[evil, html`${evil}`]]),
    rows: blocks.rows([{ title: html`${evil}`, text: html`${evil}` }]),
    stats: blocks.stats([{ label: evil, value: evil, note: evil }]),
    emptyState: blocks.emptyState({ title: evil, text: evil }),
    table: blocks.table({ caption: evil, columns: [{ label: evil }], rows: [[html`${evil}`]] }),
    copyable: blocks.copyable({ id: evil, label: evil, value: evil, copy: evil, copied: evil }),
    confirm: blocks.confirm({ summary: evil, text: evil, action: '' }),
    fold: blocks.fold({ summary: evil, body: '' }),
    form: forms.form({ action: evil, csrf: evil, id: evil, body: '' }),
    field: forms.field(field),
    textArea: forms.textArea(field),
    select: forms.select({ ...field, options: [[evil, evil]] }),
    checkbox: forms.checkbox({ name: evil, label: evil, hint: evil, value: evil }),
    errorPage: errorPage(page, { status: 404, lang: 'en', url: evil, requestId: evil, detail: evil }),
  };
  for (const [name, piece] of Object.entries(pieces)) {
    assert.ok(!piece.includes('<script>'), name);
    assert.ok(piece.includes(safe), name);
  }
});

test('plain text is not markup to the compiler', () => {
  const text: string = '<b>';
  // @ts-expect-error text must go through html`…` first
  blocks.card({ body: text });
});

test('an error stands beside its field, tied to it, and keeps what was typed', () => {
  const field = forms.field({ name: 'url', label: 'URL', hint: 'Begins with https', value: 'http:x', error: 'No' });
  assert.match(field, /<label for="field-url">URL<\/label>/);
  assert.match(field, /value="http:x"/);
  assert.match(field, /aria-describedby="field-url-hint field-url-error" aria-invalid="true" autofocus/);
  assert.match(field, /<p class="error" id="field-url-error">No<\/p>/);
  assert.match(forms.textArea({ name: 'a', label: 'A', value: '\ntyped' }), />\n\ntyped<\/textarea>/);
  assert.match(
    forms.select({
      name: 'a',
      label: 'A',
      value: 'y',
      options: [
        ['x', 'X'],
        ['y', 'Y'],
      ],
    }),
    /value="y" selected/,
  );
  assert.doesNotMatch(forms.field({ name: 'a', label: 'A' }), /aria-|autofocus|class="error"/);
});

test('a password is never sent back', () => {
  assert.doesNotMatch(forms.field({ name: 'p', type: 'password', label: 'P', value: 'hunter2' }), /hunter2/);
});

test('navigation and signing out are for people signed in, and say where one is', () => {
  const signedIn = page({
    lang: 'en',
    url: '/',
    title: 'x',
    body: '',
    nav: 'apps',
    user: { displayName: 'M', csrf: 't' },
  });
  assert.match(signedIn, /<a href="\/dashboard\/apps" aria-current="page">Connected apps<\/a>/);
  assert.match(signedIn, /<form method="post" action="\/logout"[^>]*>\s*<input type="hidden" name="csrf" value="t">/);
  const signedOut = page({ lang: 'th', url: '/?a=1', title: 'x', body: '' });
  assert.doesNotMatch(signedOut, /<nav|\/logout/);
  assert.match(signedOut, /<html lang="th">/);
  assert.match(signedOut, /href="\?a&#61;1&#38;lang&#61;en"/);
});

test('each error has a page in both languages with its request id', () => {
  const seen = new Set<string>();
  for (const lang of languages) {
    for (const status of [400, 403, 404, 421, 429, 500, 502]) {
      const shown = errorPage(page, { status, lang, url: '/', requestId: 'req-7', detail: 'Set BASE_URL' });
      assert.match(shown, /req-7/);
      assert.match(shown, /Set BASE_URL/);
      seen.add(/<h1>(.+)<\/h1>/.exec(shown)?.[1] ?? '');
    }
  }
  assert.equal(seen.size, 14);
  const title = (status: number) =>
    /<h1>.+<\/h1>/.exec(errorPage(page, { status, lang: 'en', url: '/', requestId: '' }))?.[0];
  assert.equal(title(415), title(400));
  assert.equal(title(503), title(500));
});

test('money and time read as people write them', () => {
  assert.equal(money(123450), '฿1,234.50');
  assert.equal(money(5), '฿0.05');
  assert.equal(money(-123450), '-฿1,234.50');
  const { time, date } = createTimes('Asia/Bangkok');
  const at = new Date('2026-09-30T17:05:00Z');
  assert.match(time(at, 'en'), /^<time datetime="2026-09-30T17:05:00.000Z" title="[^"]+">1 Oct 2026, 00:05<\/time>$/);
  assert.match(time(at, 'th'), />1 ต\.ค\. 2569 00:05<\/time>$/);
  assert.match(date(at, 'th'), />1 ต\.ค\. 2569<\/time>$/);
});

test('dates are right however many were written before', () => {
  const { dateText } = createTimes('UTC');
  const dayMs = 86_400_000;
  for (const round of [1, 2])
    for (let day = 0; day < 1_200; day++) {
      const at = new Date(day * dayMs);
      assert.ok(dateText(at, 'en').startsWith(`${at.getUTCDate()}\u00a0`), `round ${round}: ${dateText(at, 'en')}`);
    }
});
