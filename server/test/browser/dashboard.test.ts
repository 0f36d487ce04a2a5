import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCreator } from '../factories.ts';
import { pageWidth } from './axe.ts';
import { launch, serveApp, skip } from './chromium.ts';

test('new tips, sums and bars appear on an open dashboard, and nothing sticks out on a phone', { skip }, async (t) => {
  const { address, runtime } = await serveApp(t);
  const { creatorId } = await makeCreator(runtime, 'mali');
  const record = (displayName: string, amount: number) =>
    runtime.tips.record({ creatorId, app: null, amount, name: 'SOMCHAI', displayName, message: 'W'.repeat(255) });
  const value = await runtime.signIn.begin(creatorId, 'password', { address: '', userAgent: '' });
  const browser = await launch(t);
  const context = await browser.newContext({ viewport: { width: 390, height: 800 }, locale: 'th-TH' });
  await context.addCookies([{ name: 'namjai', value, url: address }]);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('console', (message) => problems.push(message.text()));
  const fits = async (what: string) => assert.equal(await pageWidth(page), 390, what);

  await page.goto(`${address}/dashboard`);
  await fits('empty');
  await page.locator('[data-live-badge]').waitFor();
  await record('<b>สมชาย</b>', 1234.5);
  await page.locator('td', { hasText: '<b>สมชาย</b>' }).waitFor();
  await page.getByText('฿1,234.50').first().waitFor();
  await page.locator('.chart svg[role=img]').waitFor();
  assert.match((await page.locator('[data-live-news]').textContent()) ?? '', /฿1,234\.50.*<b>สมชาย<\/b>/);
  await page.locator('.chart + details summary').click();
  await record('นก', 0.5);
  await page.getByText('฿1,235.00').first().waitFor();
  assert.equal(await page.locator('tr.fresh').count(), 1, 'only the new one is new');
  assert.equal(await page.locator('.chart + details').getAttribute('open'), '', 'what was unfolded stays so');
  await fits('full');

  await page.goto(`${address}/dashboard/tips?q=${encodeURIComponent('สมชาย')}`);
  assert.equal(await page.locator('[data-key]').count(), 1);
  await fits('search');
  assert.deepEqual(problems, []);
});
