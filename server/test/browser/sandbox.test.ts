import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeApp, makeCreator } from '../factories.ts';
import { pageVariants, pageWidth, violations } from './axe.ts';
import { launch, serveApp, skip } from './chromium.ts';

/** SCREENSHOTS=FOLDER leaves pictures of the pages there, to be looked at. */
const folder = process.env.SCREENSHOTS;

test('the pages of sandbox creators and of chaos fit, axe finds nothing wrong, and the console follows what happens', {
  skip,
}, async (t) => {
  const { address, runtime, clock } = await serveApp(t);
  const { sandbox, chaos, signIn, tips, webhooks } = runtime;
  const developer = await makeCreator(runtime, 'dev');
  const newcomer = await makeCreator(runtime, 'newcomer');
  const { clientId } = await makeApp(runtime, 'Goal Bot บอทเป้าหมาย', developer.creatorId);
  await makeApp(runtime, 'W'.repeat(60), developer.creatorId);
  await webhooks.add(clientId, { url: 'https://goalbot.example/hook', types: null, description: null });
  const browser = await launch(t);
  const chosen =
    folder || process.env.PROOF ? pageVariants : pageVariants.filter(({ name }) => name === 'phone-light-th');

  for (const { name: variant, width, ...options } of chosen) {
    const open = async (creatorId: string) => {
      const context = await browser.newContext({ ...options, viewport: { width, height: 800 } });
      const value = await signIn.begin(creatorId, 'password', { address: '', userAgent: '' });
      await context.addCookies([{ name: 'namjai', value, url: address }]);
      return context.newPage();
    };
    const inspect = async (page: Awaited<ReturnType<typeof open>>, name: string) => {
      if (folder) await page.screenshot({ path: join(folder, `sandbox-${name}-${variant}.png`), fullPage: true });
      assert.equal(await pageWidth(page), width, `${name} ${variant}`);
      assert.deepEqual(await violations(page), [], `${name} ${variant}`);
    };
    const fresh = await open(newcomer.creatorId);
    await fresh.goto(`${address}/developers/sandbox`);
    await inspect(fresh, 'empty');
    await fresh.context().close();

    const page = await open(developer.creatorId);
    await page.goto(`${address}/developers/sandbox`);
    await page.locator('#field-name').fill(`Trial ${variant}`);
    await page.locator('main form button').click();
    await page.locator('#console').waitFor();
    await inspect(page, 'new');
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    await page.locator(`form:has(input[value="${clientId}"]) button`).first().click();
    await page.locator('#access-token').waitFor();
    await inspect(page, 'tokens');
    await page.goto(`${address}/developers/sandbox/${id}`);
    await page.locator('#field-message').fill('สู้ ๆ นะ '.repeat(20));
    await page.locator('#console form button').first().click();
    await page.locator('#happened li').waitFor();
    // The list follows what the app does, without a click.
    const before = await page.locator('#happened li').count();
    const words = { name: 'SOMCHAI', displayName: 'W'.repeat(40), message: 'W'.repeat(255) };
    const tip = { creatorId: id, app: { id: clientId, name: 'Goal Bot' }, amount: 99_999.5, ...words };
    const { tip: recorded } = await tips.record(tip);
    await page.locator('#happened li').nth(before).waitFor();
    await page.locator('#happened details summary').first().click();
    await page.locator('#happened pre').first().waitFor();
    await page.locator('h1').click();
    await tips.void(id, recorded.id, { clientId: null, reason: null });
    await page
      .locator('#happened li')
      .nth(before + 2)
      .waitFor();
    assert.equal(await page.locator('#happened pre').filter({ visible: true }).count(), 1, 'what is unfolded stays so');
    await inspect(page, 'console');
    await page.locator('#console details summary').click();
    await page.locator('#field-json').fill('{"type": "tip.created", "amount": "5"}');
    await page.locator('#console details form button').click();
    await page.locator('#console .notice.error').waitFor();
    await inspect(page, 'json-wrong');
    await page.goto(`${address}/developers/sandbox/${id}`);
    await page.locator('#happened a[href*="/trace/"]').first().click();
    await page.locator('.trace').waitFor();
    await inspect(page, 'trace');
    await page.goto(`${address}/developers/sandbox`);
    await inspect(page, 'list');
    await page.goto(`${address}/developers/apps/${clientId}/creators`);
    await inspect(page, 'connected');

    await page.goto(`${address}/developers/sandbox/${id}/chaos`);
    await inspect(page, 'chaos-apps');
    await page.goto(`${address}/developers/sandbox/${id}/chaos/${clientId}`);
    await inspect(page, 'chaos-off');
    const pair = { creatorId: id, clientId };
    await chaos.save(pair, 'W'.repeat(64), { rate_limited: 900, token_expired: 100 });
    for (const key of ['payment-1', 'k'.repeat(255), null])
      await chaos.count({ ...pair, channel: 'call', amount: 1, subject: 'POST /v1/tips', requestId: 'req_1', key });
    await page.reload();
    await inspect(page, 'chaos-on');
    await page.locator('details.confirm summary').click();
    await page.locator('[name="share.slow"]').fill('lots');
    await page.locator('details.confirm form button').click();
    await page.locator('.notice.error').first().waitFor();
    await inspect(page, 'chaos-wrong');
    await page.locator('form[action$="/stop"] button').click();
    await page.locator('.notice.ok').waitFor();
    await inspect(page, 'chaos-report');
    await page.context().close();
    await sandbox.remove(developer.creatorId, id);
    clock.advance(60_000);
  }
});
