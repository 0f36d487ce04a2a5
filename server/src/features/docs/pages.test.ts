import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { buildApp } from '../../../test/build-app.ts';
import { errorTable } from '../../errors.ts';
import { eventTypes } from '../events/index.ts';
import { limits, scopes } from '../oauth/index.ts';
import { closeReasons } from '../sockets/index.ts';
import type { Entry } from './browser/search.ts';
import { readGuides } from './guides.ts';
import { type ApiDocument, accessOf, byTag, operationsOf } from './openapi.ts';
import { tagPath } from './paths.ts';

const escaped = (text: string) => text.replace(/[&<>"'`]/g, (sign) => `&#${sign.charCodeAt(0)};`);

const pathsOf = (document: ApiDocument) => byTag(document).map(({ name }) => tagPath(name));

test('the reference lists every operation of the served document with its fields and its errors', async (t) => {
  const { http } = await buildApp(t);
  const document = (await http.inject('/openapi.json')).json<ApiDocument>();
  const bodies = await Promise.all(pathsOf(document).map(async (path) => (await http.inject(path)).body));
  const body = bodies.join('');
  const operations = operationsOf(document);
  assert.ok(operations.length >= 9);
  const articles = new Map(
    [...body.matchAll(/<article class="operation" id="(\w+)"[\s\S]*?<\/article>/g)].map(([text, id]) => [id, text]),
  );
  assert.deepEqual([...articles.keys()].sort(), operations.map(({ operationId }) => operationId).sort());
  for (const operation of operations) {
    const { operationId, method, path, summary = '', parameters = [], responses, ...rest } = operation;
    const article = articles.get(operationId) ?? '';
    const shows = (text: string) => assert.ok(article.includes(escaped(text)), `${operationId} shows ${text}`);
    shows(method);
    shows(summary);
    assert.ok(article.replaceAll('<wbr>', '').includes(`<code>${path}</code>`), `${operationId} shows its path`);
    for (const { name, in: place } of parameters) if (place !== 'header') shows(name);
    const access = accessOf(operation);
    if (access.by === 'token' && access.scope) shows(access.scope);
    if (rest['x-rate-limit']) shows(`${rest['x-rate-limit'].limit} requests a minute`);
    const [success, ...others] = Object.keys(responses).filter((status) => Number(status) < 400);
    shows(success ?? '');
    for (const [status, { content }] of Object.entries(responses)) {
      if (!others.includes(status)) shows(status);
      for (const code of Object.keys(content?.['application/json']?.examples ?? {})) shows(code);
    }
    assert.ok(body.includes(`href="#${operationId}"`), `the contents lead to ${operationId}`);
  }
});

test('errors, scopes, limits and close codes have their pages', async (t) => {
  const { http } = await buildApp(t);
  const [errors = '', basics = '', types = ''] = await Promise.all(
    ['errors', 'scopes', 'event-types'].map(async (page) => (await http.inject(`/docs/reference/${page}`)).body),
  );
  for (const [code, [, words]] of Object.entries(errorTable)) {
    assert.ok(errors.includes(`<code id="${code}">${code}</code>`), code);
    assert.ok(errors.includes(escaped(words)), words);
  }
  for (const { code, advice } of Object.values(closeReasons)) {
    assert.ok(types.includes(`>${code}</td>`), String(code));
    assert.ok(types.includes(escaped(advice)), advice);
  }
  for (const scope of Object.keys(scopes)) assert.ok(basics.includes(`<code>${scope}</code>`), scope);
  for (const group of Object.keys(limits)) assert.ok(basics.includes(`<code>${group}</code>`), group);
});

test('each event type has a page with the fields and an example of its own', async (t) => {
  const { http } = await buildApp(t);
  const { body: list } = await http.inject('/docs/reference/event-types');
  for (const type of Object.keys(eventTypes)) {
    assert.ok(list.includes(`<a href="/docs/reference/event-types/${type}"><code>${type}</code></a>`), type);
    const { body, statusCode } = await http.inject(`/docs/reference/event-types/${type}`);
    assert.equal(statusCode, 200, type);
    assert.match(body, /<div id="sequence">/);
    assert.ok(body.includes(escaped(`"${type}"`)), 'the example is of this type');
  }
  const { body } = await http.inject('/docs/reference/event-types/tip.created');
  assert.match(body, /<div id="data.tip.alert.message">/);
  assert.equal((await http.inject('/docs/reference/event-types/tip.unknown')).statusCode, 404);
});

test('whatever the single page of the reference had is still found under its old address', async (t) => {
  const { http } = await buildApp(t);
  const document = (await http.inject('/openapi.json')).json<ApiDocument>();
  const { body } = await http.inject('/docs');
  for (const { operationId, tags: [tag = ''] = [] } of operationsOf(document))
    assert.ok(
      body.includes(`<li id="${operationId}" data-moved><a class="entry" href="${tagPath(tag)}#${operationId}">`),
      operationId,
    );
  for (const id of ['start', 'guides', 'scopes', 'limits', 'events', 'errors', 'tag-tips'])
    assert.ok(body.includes(` id="${id}"`), id);
  assert.equal((await http.inject('/docs/reference')).headers.location, '/docs#reference');
});

test('one address gets 120 pages of results a minute, and all other pages; another address is not counted with it', async (t) => {
  const { http, clock } = await buildApp(t);
  const ask = async (remoteAddress: string, url = '/docs/search?q=tip') => {
    const { statusCode, headers } = await http.inject({ url, remoteAddress, headers: { accept: 'text/html' } });
    return [statusCode, headers['retry-after']];
  };
  for (let i = 0; i < 120; i += 1) assert.deepEqual(await ask('192.0.2.1'), [200, undefined]);
  assert.deepEqual(await ask('192.0.2.1'), [429, '60']);
  assert.deepEqual(await ask('192.0.2.2'), [200, undefined]);
  for (const url of ['/docs', '/docs/webhooks', '/docs/search.json'])
    assert.deepEqual(await ask('192.0.2.1', url), [200, undefined], url);
  clock.advance(60_000);
  assert.deepEqual(await ask('192.0.2.1'), [200, undefined]);
});

test('the search finds endpoints, fields, events, errors, scopes and guides, and what it finds is there', async (t) => {
  const { http } = await buildApp(t);
  const find = async (query: string) => {
    const { body } = await http.inject(`/docs/search?q=${encodeURIComponent(query)}`);
    return [...body.matchAll(/<a class="result" href="([^"]+)">/g)].map(([, href = '']) =>
      href.replaceAll('&#61;', '='),
    );
  };
  const first: [query: string, href: string][] = [
    ['post /v1/tips', '/docs/reference/tips#createTip'],
    ['Record a completed', '/docs/reference/tips#createTip'],
    ['createtip', '/docs/reference/tips#createTip'],
    ['overlays_connected', '/docs/reference/alerts#sendAlert-answer-overlays_connected'],
    ['tip.voided', '/docs/reference/event-types/tip.voided'],
    ['rate_limited', '/docs/reference/errors#rate_limited'],
    ['events.subscribe', '/docs/reference/scopes#scopes'],
    ['change the secret', '/docs/webhooks#change-the-secret'],
  ];
  for (const [query, href] of first) assert.equal((await find(query))[0], href, query);
  assert.deepEqual(await find('xyzzy'), []);
  assert.deepEqual(await find(''), []);
  const hostile = await http.inject(`/docs/search?q=${encodeURIComponent('"><script>')}`);
  assert.ok(!hostile.body.includes('"><script>') && hostile.body.includes('&#62;&#60;script&#62;'));

  const entries = (await http.inject('/docs/search.json')).json<Entry[]>();
  const pages = new Map<string, string>();
  for (const { href } of entries) {
    const [path = '', id] = href.split('#');
    if (!pages.has(path)) pages.set(path, (await http.inject(path)).body);
    assert.ok(id === undefined ? pages.get(path) : pages.get(path)?.includes(` id="${id}"`), href);
  }
});

test('the rules of a field are told in words, once', async (t) => {
  const { http } = await buildApp(t, { TIP_CAP_THB: '5000' });
  const { body } = await http.inject('/docs/reference/tips');
  const article = /<article class="operation" id="createTip"[\s\S]*?<\/article>/.exec(body)?.[0] ?? '';
  const fields = article.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ');
  assert.match(
    fields,
    /amount number required In baht, at most two decimals\. Greater than 0\. At most 5,000\. Example: 150\.5/,
  );
  assert.match(fields, /name string required 2 to 25 characters of A-Z, 0-9, underscore and space\./);
  assert.match(fields, /message string or null At most 255 characters\. Example:/);
  assert.match(fields, /This endpoint requires scope: tips\.create/);
  assert.doesNotMatch(fields, /Scope: |Limit: /, 'said by the line under the description already');
});

test('security 42: the docs are made in pieces, between which others are served', async (t) => {
  const { http } = await buildApp(t);
  const guides = await readGuides();
  for (const language of ['en', 'th']) {
    const headers = { 'accept-language': language };
    let done = false;
    const answers = Promise.all(['/docs', '/docs/oauth'].map((url) => http.inject({ url, headers }))).finally(() => {
      done = true;
    });
    let iterations = 0;
    for (; !done; iterations++) await nextIteration();
    assert.deepEqual(
      (await answers).map(({ statusCode }) => statusCode),
      [200, 200],
    );
    assert.ok(iterations >= guides.length, `in ${iterations} iterations of the event loop`);
  }
});

test('each guide has its page, linked from the others; anything else is a page that says so', async (t) => {
  const { http } = await buildApp(t);
  const { body } = await http.inject('/docs');
  const guides = await readGuides();
  assert.ok(guides.some(({ name }) => name === 'errors'));
  for (const { name, title, headings } of guides) {
    assert.ok(body.includes(`href="/docs/${name}"`), name);
    const page = await http.inject(`/docs/${name}`);
    assert.equal(page.statusCode, 200);
    assert.ok(page.body.includes(`<title>${escaped(title)} · Namjai</title>`), title);
    for (const { id, level } of headings) if (level > 1) assert.ok(page.body.includes(`id="${id}"`), id);
    assert.doesNotMatch(page.body, /href="[^"]*\.md/, 'links between guides lead to pages');
    assert.ok(page.body.includes('href="/docs/reference/tips"'), 'the contents lead to the reference');
  }
  for (const [, path = ''] of body.matchAll(/href="(\/docs\/[^"#]+)/g))
    assert.equal((await http.inject(path)).statusCode, 200, `/docs links to ${path}`);
  for (const path of [
    '/docs/nothing',
    '/docs/reference/nothing',
    '/docs/..%2FREADME',
    '/docs/decisions',
    '/docs/errors.md',
    '/docs/',
  ]) {
    const page = await http.inject({ url: path, headers: { accept: 'text/html' } });
    assert.equal(page.statusCode, 404, path);
    assert.match(page.headers['content-type'] as string, /^text\/html/);
  }
});

test('a guide’s pictures are served, and readable by themselves', async (t) => {
  const { http } = await buildApp(t);
  const page = await http.inject('/docs/performance');
  const [, src = ''] = /<img src="([^"]+\.svg)" alt="[^"]+">/.exec(page.body) ?? [];
  const moved = await http.inject(src);
  assert.equal(moved.statusCode, 302, src);
  const picture = await http.inject(String(moved.headers.location));
  assert.equal(picture.statusCode, 200);
  assert.equal(picture.headers['content-type'], 'image/svg+xml');
  assert.match(String(picture.headers['content-security-policy']), /style-src 'unsafe-inline'/);
  assert.equal((await http.inject('/docs/nothing.svg')).statusCode, 404);
});

test('the reference has the headers of all pages, no inline script or style, and nothing of another origin', async (t) => {
  const { http } = await buildApp(t);
  for (const url of ['/docs', '/docs/operations', '/docs/reference/tips', '/docs/search?q=tip']) {
    const { body, headers } = await http.inject(url);
    const policy = String(headers['content-security-policy']);
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /unsafe|https?:/);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.doesNotMatch(body, / style="| on\w+="|<style|<script(?! type="module" src="\/assets\/)/);
    assert.doesNotMatch(body, /(?:src|<link[^>]* href)="(?!\/)/);
  }
});

test('chrome follows the reader’s language, the API speaks English', async (t) => {
  const { http } = await buildApp(t);
  const { body } = await http.inject('/docs/reference/tips?lang=th');
  assert.match(body, /<html lang="th">/);
  assert.match(body, /<h2>เอกสารอ้างอิง<\/h2>/);
  assert.match(body, /lang="en"><a class="anchor" href="#createTip">Record a completed tip/);
  assert.doesNotMatch(body, />Fields of the answer</);
  const found = (await http.inject('/docs/search.json?lang=th')).json<Entry[]>();
  assert.ok(found.some(({ kind }) => kind === 'เอนด์พอยต์'));
});

test('the pages print the address of this server', async (t) => {
  const { http } = await buildApp(t, { BASE_URL: 'http://127.0.0.1:9999' });
  for (const path of ['/docs', '/docs/getting-started', '/docs/reference/tips']) {
    const { body } = await http.inject(path);
    assert.ok(body.includes('http://127.0.0.1:9999/v1/'), path);
    assert.ok(!body.includes('http://localhost:8080/v1/'), path);
  }
});
