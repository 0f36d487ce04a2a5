import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { errorTable } from '../../errors.ts';
import { eventTypes } from '../events/index.ts';
import { scopes } from '../oauth/index.ts';
import { closeReasons } from '../sockets/index.ts';
import { readGuides } from './guides.ts';
import type { ApiDocument } from './openapi.ts';

const escaped = (text: string) => text.replace(/[&<>"'`]/g, (sign) => `&#${sign.charCodeAt(0)};`);

test('the reference lists every operation of the served document with its fields and its errors', async (t) => {
  const { http } = await buildApp(t);
  const { body } = await http.inject('/docs');
  const document = (await http.inject('/openapi.json')).json<ApiDocument>();
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path })),
  );
  assert.ok(operations.length >= 9);
  const articles = new Map(
    [...body.matchAll(/<article class="operation" id="(\w+)"[\s\S]*?<\/article>/g)].map(([text, id]) => [id, text]),
  );
  assert.deepEqual([...articles.keys()].sort(), operations.map(({ operationId }) => operationId).sort());
  for (const {
    operationId,
    method,
    path,
    summary = '',
    parameters = [],
    responses,
    security = [],
    ...rest
  } of operations) {
    const article = articles.get(operationId) ?? '';
    const shows = (text: string) => assert.ok(article.includes(escaped(text)), `${operationId} shows ${text}`);
    shows(method.toUpperCase());
    shows(summary);
    assert.ok(article.replaceAll('<wbr>', '').includes(`<code>${path}</code>`), `${operationId} shows its path`);
    for (const { name, in: place } of parameters) if (place !== 'header') shows(name);
    for (const scope of security.flatMap((choice) => Object.values(choice).flat())) shows(scope);
    if (rest['x-rate-limit']) shows(`${rest['x-rate-limit'].limit} requests a minute`);
    const [success, ...others] = Object.keys(responses).filter((status) => Number(status) < 400);
    shows(success ?? '');
    for (const [status, { content }] of Object.entries(responses)) {
      if (!others.includes(status)) shows(status);
      for (const code of Object.keys(content?.['application/json']?.examples ?? {})) shows(code);
    }
    assert.ok(body.includes(`href="#${operationId}"`), `the contents lead to ${operationId}`);
  }
  for (const [code, [, words]] of Object.entries(errorTable)) {
    assert.ok(body.includes(`<code>${code}</code>`), code);
    assert.ok(body.includes(escaped(words)), words);
  }
  for (const type of Object.keys(eventTypes)) assert.ok(body.includes(`<code>${type}</code>`), type);
  for (const { code, advice } of Object.values(closeReasons)) {
    assert.ok(body.includes(`>${code}</td>`), String(code));
    assert.ok(body.includes(escaped(advice)), advice);
  }
  for (const scope of Object.keys(scopes)) assert.ok(body.includes(`<code>${scope}</code>`), scope);
});

test('the rules of a field are told in words, once', async (t) => {
  const { http } = await buildApp(t, { TIP_CAP_THB: '5000' });
  const { body } = await http.inject('/docs');
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

test('each guide has its page, linked from the others; anything else is a page that says so', async (t) => {
  const { http } = await buildApp(t);
  const { body } = await http.inject('/docs');
  const guides = readGuides();
  assert.ok(guides.some(({ name }) => name === 'errors'));
  for (const { name, title, headings } of guides) {
    assert.ok(body.includes(`href="/docs/${name}"`), name);
    const page = await http.inject(`/docs/${name}`);
    assert.equal(page.statusCode, 200);
    assert.ok(page.body.includes(`<title>${escaped(title)} · Namjai</title>`), title);
    for (const { id, level } of headings) if (level > 1) assert.ok(page.body.includes(`id="${id}"`), id);
    assert.doesNotMatch(page.body, /href="[^"]*\.md/, 'links between guides lead to pages');
    assert.ok(page.body.includes('href="/docs#createTip"'), 'the contents lead back to the reference');
  }
  for (const [, name = ''] of body.matchAll(/href="\/docs\/([^"#]+)/g))
    assert.ok(
      guides.some((guide) => guide.name === name),
      `the reference links to ${name}`,
    );
  for (const path of ['/docs/nothing', '/docs/..%2FREADME', '/docs/decisions', '/docs/errors.md', '/docs/']) {
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
  for (const url of ['/docs', '/docs/operations']) {
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
  const { body } = await http.inject('/docs?lang=th');
  assert.match(body, /<html lang="th">/);
  assert.match(body, /เอกสารอ้างอิง API/);
  assert.match(body, /lang="en"><a class="anchor" href="#createTip">Record a completed tip/);
  assert.doesNotMatch(body, />Fields of the answer</);
});
