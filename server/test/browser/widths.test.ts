import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { makeCreator } from '../factories.ts';
import { pageVariants, pageWidth } from './axe.ts';
import { launch, serveApp, skip } from './chromium.ts';

/** SCREENSHOTS=FOLDER leaves pictures of the pages there, to be looked at. */
const folder = process.env.SCREENSHOTS;

test('nothing sticks out of the pages of apps, consent and profile, whatever the width, language and scheme', {
  skip,
}, async (t) => {
  const { address, runtime } = await serveApp(t);
  const { accounts, apps, grants, signIn, lastUsed } = runtime;
  const newcomer = await makeCreator(runtime, 'nok');
  const creator = await accounts.add({ username: 'mali', displayName: 'Mali มะลิ', password: 'long enough password' });
  const redirectUris = ['https://goalbot.example/oauth/callback?from=namjai', 'http://localhost:3000/callback'];
  const app = await apps.add({ name: 'Goal Bot บอทเป้าหมาย', redirectUris, ownerId: creator.id });
  const other = await apps.add({ name: 'W'.repeat(60), redirectUris, ownerId: null });
  await grants.addByOperator(creator.id, app.clientId, 'profile.read tips.read events.subscribe');
  await grants.addByOperator(creator.id, other.clientId, '');
  const endpoint = { url: `https://goalbot.example/${'w'.repeat(60)}`, types: null, description: 'Goal Bot' };
  const { id: webhookId } = await runtime.webhooks.add(app.clientId, endpoint);
  await runtime.webhooks.deliveries.ping(app.clientId, webhookId);
  const webhook = `/developers/apps/${app.clientId}/webhooks/${webhookId}`;
  const [connection] = await runtime.db.all<{ id: string }>('SELECT id FROM grants WHERE client_id = $1', [
    app.clientId,
  ]);
  lastUsed.record({ creatorId: creator.id, grantId: connection?.id ?? '' });
  const authorize = (clientId: string, scope: string) =>
    `/oauth/authorize?${new URLSearchParams({ client_id: clientId, redirect_uri: redirectUris[0] ?? '', scope, state: 's' })}`;
  const all = 'profile.read tips.read tips.create alerts.create events.subscribe';

  await runtime.profiles.update(creator.id, {
    displayName: 'Mali มะลิ',
    bio: `Draws cats, live on weekends.\nวาดแมวทุกสุดสัปดาห์ ${'W'.repeat(60)}`,
    socialLinks: [
      { platform: 'youtube', url: 'https://www.youtube.com/@mali' },
      { platform: 'W'.repeat(30), url: `https://${'a'.repeat(60)}.example/` },
    ],
    channels: ['promptpay', 'truemoney', 'bank_transfer', 'card', 'shopeepay'],
    channelDetails: {
      promptpay: { url: 'https://pay.example/mali', note: 'Scan and say hello' },
      card: { url: null, note: 'W'.repeat(140) },
    },
    pageLook: 'market',
    pagePublic: true,
  });

  const browser = await launch(t);

  // What fits a phone fits a desktop; that one is only for the pictures.
  for (const { name: variant, width, ...options } of pageVariants.filter((each) => folder || each.width < 400)) {
    const open = async (creatorId?: string): Promise<Page> => {
      const context = await browser.newContext({ ...options, viewport: { width, height: 800 } });
      if (creatorId) {
        const value = await signIn.begin(creatorId, 'password', { address: '', userAgent: '' });
        await context.addCookies([{ name: 'namjai', value, url: address }]);
      }
      return context.newPage();
    };
    const picture = async (page: Page, name: string) => {
      if (folder) await page.screenshot({ path: join(folder, `${name}-${variant}.png`), fullPage: true });
      assert.equal(await pageWidth(page), width, `${name} ${variant}`);
    };
    const visit = async (page: Page, name: string, path: string) => {
      await page.goto(address + path);
      await picture(page, name);
    };

    const stranger = await open();
    await visit(stranger, 'login', authorize(app.clientId, ''));
    await visit(stranger, 'public-profile', '/@mali');
    await visit(stranger, 'refused', '/oauth/authorize?client_id=nobody');

    const fresh = await open(newcomer.creatorId);
    await visit(fresh, 'developers-empty', '/developers');
    await visit(fresh, 'connected-empty', '/dashboard/apps');
    await visit(fresh, 'consent', authorize(app.clientId, all));
    await visit(fresh, 'consent-nothing', authorize(other.clientId, ''));

    const mali = await open(creator.id);
    await visit(mali, 'profile', '/dashboard/profile');
    await mali.locator('[name=url_2]').fill('http://x.example');
    await mali.locator('[action="/dashboard/profile"] > .actions button').click();
    await picture(mali, 'profile-wrong');
    await visit(mali, 'connected', '/dashboard/apps');
    await visit(mali, 'consent-again', authorize(app.clientId, 'tips.read'));
    await visit(mali, 'developers', '/developers');
    await visit(mali, 'register', '/developers/apps/new');
    await mali.locator('[name=redirect_uris]').fill('http://goalbot.example/\nhttps://goalbot.example/#x');
    await mali.locator('main button').click();
    await picture(mali, 'register-wrong');
    await mali.goto(`${address}/developers/apps/${app.clientId}`);
    await mali.locator('details.confirm summary').first().click();
    await picture(mali, 'app');
    await mali.locator('details.confirm form button').first().click();
    await mali.locator('#client-secret').waitFor();
    await picture(mali, 'app-secret');
    await visit(mali, 'webhook', webhook);
    await mali.locator('#replay-from').fill('');
    await mali.locator('#replay button').click();
    await picture(mali, 'webhook-wrong');
    await mali.locator('#replay-from').fill('2026-01-01T00:00');
    await mali.locator('#replay button').click();
    await mali.locator('.notice.info').waitFor();
    await picture(mali, 'webhook-replayed');
    for (const page of [stranger, fresh, mali]) await page.context().close();
  }
});
