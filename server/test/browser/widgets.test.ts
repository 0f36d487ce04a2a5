import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { seed } from '../../../sdk/test/seeded.ts';
import { until } from '../../../sdk/test/until.ts';
import { type Font, fonts } from '../../src/features/overlay/browser/variation.ts';
import { withLook } from '../../src/features/overlay/index.ts';
import { makeCreator } from '../factories.ts';
import { asTip, someTexts } from '../hostile-texts.ts';
import { violations } from './axe.ts';
import { strayBoxes } from './boxes.ts';
import { launch, serveApp, skip, staticPage } from './chromium.ts';

/** SCREENSHOTS=FOLDER leaves pictures of the widgets there, to be looked at. */
const folder = process.env.SCREENSHOTS;

const paths = ['goal', 'latest', 'top?period=day', 'top?period=month', 'top?period=all', 'total?period=month'];

async function open(t: TestContext) {
  const app = await serveApp(t);
  const { runtime, address } = app;
  const { creatorId } = await makeCreator(runtime);
  const key = await runtime.overlays.key(creatorId);
  const browser = await launch(t);
  const context = await browser.newContext({ viewport: { width: 480, height: 400 }, reducedMotion: 'reduce' });
  return {
    ...app,
    creatorId,
    browser,
    show: async (path: string): Promise<Page> => {
      const page = await context.newPage();
      await page.goto(`${address}/overlay/${key}/${path}`);
      return page;
    },
    url: (path: string) => `${address}/overlay/${key}/${path}`,
    tip: async (displayName: string, amount: number, message: string | null = null) =>
      (await runtime.tips.record({ creatorId, app: null, amount, name: 'SOMCHAI', displayName, message })).tip,
    takeBack: (id: string) => runtime.tips.void(creatorId, id, { clientId: null, reason: null }),
  };
}

const textOf = (page: Page): Promise<string> =>
  page.evaluate(() => document.body.innerText.replace(/\s+/g, ' ').trim());

async function shows(page: Page, text: string): Promise<void> {
  let seen = '';
  await until(
    () => `the widget shows “${text}”; it shows “${seen}”`,
    async () => {
      seen = await textOf(page);
      return seen === text;
    },
  );
}

test('widgets show tips, voids, goals and new colours by themselves, and a day that ends', { skip }, async (t) => {
  const { runtime, clock, creatorId, show, tip, takeBack } = await open(t);
  const pages = await Promise.all(paths.map(show));
  const [goal, latest, day, month, all, total] = pages as [Page, Page, Page, Page, Page, Page];
  await shows(total, 'This month ฿0');
  await until('all are connected', () => runtime.streams.connected(creatorId, 'widget') === paths.length);
  for (const page of [goal, latest, day, month, all]) await shows(page, '');
  await runtime.goals.add(creatorId, { title: 'ไมค์ใหม่', targetMinor: 30_000, startsAt: clock(), endsAt: null });
  await shows(goal, 'ไมค์ใหม่ ฿0 / ฿300 0%');
  await tip('แอน', 100, '<b>สู้ ๆ</b>');
  const { id } = await tip('Bee', 150.5);
  await shows(goal, 'ไมค์ใหม่ ฿250.50 / ฿300 83%');
  await shows(latest, 'Latest tips Bee ฿150.50 แอน ฿100 <b>สู้ ๆ</b>');
  await shows(day, 'Top supporters today Bee ฿150.50 แอน ฿100');
  await shows(month, 'Top supporters this month Bee ฿150.50 แอน ฿100');
  await shows(total, 'This month ฿250.50');
  await takeBack(id);
  await shows(goal, 'ไมค์ใหม่ ฿100 / ฿300 33%');
  await shows(latest, 'Latest tips แอน ฿100 <b>สู้ ๆ</b>');
  await shows(all, 'Top supporters แอน ฿100');
  await shows(total, 'This month ฿100');
  const { settings } = await runtime.overlays.get(creatorId);
  await runtime.overlays.saveSettings(creatorId, { ...settings, background: '#102030' });
  await until('the new colour', async () =>
    (
      await goal.evaluate(() => getComputedStyle(document.querySelector('.widget') as Element).backgroundColor)
    ).includes('16, 32, 48'),
  );
  assert.equal(
    (await runtime.tips.byId(creatorId, (await runtime.tips.latest(creatorId, 1))[0]?.id ?? '')).alert.status,
    'queued',
  );

  // A minute before midnight of the last day of the month; the pages learn of it by their next refresh.
  clock.set('2026-11-30T16:59:59.900Z');
  await tip('Cat', 5);
  await shows(day, 'Top supporters today Cat ฿5');
  clock.set('2026-11-30T17:00:00.000Z');
  await shows(day, '');
  await shows(month, '');
  await shows(total, 'This month ฿0');
  await shows(all, 'Top supporters แอน ฿100 Cat ฿5');
});

test('a widget wears the look of the alerts, or of the alert of an amount', { skip }, async (t) => {
  const { runtime, creatorId, show, tip } = await open(t);
  const { looks } = runtime.overlays;
  await tip('แอน', 100);
  await looks.edit(creatorId, (draft) => {
    const [small] = withLook(draft, 'arcade');
    const [large] = withLook(draft, 'letter');
    return small && large && [small, { ...large, fromMinor: 50_000 }];
  });
  await looks.publish(creatorId);
  const styleOf = async (path: string) => {
    const page = await show(path);
    await page.locator('.widget').waitFor();
    return page.evaluate(() => {
      const { backgroundColor, fontFamily, webkitTextStrokeWidth, textShadow } = getComputedStyle(
        document.querySelector('.widget') as Element,
      );
      return [backgroundColor, fontFamily.split(',')[0], webkitTextStrokeWidth !== '0px', textShadow !== 'none'];
    });
  };
  const [ground, ...arcade] = await styleOf('latest');
  assert.match(String(ground), /0\.8\)$/, 'glass');
  assert.deepEqual(arcade, ['"Chakra Petch"', false, true]);
  assert.deepEqual(await styleOf('latest?look=500'), ['rgba(0, 0, 0, 0)', 'Mali', true, false]);
  assert.deepEqual((await styleOf('latest?look=499.99'))[1], '"Chakra Petch"');
});

/** How many pixels differ much: edges of letters may differ a little between two pictures. */
async function markedPixels(before: Buffer, after: Buffer): Promise<number> {
  const [a, b] = await Promise.all([before, after].map((png) => sharp(png).greyscale().raw().toBuffer()));
  return a && b ? a.filter((value, index) => Math.abs(value - (b[index] ?? 0)) > 80).length : Number.NaN;
}

test('no font loses the tone marks and low vowels of Thai, on the overlay and on widgets', { skip }, async (t) => {
  const { runtime, creatorId, browser, url, clock } = await open(t);
  const words = 'น้ำใจปู่ ญี่ปุ่น ฐูฟื้น';
  const tip = { creatorId, app: null, amount: 20, name: 'SOMCHAI', displayName: words, message: words };
  await runtime.goals.add(creatorId, { title: words, targetMinor: 9_000, startsAt: clock(), endsAt: null });
  await runtime.tips.record(tip);
  for (const font of Object.keys(fonts) as Font[]) {
    await runtime.overlays.looks.edit(creatorId, (draft) =>
      draft.map((look) => ({ ...look, font, entrance: 'fade' as const, seconds: 60 })),
    );
    await runtime.overlays.looks.publish(creatorId);
    const context = await browser.newContext({ viewport: { width: 480, height: 300 }, ...staticPage });
    const page = await context.newPage();
    for (const path of ['', 'latest', 'goal']) {
      await page.goto(url(path).replace(/\/$/, ''));
      if (path === '') await runtime.tips.record(tip);
      await page.locator('.alert, .widget').first().waitFor();
      await page.evaluate(() => document.fonts.ready);
      await page.evaluate(() => Promise.all(document.getAnimations().map(({ finished }) => finished)));
      const drawn = await page.screenshot();
      await page.evaluate(() => {
        for (const box of document.querySelectorAll<HTMLElement>('.alert p, .name, .label, .message'))
          box.style.overflow = 'visible';
      });
      const clipped = await markedPixels(drawn, await page.screenshot());
      assert.ok(clipped < 4, `${font} loses ${clipped} pixels on ${path || 'the overlay'}`);
    }
    await context.close();
  }
});

test('widgets: axe-core finds nothing, in both languages', { skip }, async (t) => {
  const { runtime, clock, creatorId, browser, url, tip } = await open(t);
  await runtime.goals.add(creatorId, {
    title: 'ไมค์ใหม่ New mic',
    targetMinor: 300_000,
    startsAt: clock(),
    endsAt: null,
  });
  for (const [name, amount, message] of [
    ['สมชาย ใจดี', 150.5, 'สู้ ๆ นะ เป็นกำลังใจให้เสมอ'],
    ['Ann', 1234, 'Great stream! Greetings from Chiang Mai, see you on Sunday again.'],
    ['Bee', 20, null],
    ['น้ำใจ', 500, 'ขอบคุณ'],
    ['Somebody with a rather long name here', 99, null],
  ] as const)
    await tip(name, amount, message);
  const context = await browser.newContext({ viewport: { width: 480, height: 420 } });
  for (const [index, path] of paths.entries())
    for (const lang of folder ? ['en', 'th'] : [index % 2 === 0 ? 'en' : 'th']) {
      const page = await context.newPage();
      await page.goto(url(`${path}${path.includes('?') ? '&' : '?'}lang=${lang}`));
      await page.locator('.widget').waitFor();
      assert.deepEqual(await page.evaluate(strayBoxes, { tall: false }), [], path);
      assert.deepEqual(await violations(page), [], path);
      if (folder) {
        await page.evaluate(() => document.documentElement.style.setProperty('background', '#4a6a5a'));
        await page.screenshot({ path: join(folder, `widget-${path.replaceAll(/\W+/g, '-')}-${lang}.png`) });
      }
      await page.close();
    }
});

test(`security 43: hostile names, messages and titles stay in their box on every widget (TEST_SEED=${seed})`, {
  skip,
}, async (t) => {
  const { runtime, address, browser, clock } = await open(t);
  const texts = someTexts;
  const size = { width: 360, height: 700 };
  const page = await (await browser.newContext({ viewport: size, ...staticPage })).newPage();
  for (let start = 0; start < texts.length; start += 5) {
    const { creatorId } = await makeCreator(runtime);
    const key = await runtime.overlays.key(creatorId);
    const some = texts.slice(start, start + 5);
    for (const [, text] of some) {
      await runtime.tips.record({ creatorId, app: null, amount: 99_999.99, name: 'SOMCHAI', ...asTip(text) });
      await runtime.goals.add(creatorId, {
        title: [...text].slice(0, 60).join(''),
        targetMinor: 1,
        startsAt: clock(),
        endsAt: null,
      });
    }
    const goals = await runtime.goals.open(creatorId);
    for (const path of ['latest', 'top', ...goals.map(({ id }) => `goal?goal=${id}`)]) {
      await page.goto(`${address}/overlay/${key}/${path}`);
      await page.locator('.widget').waitFor();
      assert.deepEqual(
        await page.evaluate(strayBoxes, { tall: false }),
        [],
        `${path} of ${some.map(([name]) => name).join(', ')}`,
      );
    }
  }
});
