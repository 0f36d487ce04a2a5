import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeCreator } from '../factories.ts';
import { violations } from './axe.ts';
import { launch, serveApp, skip } from './chromium.ts';

/** SCREENSHOTS=FOLDER leaves pictures of the pages there, to be looked at. */
const folder = process.env.SCREENSHOTS;

const looks = ['en-US', 'th-TH'].flatMap((locale) =>
  (['light', 'dark'] as const).flatMap((colorScheme) =>
    [1280, 390].map((width) => ({ locale, colorScheme, width, name: `${locale.slice(0, 2)}-${colorScheme}-${width}` })),
  ),
);

const pagesOf = {
  stranger: ['/', '/login', '/login/recovery', '/signup', '/docs', '/docs/overlay', '/@demo', '/nothing-here'],
  newcomer: [
    '/dashboard',
    '/dashboard/tips/new',
    '/dashboard/goals',
    '/dashboard/live',
    '/dashboard/overlay',
    '/dashboard/screening',
    '/dashboard/apps',
    '/developers',
  ],
  demo: [
    '/dashboard',
    '/dashboard/tips',
    '/dashboard/live',
    '/dashboard/screening',
    '/dashboard/overlay',
    '/dashboard/overlay/looks',
    '/dashboard/goals',
    '/dashboard/apps',
    '/dashboard/profile',
    '/account',
    '/developers',
    '/developers/apps/new',
  ],
} as const;

/** Half of them, in which every language meets every scheme and width; all with `npm run proof -- pages`. */
const half = ['en-light-1280', 'en-dark-390', 'th-dark-1280', 'th-light-390'];
const chosen = process.env.PROOF || folder ? looks : looks.filter(({ name }) => half.includes(name));

for (const { name: look, width, ...options } of chosen)
  test(`axe finds nothing wrong with any page: ${look}`, { skip }, async (t) => {
    const { address, runtime } = await serveApp(t);
    await runtime.demo.ensure();
    const world = await runtime.demo.world();
    assert.ok(world);
    const newcomer = await makeCreator(runtime, 'newcomer');
    const browser = await launch(t);
    const found: string[] = [];
    for (const [who, paths] of Object.entries(pagesOf)) {
      const context = await browser.newContext({ ...options, viewport: { width, height: 900 } });
      if (who !== 'stranger') {
        const creatorId = who === 'demo' ? world.creatorId : newcomer.creatorId;
        const value = await runtime.signIn.begin(creatorId, 'password', { address: '', userAgent: '' });
        await context.addCookies([{ name: 'namjai', value, url: address }]);
      }
      const page = await context.newPage();
      for (const path of paths) {
        await page.goto(address + path);
        await page.evaluate(() => document.fonts.ready);
        const file = `${who}${path.replaceAll(/\W+/g, '-')}-${look}.png`;
        if (folder) await page.screenshot({ path: join(folder, file), fullPage: true });
        for (const each of await violations(page)) found.push(`${who} ${path} ${each}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        if (wide !== width) found.push(`${who} ${path} is ${wide} wide`);
      }
      await context.close();
    }
    assert.deepEqual(found, []);
  });
