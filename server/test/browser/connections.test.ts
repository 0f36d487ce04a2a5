import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { Runtime } from '../../src/runtime.ts';
import { makeCreator } from '../factories.ts';
import { hostileTexts } from '../hostile-texts.ts';
import { execute } from '../sql.ts';
import { violations } from './axe.ts';
import { strayBoxes } from './boxes.ts';
import { launch, serveApp, skip } from './chromium.ts';

/** SCREENSHOTS=FOLDER leaves pictures of the pages in every variant there. */
const folder = process.env.SCREENSHOTS;
const variants = [
  { locale: 'en-US', colorScheme: 'light', width: 1280 },
  { locale: 'th-TH', colorScheme: 'dark', width: 390 },
  ...(folder
    ? ([
        { locale: 'th-TH', colorScheme: 'light', width: 1280 },
        { locale: 'en-US', colorScheme: 'dark', width: 390 },
      ] as const)
    : []),
] as const;

const home = '/dashboard/connections';

/** Connections in every state, of which one has answers that want to leave their place. */
async function makeConnections(runtime: Runtime, creatorId: string): Promise<{ off: string; failed: string }> {
  const { connections, streamKeys, db } = runtime;
  const url = 'https://discord.com/api/webhooks/1234567890/secret-of-the-hook';
  const on = await connections.add(creatorId, { kind: 'discord', url, label: 'ห้องทิป in my server' });
  const off = await connections.add(creatorId, { kind: 'discord', url, label: 'W'.repeat(60) });
  const bot = `https://${'w'.repeat(60)}.example/kofi`;
  const failed = await connections.add(creatorId, { kind: 'kofi', url: bot, minAmountMinor: 5000 });
  const paused = await connections.add(creatorId, { kind: 'kofi', url: bot });
  await connections.test(creatorId, on.id);
  for (const text of [...Object.values(hostileTexts).slice(0, 7), 'W'.repeat(900)]) {
    await connections.test(creatorId, failed.id);
    const attempt = { at: '2026-11-15T04:00:00.000Z', status_code: 500, duration_ms: 132, error: null };
    const attempts = JSON.stringify([attempt, { ...attempt, response_body: text }]);
    const sql = `UPDATE webhook_deliveries SET status = 'failed', due_at = NULL, attempts = $2 WHERE endpoint_id = $1 AND status = 'pending'`;
    await execute(db, sql, [failed.id, attempts]);
  }
  await connections.change(creatorId, paused.id, { enabled: false });
  await execute(db, `UPDATE webhook_endpoints SET enabled = 0, disabled_reason = 'gone' WHERE id = $1`, [off.id]);
  await streamKeys.make(creatorId, { label: `OBS ${'W'.repeat(50)}`, minimumMinor: 2000 });
  return { off: off.id, failed: failed.id };
}

test('the pages of connections hold their boxes and what axe asks for; keys are made by keyboard', {
  skip,
}, async (t) => {
  const { address, runtime } = await serveApp(t);
  const { creatorId } = await makeCreator(runtime, 'mali');
  const { off, failed } = await makeConnections(runtime, creatorId);
  const browser = await launch(t);
  const open = (options: BrowserContextOptions) => signedIn(browser, runtime, creatorId, options);
  const found: string[] = [];

  for (const { width, ...variant } of variants) {
    const page = await open({ ...variant, viewport: { width, height: 900 } });
    const inspect = async (what: string) => {
      const name = `connections${what.replaceAll(/\W+/g, '-')}-${variant.locale.slice(0, 2)}-${variant.colorScheme}-${width}`;
      await page.waitForLoadState();
      await page.evaluate(() => document.fonts.ready);
      if (folder) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
      const strays = await page.evaluate(strayBoxes, { tall: true });
      for (const each of [...(await violations(page)), ...strays]) found.push(`${name}: ${each}`);
    };
    for (const path of [...(folder ? ['/new/discord'] : []), '/new/kofi', `/${off}`, `/${failed}`, '']) {
      await page.goto(address + home + path);
      await inspect(path.replace(off, 'off').replace(failed, 'failed'));
    }
    // Without a mouse: the field, its text, and Enter.
    await page.locator('#key-name').focus();
    await page.keyboard.type('Bot');
    await page.keyboard.press('Enter');
    assert.match(await page.locator('#stream-key').inputValue(), /^njk_\w{43}$/);
    await page.locator('[data-copy="stream-key"]').waitFor();
    await inspect(' new key');
    await page.context().close();
  }
  assert.deepEqual(found, []);
  const made = (await runtime.streamKeys.list(creatorId)).filter(({ label }) => label === 'Bot');
  assert.equal(made.length, variants.length);

  const plain = await open({ javaScriptEnabled: false });
  await plain.goto(address + home);
  const revoke = plain.locator('#stream-keys details').last();
  await revoke.locator('summary').click();
  await revoke.locator('form button').click();
  await plain.waitForURL(/#stream-keys$/);
  assert.equal((await runtime.streamKeys.list(creatorId)).length, variants.length, 'without scripts a key is revoked');
});

async function signedIn(
  browser: Browser,
  { signIn, config }: Runtime,
  creatorId: string,
  options: BrowserContextOptions,
): Promise<Page> {
  const context = await browser.newContext(options);
  const value = await signIn.begin(creatorId, 'password', { address: '', userAgent: '' });
  await context.addCookies([{ name: 'namjai', value, url: config.authUrl }]);
  return context.newPage();
}
