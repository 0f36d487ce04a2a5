import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import Fastify from 'fastify';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { launch, skip } from '../../../test/browser/launch.ts';
import { createAssets } from './assets.ts';
import * as blocks from './blocks.ts';
import { useFormBodies } from './form-body.ts';
import { createTimes, money } from './format.ts';
import { field, form } from './forms.ts';
import { pageHeaders } from './headers.ts';
import { html } from './html.ts';
import { languageOf, rememberLanguage } from './i18n.ts';
import { createPage } from './layout.ts';

const app = Fastify();
const posted: (string | undefined)[] = [];
const endings: (() => unknown)[] = [];
let browser: Browser;
let address: string;

before(async () => {
  if (skip) return;
  const assets = createAssets();
  const page = createPage(assets, {
    dashboard: { href: '/dashboard', en: 'Dashboard', th: 'ภาพรวม' },
    overlay: { href: '/dashboard/overlay', en: 'Overlay', th: 'โอเวอร์เลย์' },
    apps: { href: '/dashboard/apps', en: 'Connected apps', th: 'แอปที่เชื่อมต่อ' },
    developers: { href: '/developers', en: 'Developers', th: 'นักพัฒนา' },
  });
  const module = assets.add(new URL('./fixtures/browser/main.ts', import.meta.url));
  const { time } = createTimes('Asia/Bangkok');
  const long = 'njs_'.padEnd(47, 'w');
  assets.register(app);
  app.register(async (scope) => {
    useFormBodies(scope);
    pageHeaders(scope, { https: false });
    rememberLanguage(scope, { secure: false });
    scope.get('/', (request, reply) =>
      reply.type('text/html').send(
        page({
          lang: languageOf(request),
          url: request.url,
          title: 'Base',
          user: { displayName: long, csrf: 't' },
          modules: [module()],
          body: html`!${blocks.heading({ title: long })}!${blocks.card({
            body: html`!${blocks.copyable({ id: 'secret', label: 'Secret', value: long, copy: 'Copy', copied: 'Copied' })}
            !${blocks.table({ caption: 'Tips', columns: [{ label: 'When' }, { label: 'Amount', numeric: true }, { label: 'Message' }], rows: [[time(new Date(0), 'th'), html`${money(123456789)}`, html`${long}`]] })}
            !${blocks.rows([{ title: html`${long}`, text: html`${long}`, aside: blocks.badge('ok', 'ok') }])}
            !${blocks.definitions([['Address', html`${long}`]])}
            !${blocks.confirm({ summary: 'Delete', text: 'For good.', action: form({ action: '/save', csrf: 't', body: blocks.button('Yes') }) })}
            !${form({ action: '/save', csrf: 't', body: html`!${field({ name: 'site', type: 'url', label: 'Site', required: true, error: 'Wrong' })}!${blocks.button('Save')}` })}`,
          })}`,
        }),
      ),
    );
    scope.post('/save', (request, reply) => {
      posted.push(request.headers.origin);
      return reply.redirect('/', 303);
    });
  });
  address = await app.listen({ port: 0, host: '127.0.0.1' });
  browser = await launch({ after: (close) => endings.push(close) });
});

after(async () => {
  for (const end of endings) await end();
  await app.close();
});

async function open(options: BrowserContextOptions = {}) {
  const context = await browser.newContext({ locale: 'en-US', ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('requestfailed', (request) => complaints.push(request.url()));
  await page.goto(address);
  return { page, complaints, close: () => context.close() };
}

test('stylesheet and modules load under the strict policy, relative imports included', { skip }, async () => {
  const { page, complaints, close } = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
  await page.waitForFunction(() => document.title === 'Hello น้ำใจ');
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).display), 'flex');
  assert.equal(await page.locator('.brand img').evaluate((image: HTMLImageElement) => image.naturalWidth > 0), true);
  assert.equal(await page.locator('#field-site').evaluate((input) => input === document.activeElement), true);
  await page.getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'njs_'.padEnd(47, 'w'));
  assert.deepEqual(complaints, []);
  await close();
});

test('without scripts the language switches, a form posts with our origin, a confirmation unfolds', {
  skip,
}, async () => {
  const { page, complaints, close } = await open({ javaScriptEnabled: false });
  assert.equal(await page.getByText('Copy', { exact: true }).isVisible(), false);
  await page.getByRole('link', { name: 'ไทย' }).click();
  await page.getByRole('link', { name: 'แอปที่เชื่อมต่อ' }).waitFor();
  // Leaving the page before would break off its pictures.
  await page.waitForLoadState();
  await page.goto(address);
  await page.getByRole('link', { name: 'English' }).waitFor();
  posted.length = 0;
  // Both lead back to this address, so the address tells nothing.
  const saved = page.waitForEvent('load');
  await page.getByRole('button', { name: 'Save' }).click();
  await saved;
  await page.getByText('Delete').click();
  const deleted = page.waitForEvent('load');
  await page.getByRole('button', { name: 'Yes' }).click();
  await deleted;
  assert.deepEqual(posted, [address, address]);
  assert.deepEqual(complaints, []);
  await close();
});

test('a second click while a form is on its way sends nothing; after the answer it can be sent again', {
  skip,
}, async () => {
  const { page, close } = await open();
  posted.length = 0;
  for (const round of [1, 2]) {
    const saved = page.waitForEvent('load');
    const refused = await page.evaluate(() => {
      const form = document.querySelector<HTMLFormElement>('form:has([name=site])');
      const seen: boolean[] = [];
      addEventListener('submit', (event) => seen.push(event.defaultPrevented));
      form?.requestSubmit();
      form?.requestSubmit();
      return seen;
    });
    assert.deepEqual(refused, [false, true]);
    await saved;
    assert.equal(posted.length, round);
  }
  await close();
});

test('nothing sticks out at phone width', { skip }, async () => {
  for (const width of [320, 390]) {
    const { page, close } = await open({ viewport: { width, height: 700 } });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    await close();
  }
});

test('the keyboard can skip to the content and open and close the menu', { skip }, async () => {
  const { page, close } = await open();
  const skipLink = page.locator('a, button, input, summary').first();
  await skipLink.focus();
  assert.equal(await skipLink.evaluate((link) => getComputedStyle(link).clipPath), 'none');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'content');
  await page.locator('.menu summary').press('Enter');
  await page.getByRole('link', { name: 'Account and security' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Account and security' }).waitFor({ state: 'hidden' });
  await close();
});
