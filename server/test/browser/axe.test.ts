import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { readGuides } from '../../src/features/docs/guides.ts';
import type { Runtime } from '../../src/runtime.ts';
import { makeCreator } from '../factories.ts';
import { chosenVariants, pageWidth, violations } from './axe.ts';
import { launch, serveApp, skip } from './chromium.ts';

/** SCREENSHOTS=FOLDER leaves pictures of the pages there, to be looked at. */
const folder = process.env.SCREENSHOTS;

const variants = ['en-US', 'th-TH'].flatMap((locale) =>
  (['light', 'dark'] as const).flatMap((colorScheme) =>
    [1280, 390].map((width) => ({ locale, colorScheme, width, name: `${locale.slice(0, 2)}-${colorScheme}-${width}` })),
  ),
);

const refused = new Map([
  ['/nothing-here', 404],
  ['/oauth/authorize?client_id=none', 400],
]);

/** Every page, as whoever sees it; those of the demo creator with what the demo world holds. */
async function pagesOf(runtime: Runtime) {
  const world = await runtime.demo.world();
  assert.ok(world);
  const { creatorId, clientId } = world;
  const newcomer = await makeCreator(runtime, 'newcomer');
  const redirectUri = 'https://goalbot.example/callback';
  const other = await runtime.apps.add({
    name: 'Goal Bot',
    redirectUris: [redirectUri],
    ownerId: newcomer.creatorId,
    description: 'Shows your goal on stream and tells chat how far it is. แสดงเป้าหมายบนสตรีม',
    homepage: 'https://goalbot.example',
    privacy: 'https://goalbot.example/privacy',
  });
  const logo = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#c2410c' } })
    .png()
    .toBuffer();
  await runtime.logos.set(newcomer.creatorId, other.clientId, logo);
  await runtime.grants.addByOperator(creatorId, other.clientId, 'profile.read tips.read');
  const consent = { client_id: other.clientId, redirect_uri: redirectUri, scope: 'profile.read tips.read', state: 's' };
  const program = await runtime.apps.addPublic({
    name: 'Stream Deck',
    redirectUris: [redirectUri],
    ownerId: newcomer.creatorId,
  });
  const challenge = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' };
  const publicConsent = { ...consent, client_id: program.clientId, ...challenge };
  const receiver = { url: 'https://goalbot.example/hook', types: null, description: 'Goal Bot' };
  const { id: webhookId } = await runtime.webhooks.add(clientId, receiver);
  const { id: deliveryId } = await runtime.webhooks.deliveries.ping(clientId, webhookId);
  const [tip] = (await runtime.tips.page(creatorId, { from: null, to: null, status: null }, null, 1)).tips;
  const failed = {
    method: 'GET',
    path: '/v1/tips?limit=…',
    status: 422,
    code: 'validation_failed',
    fields: '["limit"]',
  };
  for (let i = 0; i < 60; i++)
    runtime.failures.record(clientId, (at) => ({ ...failed, at, id: `req_${String(i).padStart(26, '0')}` }));
  const app = `/developers/apps/${clientId}`;
  const webhook = `${app}/webhooks/${webhookId}`;
  const guides = (await readGuides()).map(({ name }) => `/docs/${name}`);
  const pages = ['oauth', 'creator', 'tips', 'alerts', 'events', 'webhooks', 'event-types', 'scopes', 'errors'];
  const reference = pages.map((page) => `/docs/reference/${page}`);
  return [
    {
      who: 'stranger',
      creatorId: null,
      paths: [
        ...['/', '/login', '/login/recovery', '/signup', '/@demo', '/nothing-here', '/oauth/authorize?client_id=none'],
        ...['/docs', '/docs/search?q=tip', ...(process.env.PROOF ? guides : guides.slice(0, 1))],
        ...(process.env.PROOF ? reference : reference.slice(2, 3)),
        '/docs/reference/event-types/tip.created',
        `/moderate/${await runtime.moderators.add(creatorId, 'Nok')}`,
      ],
    },
    {
      who: 'newcomer',
      creatorId: newcomer.creatorId,
      paths: [
        ...['', '/tips/new', '/goals', '/live', '/overlay', '/screening', '/connections', '/apps'].map(
          (end) => `/dashboard${end}`,
        ),
        ...['/developers', `/oauth/authorize?${new URLSearchParams(consent)}`],
        ...[
          '/device',
          `/oauth/authorize?${new URLSearchParams(publicConsent)}`,
          `/developers/apps/${program.clientId}`,
        ],
      ],
    },
    {
      who: 'demo',
      creatorId,
      paths: [
        ...[
          '',
          '/tips',
          `/tips/${tip?.id}`,
          '/live',
          '/screening',
          '/overlay',
          '/overlay/looks',
          '/goals',
          '/apps',
        ].map((end) => `/dashboard${end}`),
        ...[
          '/dashboard/profile',
          '/account',
          '/account/data',
          '/account/activity',
          '/logout',
          '/developers',
          '/developers/apps/new',
        ],
        ...[
          app,
          `${app}/creators`,
          `${app}/failures`,
          `${app}/webhooks`,
          `${app}/webhooks/new`,
          webhook,
          `${webhook}/deliveries/${deliveryId}`,
        ],
      ],
    },
  ];
}

/** The pages that follow the code of a device. */
async function connectDevice({ apps, devices }: Runtime, page: Page, inspect: (path: string) => Promise<void>) {
  const clientId = await apps.cliClientId();
  const { verification_uri_complete } = await devices.begin(clientId, ['tips.read', 'tips.create'], '203.0.113.9');
  await page.goto(verification_uri_complete);
  await page.locator('main form button').click();
  await inspect('/device consent');
  await page.locator('button[value="approve"]').click();
  await inspect('/device done');
  await page.goto(verification_uri_complete);
  await page.locator('main form button').click();
  await inspect('/device wrong');
}

for (const { name: variant, width, ...options } of chosenVariants(variants))
  test(`axe finds nothing wrong with any page: ${variant}`, { skip }, async (t) => {
    const { address, runtime } = await serveApp(t);
    await runtime.demo.ensure();
    const browser = await launch(t);
    const found: string[] = [];
    const inspect = async (page: Page, who: string, path: string) => {
      await page.evaluate(() => document.fonts.ready);
      const file = `${who}${path.replaceAll(/\W+/g, '-').slice(0, 150)}-${variant}.png`;
      if (folder) await page.screenshot({ path: join(folder, file), fullPage: true });
      for (const each of await violations(page)) found.push(`${who} ${path} ${each}`);
      const wide = await pageWidth(page);
      if (wide !== width) found.push(`${who} ${path} is ${wide} wide`);
    };
    for (const { who, creatorId, paths } of await pagesOf(runtime)) {
      const context = await browser.newContext({ ...options, viewport: { width, height: 900 } });
      if (creatorId) {
        const value = await runtime.signIn.begin(creatorId, 'password', { address: '', userAgent: '' });
        await context.addCookies([{ name: 'namjai', value, url: address }]);
      }
      const page = await context.newPage();
      for (const path of paths) {
        const status = (await page.goto(address + path))?.status();
        if (status !== (refused.get(path) ?? 200)) found.push(`${who} ${path} answers ${status}`);
        await inspect(page, who, path);
      }
      if (who === 'newcomer') await connectDevice(runtime, page, (path) => inspect(page, who, path));
      await context.close();
    }
    assert.deepEqual(found, []);
  });
