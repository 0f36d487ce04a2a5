import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { seed } from '../../../sdk/test/seeded.ts';
import { until } from '../../../sdk/test/until.ts';
import {
  cards,
  type Font,
  fonts,
  motions,
  positions,
  shadows,
  type Variation,
} from '../../src/features/overlay/browser/variation.ts';
import type { Runtime } from '../../src/runtime.ts';
import { makeApp, makeCreator, makePair } from '../factories.ts';
import { asTip, hostileTexts, someTexts, worstTexts } from '../hostile-texts.ts';
import { execute } from '../sql.ts';
import { boxesOf, differingPixels, strayBoxes } from './boxes.ts';
import { launch, serveApp, skip, staticPage } from './chromium.ts';

/** SCREENSHOTS=FOLDER leaves pictures there, to be looked at. */
const folder = process.env.SCREENSHOTS;
const texts = someTexts;
const repeat = `(TEST_SEED=${seed})`;
const widths = [1280, 390];

/** `overflow-clip-margin` of headings in style.css, and a pixel for fractions. */
const clipMargin = 7;
const hideWritten = '.written, h1, h2, .notice p { visibility: hidden !important; }';

/** Nothing written is drawn outside of its box: hiding it changes no pixel elsewhere. */
async function assertInkInside(page: Page, what: string): Promise<void> {
  // A picture or a script that comes late changes pixels too, but only once.
  for (let attempt = 1; ; attempt += 1) {
    const outside = await inkOutside(page);
    if (outside === 0) return;
    assert.ok(attempt < 3, `ink outside of its box: ${what}, ${outside} pixels`);
  }
}

async function inkOutside(page: Page): Promise<number> {
  // Chromium may draw the round corners of these cards in other shades when it draws again. They are no ink.
  await page.addStyleTag({ content: '.public > * { border: 0 !important; border-radius: 0 !important; }' });
  const boxes = await boxesOf(page, '.written, h1, h2, .notice p');
  const before = await page.screenshot({ fullPage: true });
  const style = await page.addStyleTag({ content: hideWritten });
  const after = await page.screenshot({ fullPage: true });
  await style.evaluate((element) => element.parentNode?.removeChild(element));
  const again = await page.screenshot({ fullPage: true });
  return differingPixels(before, after, boxes, clipMargin, again);
}

async function assertInside(page: Page, what: string, ink: boolean): Promise<void> {
  await page.evaluate(() => document.fonts.ready);
  if (folder) await page.screenshot({ path: join(folder, `${what.replaceAll(/\W+/g, '-')}.png`), fullPage: true });
  assert.deepEqual(await page.evaluate(strayBoxes, { tall: true }), [], what);
  if (ink) await assertInkInside(page, what);
}

/** Ten looks that differ in everything: letters, size, card, shadow, position, movement, with and without a picture. */
async function hostileLooks(runtime: Runtime, creatorId: string, seconds: number): Promise<Variation[]> {
  const [first] = (await runtime.overlays.looks.get(creatorId)).draft;
  assert.ok(first);
  const red = sharp({ create: { width: 300, height: 300, channels: 3, background: 'red' } });
  const picture = await runtime.overlays.looks.upload(creatorId, {
    kind: 'picture',
    bytes: new Uint8Array(await red.png().toBuffer()),
  });
  const names = Object.keys(fonts) as Font[];
  const variations = Array.from({ length: 10 }, (_, index) => ({
    ...first,
    fromMinor: index * 1000,
    font: names[index % names.length] ?? 'plex',
    size: [60, 100, 150, 200][index % 4] ?? 100,
    card: cards[index % cards.length] ?? 'solid',
    shadow: shadows[index % shadows.length] ?? 'none',
    position: positions[index % positions.length] ?? 'middle',
    entrance: motions[index % motions.length] ?? 'fade',
    picture: index % 3 === 0 ? picture.id : null,
    template: index % 2 === 0 ? '{name} {amount}' : 'ขอบคุณมากจริง ๆ {name} {amount} สุดยอด',
    seconds,
  }));
  await runtime.overlays.looks.edit(creatorId, () => variations, [picture]);
  await runtime.overlays.looks.publish(creatorId);
  return variations;
}

test(`security 43: ${texts.length} hostile tips stay in their box in every look of the overlay ${repeat}`, {
  skip,
}, async (t) => {
  const { address, runtime } = await serveApp(t);
  const { creatorId } = await makeCreator(runtime);
  const variations = await hostileLooks(runtime, creatorId, 0.02);
  const url = `${address}/overlay/${await runtime.overlays.key(creatorId)}`;
  const browser = await launch(t);
  const seen: number[] = [];
  const strays: string[] = [];
  const pages: Page[] = [];
  for (const [width, height] of [
    [1920, 1080],
    [800, 600],
    [400, 200],
  ] as const) {
    const context = await browser.newContext({ viewport: { width, height }, ...staticPage });
    const page = await context.newPage();
    await page.exposeFunction('alertShown', (sequence: number, found: string[]) => {
      seen.push(sequence);
      for (const each of found) strays.push(`event ${sequence} at ${width}: ${each}`);
    });
    await page.addInitScript(`
      new MutationObserver((records) => {
        for (const { addedNodes } of records)
          for (const node of addedNodes)
            if (node instanceof HTMLElement && node.matches('.alert'))
              alertShown(Number(node.dataset.sequence), (${strayBoxes})({ tall: false }));
      }).observe(document, { childList: true, subtree: true });`);
    await page.goto(url);
    pages.push(page);
  }
  await until('all are connected', () => runtime.streams.connected(creatorId, 'overlay') === pages.length);
  for (const [index, [, text]] of texts.entries()) {
    const amount = ((index % variations.length) * 1000 + 100) / 100;
    await runtime.tips.record({ creatorId, app: null, amount, name: 'SOMCHAI', ...asTip(text) });
  }
  await until(
    () => `all are shown; ${seen.length} were`,
    () => seen.length === texts.length * pages.length,
  );
  assert.deepEqual([...new Set(strays)], []);
});

test(`security 43: a hostile alert draws nothing outside of its card, in whatever look ${repeat}`, {
  skip,
}, async (t) => {
  const { address, runtime } = await serveApp(t);
  const { creatorId } = await makeCreator(runtime);
  const variations = await hostileLooks(runtime, creatorId, 60);
  const browser = await launch(t);
  const context = await browser.newContext({
    ...staticPage,
    viewport: { width: 960, height: 540 },
    bypassCSP: true,
  });
  const page = await context.newPage();
  await page.goto(`${address}/overlay/${await runtime.overlays.key(creatorId)}`);
  await page.addStyleTag({ content: '.alert { box-shadow: none !important; }' });
  const empty = await page.screenshot({ omitBackground: true });
  for (const [index, [name, text]] of texts.entries()) {
    const variation = variations[index % variations.length];
    await page.evaluate(
      async ({ variation, displayName, message }) => {
        const script = document.querySelector<HTMLScriptElement>('script[type=module]')?.src ?? '';
        const { showAlert } = await import(script.replace('overlay.ts', 'stage.ts'));
        document.querySelector('.alert')?.remove();
        showAlert(1, { name: displayName, amountMinor: 2000, message }, variation);
      },
      { variation, ...asTip(text) },
    );
    const [box] = await boxesOf(page, '.alert');
    assert.ok(box);
    const path = folder && { path: join(folder, `alert-${name.replaceAll(/\W+/g, '-')}.png`) };
    const drawn = await page.screenshot({ omitBackground: true, ...path });
    // Letters and pictures that arrive late change the box.
    const boxes = [box, ...(await boxesOf(page, '.alert'))];
    assert.equal(await differingPixels(empty, drawn, boxes, 2), 0, name);
  }
});

test(`security 43: hostile tips stay in their box on the dashboard, wide and narrow ${repeat}`, { skip }, async (t) => {
  const { address, runtime } = await serveApp(t);
  const browser = await launch(t);
  for (let start = 0; start < texts.length; start += 20) {
    const { creatorId } = await makeCreator(runtime);
    const ids: string[] = [];
    for (const [, text] of texts.slice(start, start + 20)) {
      const { displayName, message } = asTip(text);
      const app = { id: 'app_x', name: [...text].slice(0, 60).join('') };
      const { tip } = await runtime.tips.record({ creatorId, app, amount: 20, name: 'SOMCHAI', displayName, message });
      if (ids.push(tip.id) % 2 === 0) await runtime.tips.void(creatorId, tip.id, { clientId: null, reason: message });
    }
    const value = await runtime.signIn.begin(creatorId, 'password', { address: '', userAgent: '' });
    for (const width of widths) {
      const context = await browser.newContext({ viewport: { width, height: 800 }, bypassCSP: true });
      await context.addCookies([{ name: 'namjai', value, url: address }]);
      const page = await context.newPage();
      for (const path of ['/dashboard', '/dashboard/overlay']) {
        await page.goto(address + path);
        await assertInside(page, `${path} ${start} ${width}`, path === '/dashboard');
        const narrow = await page.$$eval('td .button', (buttons) =>
          buttons.filter((button) => button.getBoundingClientRect().height > 60).map(({ textContent }) => textContent),
        );
        assert.deepEqual(narrow, [], 'a button keeps its words on one line');
      }
      for (const id of width < 400 ? ids : []) {
        await page.goto(`${address}/dashboard/tips/${id}`);
        await assertInside(page, `a tip’s page ${id} ${width}`, false);
      }
      await context.close();
    }
  }
});

test(`security 43: names kept from before the rules stay in their box on every page ${repeat}`, { skip }, async (t) => {
  const { address, runtime } = await serveApp(t);
  const browser = await launch(t);
  for (const key of worstTexts.filter((_, index) => process.env.PROOF || index % 2 === seed % 2)) {
    const { displayName: name } = asTip(hostileTexts[key] ?? '');
    const creator = await makeCreator(runtime);
    const { creatorId, username } = creator;
    const app = await makeApp(runtime, 'App', creatorId);
    await makePair(runtime, { creator, app });
    await execute(runtime.db, 'UPDATE creators SET display_name = $2, bio = $3, page_public = 1 WHERE id = $1', [
      creatorId,
      name,
      hostileTexts[key] ?? '',
    ]);
    await execute(runtime.db, 'UPDATE apps SET name = $2, description = $3, homepage_url = $4 WHERE id = $1', [
      app.clientId,
      name,
      hostileTexts[key] ?? '',
      `https://${'w'.repeat(63)}.${'w'.repeat(63)}.example/`,
    ]);
    const value = await runtime.signIn.begin(creatorId, 'password', { address: '', userAgent: name });
    const consent = new URLSearchParams({
      client_id: app.clientId,
      redirect_uri: 'https://app.example/callback',
      scope: 'tips.read',
      state: 's',
    });
    for (const width of widths) {
      const context = await browser.newContext({ viewport: { width, height: 800 }, bypassCSP: true });
      await context.addCookies([{ name: 'namjai', value, url: address }]);
      const page = await context.newPage();
      const paths = ['/dashboard', '/dashboard/apps', '/dashboard/profile', '/developers', '/account', `/@${username}`];
      const own = ['', '/creators', '/failures', '/webhooks'].map((end) => `/developers/apps/${app.clientId}${end}`);
      for (const path of [...paths, ...own, `/oauth/authorize?${consent}`]) {
        await page.goto(address + path);
        await assertInside(page, `${path.split('?')[0]} ${key} ${width}`, key === 'marks above');
      }
      await context.close();
    }
  }
});
