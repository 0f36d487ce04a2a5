import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, BrowserContextOptions, Locator } from 'playwright-core';
import { until } from '../../../sdk/test/until.ts';
import { buildApp } from '../build-app.ts';
import { freePort } from '../server-process.ts';
import { pageWidth } from './axe.ts';
import { launch, skip } from './launch.ts';

const cleanUp: (() => unknown)[] = [];
let browser: Browser;
let address: string;

before(async () => {
  if (skip) return;
  const port = await freePort();
  address = `http://localhost:${port}`;
  const app = await buildApp(
    { after: (done) => cleanUp.push(() => done?.({} as never, () => {})) },
    { PORT: String(port) },
  );
  await app.http.listen({ port, host: '127.0.0.1' });
  browser = await launch({ after: (close) => cleanUp.push(close) });
});

after(async () => {
  for (const done of cleanUp.reverse()) await done();
});

async function open(path: string, options: BrowserContextOptions = {}) {
  const context = await browser.newContext({ locale: 'en-US', ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('requestfailed', (request) => {
    // Whoever leaves a page aborts what it still loads.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') complaints.push(request.url());
  });
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== address) complaints.push(`left the machine: ${request.url()}`);
  });
  await page.goto(address + path);
  return { page, complaints, close: () => context.close() };
}

test('without scripts the reference is whole, shows every language, and is searched on a page of its own', {
  skip,
}, async () => {
  const { page, complaints, close } = await open('/docs', { javaScriptEnabled: false });
  await page.getByRole('link', { name: 'Record a completed tip POST' }).click();
  assert.match(page.url(), /\/docs\/reference\/tips#createTip$/);
  assert.equal(await page.locator('.copy:visible').count(), 0);
  assert.equal(await page.getByRole('tab').count(), 0);
  assert.equal(await page.locator('#createTip [data-language]:visible').count(), 3);
  const errors = page.locator('#createTip .errors');
  assert.equal(await errors.getByText('idempotency_key_reused').isVisible(), false);
  await errors.locator('summary').click();
  assert.equal(await errors.getByText('idempotency_key_reused').isVisible(), true);
  await page.getByRole('searchbox').fill('tip.voided');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/docs\/search\?q=tip\.voided$/);
  await page.locator('.result').first().click();
  await page.getByRole('heading', { name: 'tip.voided' }).waitFor();
  await page.goto(`${address}/docs#createTip`);
  assert.ok(await page.locator('#createTip a').isVisible(), 'the old address leads to a link');
  assert.deepEqual(complaints, []);
  await close();
});

test('with scripts code is copied, a language is chosen once for all, and the search answers while one types', {
  skip,
}, async () => {
  const { page, complaints, close } = await open('/docs/reference/creator', {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const copied = async (button: Locator) => {
    await page.evaluate(() => navigator.clipboard.writeText(''));
    await button.click();
    await page.getByRole('button', { name: 'Copied' }).first().waitFor();
    let text = '';
    await until('the code is copied', async () => {
      text = await page.evaluate(() => navigator.clipboard.readText());
      return text !== '';
    });
    return text;
  };
  assert.match(
    await copied(page.locator('#getMe .copy:visible').first()),
    /^curl "http:\/\/localhost:\d+\/v1\/me" \\\n/,
  );
  await page.locator('#getMe').getByRole('tab', { name: 'curl' }).press('ArrowRight');
  assert.equal(
    await page.locator('#getMe').getByRole('tab', { name: 'JavaScript' }).getAttribute('aria-selected'),
    'true',
  );
  await page.locator('#getMe').getByRole('tab', { name: 'Python' }).click();
  assert.match(await copied(page.locator('#getProfile .copy:visible').first()), /^import json\n/);
  await page.goto(`${address}/docs/getting-started`);
  assert.ok(
    await page.locator('[data-operation=createTip] [data-language=Python]').isVisible(),
    'the choice is remembered',
  );
  assert.equal(await page.locator('[data-operation=createTip] [data-language]:visible').count(), 1);

  await page.keyboard.press('/');
  await page.keyboard.type('post /v1/tips');
  await until('what was typed is found first', async () => {
    const [first = ''] = await page.locator('.found a').allTextContents();
    return first.startsWith('Record a completed tip Endpoint POST');
  });
  assert.equal(await page.locator('.outline').isVisible(), false);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/docs\/reference\/tips#createTip$/);
  await page.locator('.contents a[aria-current="true"]').waitFor();
  await page.getByRole('searchbox').fill('xyzzy');
  await page.getByText('Nothing matches.').waitFor();
  await page.getByRole('searchbox').fill('');
  await page.locator('.outline').waitFor();
  await page.goto(`${address}/docs#createTip`);
  await page.waitForURL(/\/docs\/reference\/tips#createTip$/);
  assert.deepEqual(complaints, []);
  await close();
});

test('the copy button lies beside no line of a guide’s code', { skip }, async () => {
  for (const width of [1280, 390]) {
    const { page, close } = await open('/docs/operations', { viewport: { width, height: 800 } });
    await page.locator('div.code > .copy').first().waitFor();
    const gaps = await page.locator('div.code').evaluateAll((blocks) =>
      blocks.map((block) => {
        const [button, code] = [block.querySelector('.copy'), block.querySelector('pre')];
        return (code?.getBoundingClientRect().top ?? 0) - (button?.getBoundingClientRect().bottom ?? 0);
      }),
    );
    assert.ok(gaps.length > 3 && gaps.every((gap) => gap >= 0), gaps.join());
    await close();
  }
});

test('beside the text the contents stay in view; on a phone they are folded, and nothing sticks out', {
  skip,
}, async () => {
  for (const scripts of [true, false]) {
    const wide = await open('/docs/reference/tips#createTip', {
      javaScriptEnabled: scripts,
      viewport: { width: 1280, height: 800 },
    });
    assert.equal(await wide.page.locator('.contents').evaluate((box) => box.getBoundingClientRect().top), 0);
    assert.ok(await wide.page.locator('.contents').getByRole('link', { name: 'Scopes and limits' }).isVisible());
    await wide.close();
  }
  for (const [width, path] of [
    [320, '/docs'],
    [390, '/docs?lang=th'],
    [320, '/docs/reference/webhooks'],
    [390, '/docs/reference/event-types/tip.created?lang=th'],
    [390, '/docs/search?q=tip'],
    [390, '/docs/operations'],
    [390, '/docs/errors'],
  ] as const) {
    const { page, close } = await open(path, { viewport: { width, height: 700 } });
    assert.equal(await pageWidth(page), width, path);
    assert.equal(await page.locator('.contents nav').isVisible(), false);
    await page.locator('.contents summary').click();
    await page.locator('.contents nav a').first().waitFor({ state: 'visible' });
    await close();
  }
});
