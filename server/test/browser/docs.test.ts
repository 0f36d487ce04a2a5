import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core';
import type { ApiDocument } from '../../src/features/docs/openapi.ts';
import { buildApp, type TestApp } from '../build-app.ts';
import { makePair } from '../factories.ts';
import { freePort } from '../server-process.ts';

const executablePath = '/usr/bin/chromium';
const skip = existsSync(executablePath) ? false : 'no Chromium on this machine';
const cleanUp: (() => unknown)[] = [];
let app: TestApp;
let browser: Browser;
let address: string;

before(async () => {
  if (skip) return;
  const port = await freePort();
  address = `http://localhost:${port}`;
  app = await buildApp({ after: (done) => cleanUp.push(() => done?.({} as never, () => {})) }, { PORT: String(port) });
  await app.http.listen({ port, host: '127.0.0.1' });
  const args = '--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync';
  browser = await chromium.launch({ executablePath, args: args.split(' ') });
});

after(async () => {
  await browser?.close();
  for (const done of cleanUp.reverse()) await done();
});

async function open(path: string, options: BrowserContextOptions = {}) {
  const context = await browser.newContext({ locale: 'en-US', ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('requestfailed', (request) => complaints.push(request.url()));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== address) complaints.push(`left the machine: ${request.url()}`);
  });
  await page.goto(address + path);
  return { page, complaints, close: () => context.close() };
}

test('without scripts the reference is whole, folds and unfolds, and asks nobody else', { skip }, async () => {
  const { page, complaints, close } = await open('/docs', { javaScriptEnabled: false });
  assert.equal(await page.getByRole('searchbox').isVisible(), false);
  assert.equal(await page.locator('.copy:visible').count(), 0);
  await page.getByRole('link', { name: 'Record a completed tip POST' }).click();
  assert.equal(new URL(page.url()).hash, '#createTip');
  const errors = page.locator('#createTip .errors');
  assert.equal(await errors.getByText('idempotency_key_reused').isVisible(), false);
  await errors.locator('summary').click();
  assert.equal(await errors.getByText('idempotency_key_reused').isVisible(), true);
  await page.getByRole('link', { name: 'Errors', exact: true }).first().click();
  await page.getByRole('heading', { name: 'Every code' }).waitFor();
  assert.deepEqual(complaints, []);
  await close();
});

test('with scripts code is copied and the contents are searched, still without leaving the machine', {
  skip,
}, async () => {
  const { page, complaints, close } = await open('/docs', { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.locator('#getMe .copy').first().click();
  await page.locator('#getMe').getByRole('button', { name: 'Copied' }).waitFor();
  assert.match(
    await page.evaluate(() => navigator.clipboard.readText()),
    /^curl "http:\/\/localhost:\d+\/v1\/me" \\\n/,
  );
  await page.keyboard.press('/');
  await page.keyboard.type('post /v1/tips create');
  const left = page.locator('.contents nav li:visible');
  await left.nth(1).waitFor({ state: 'detached' });
  assert.equal(await left.textContent(), 'Record a completed tipPOST');
  await page.keyboard.press('Enter');
  await page.waitForURL(/#createTip$/);
  assert.equal(await page.locator('.contents a[aria-current="true"]').count(), 1);
  assert.deepEqual(complaints, []);
  await close();
});

test('beside the text the contents stay in view; on a phone they are folded, and nothing sticks out', {
  skip,
}, async () => {
  for (const scripts of [true, false]) {
    const wide = await open('/docs#createTip', { javaScriptEnabled: scripts, viewport: { width: 1280, height: 800 } });
    assert.equal(await wide.page.locator('.contents').evaluate((box) => box.getBoundingClientRect().top), 0);
    assert.ok(await wide.page.locator('.contents').getByRole('link', { name: 'Scopes' }).isVisible());
    await wide.close();
  }
  for (const [width, path] of [
    [320, '/docs'],
    [390, '/docs?lang=th'],
    [390, '/docs/operations'],
    [390, '/docs/errors'],
  ] as const) {
    const { page, close } = await open(path, { viewport: { width, height: 700 } });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, path);
    assert.equal(await page.locator('.contents nav').isVisible(), false);
    await page.locator('.contents summary').click();
    await page.locator('.contents nav a').first().waitFor();
    await close();
  }
});

test('every request with a token answers as its page says when it is pasted', { skip }, async () => {
  const { creatorId, clientId, accessToken } = await makePair(app.runtime);
  const { tip } = await app.runtime.tips.record({
    creatorId,
    app: { id: clientId, name: 'App' },
    amount: 1,
    name: 'MALI',
    displayName: null,
    message: null,
  });
  const { paths } = app.document() as ApiDocument;
  const pasted = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .filter(
      ({ security, responses }) =>
        security?.[0]?.oauth2 && JSON.stringify(responses[200] ?? responses[201]).includes('application/json'),
    );
  assert.ok(pasted.length >= 9);
  const { page, close } = await open('/docs', { javaScriptEnabled: false });
  for (const { operationId, responses } of pasted) {
    const command = await page.locator(`#${operationId} .samples code`).first().textContent();
    const { stdout } = await promisify(execFile)('sh', ['-c', `${command} -s -o /dev/null -w '%{http_code}'`], {
      env: { PATH: process.env.PATH, TOKEN: accessToken, ID: tip.id },
    });
    assert.equal(stdout, Object.keys(responses)[0], operationId);
  }
  await close();
});
