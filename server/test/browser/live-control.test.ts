import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../../sdk/test/until.ts';
import { assertBelow } from '../assert-below.ts';
import { asTip, hostileTexts } from '../hostile-texts.ts';
import { chosenVariants, pageWidth, violations } from './axe.ts';
import { strayBoxes } from './boxes.ts';
import { skip } from './chromium.ts';
import { inPart, prepare, signIn } from './live-control.ts';

/** SCREENSHOTS=FOLDER leaves pictures there, to be looked at. */
const folder = process.env.SCREENSHOTS;

test('what one control does shows on the overlay and on every other control at once', { skip }, async (t) => {
  const { runtime, creatorId, overlay, control, moderator, widget, hold, tip } = await prepare(t);
  const total = await widget('total');
  await until('the widget is connected', () => runtime.streams.connected(creatorId, 'widget') === 1);
  await hold(true);
  await tip('first');
  await tip('second');
  for (const page of [control, moderator]) await inPart(page, 'held').getByText('second').waitFor();
  await hold(false);

  await moderator.getByRole('button', { name: 'Approve SOMCHAI' }).first().click();
  await overlay.getByText('first').waitFor();
  for (const page of [control, moderator]) await inPart(page, 'playing').getByText('first').waitFor();
  await control.getByRole('button', { name: 'Reject SOMCHAI' }).click();
  for (const page of [control, moderator]) await inPart(page, 'held').getByText('Nothing waits').waitFor();

  await tip('third');
  await inPart(moderator, 'waiting').getByText('third').waitFor();
  await control.getByRole('button', { name: /Skip SOMCHAI, which/ }).click();
  await overlay.getByText('third').waitFor();
  assert.equal(await overlay.locator('.alert').count(), 1, 'the first is off the screen');
  await inPart(moderator, 'playing').getByText('third').waitFor();

  await moderator.getByRole('button', { name: 'Hide everything' }).click();
  await overlay.locator('.alert').waitFor({ state: 'detached' });
  await control.getByText('Everything is hidden').waitFor();
  await total.locator('.widget').waitFor({ state: 'hidden' });
  await tip('fourth');
  await inPart(control, 'waiting').getByText('fourth').waitFor();
  assert.equal(await overlay.locator('.alert').count(), 0);
  await control.getByRole('button', { name: 'Show again' }).click();
  await total.locator('.widget').waitFor();
  await overlay.getByText('fourth').waitFor();

  await control.getByRole('button', { name: 'Pause' }).click();
  await overlay.locator('.alert').waitFor({ state: 'detached' });
  await moderator.getByText('Alerts are paused').waitFor();
  await moderator.getByRole('button', { name: 'Resume' }).click();
  await control.getByRole('button', { name: 'Pause' }).waitFor();
  await control.getByRole('button', { name: 'Play again: SOMCHAI' }).first().click();
  await overlay.locator('.alert').waitFor();
  await inPart(moderator, 'playing').getByText('Again').waitFor();

  await control.locator('#volume').fill('40');
  await until('the volume is set', async () => (await runtime.overlays.get(creatorId)).volume === 40);
  assert.equal(await moderator.locator('#volume').count(), 0);
});

test('live control by keyboard alone', { skip }, async (t) => {
  const { runtime, creatorId, overlay, control, hold, tip } = await prepare(t);
  await hold(true);
  await tip('by keyboard');
  await inPart(control, 'held').getByText('by keyboard').waitFor();
  const focused = () =>
    control.evaluate(
      () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent?.trim() ?? '',
    );
  /** Goes on by the Tab key until this control has the focus. */
  async function tabTo(label: RegExp): Promise<void> {
    for (let presses = 0; presses < 60; presses++) {
      if (label.test(await focused())) return;
      await control.keyboard.press('Tab');
    }
    assert.fail(`${label} cannot be reached`);
  }
  await tabTo(/^Approve/);
  await control.keyboard.press('Enter');
  await overlay.getByText('by keyboard').waitFor();
  await inPart(control, 'held').getByText('Nothing waits').waitFor();
  assert.equal(await control.evaluate(() => document.activeElement?.id), 'held', 'the focus stays in its part');
  await control.locator('main').focus();
  await tabTo(/^Pause$/);
  await control.keyboard.press('Space');
  await control.getByText('Alerts are paused').waitFor();
  assert.match(await focused(), /Resume/, 'the focus stays on the switch');
  await control.keyboard.press('Enter');
  await control.getByRole('button', { name: 'Pause' }).waitFor();
  await control.locator('#volume').focus();
  for (let i = 0; i < 4; i++) await control.keyboard.press('ArrowLeft');
  await until('the volume is set', async () => (await runtime.overlays.get(creatorId)).volume === 80);
  await control.locator('main').focus();
  await tabTo(/^Hide everything$/);
  await control.keyboard.press('Enter');
  await overlay.locator('.alert').waitFor({ state: 'detached' });
});

test('live control by touch alone', { skip }, async (t) => {
  const { address, runtime, creatorId, browser, overlay, hold, tip } = await prepare(t);
  await hold(true);
  await tip('by touch');
  const phone = { locale: 'en-US', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
  const context = await browser.newContext(phone);
  await signIn(context, runtime, address, creatorId);
  const control = await context.newPage();
  await control.goto(`${address}/dashboard/live`);
  await inPart(control, 'held')
    .getByRole('button', { name: /^Approve/ })
    .first()
    .tap();
  await overlay.getByText('by touch').waitFor();
  await control.getByRole('button', { name: 'Hide everything' }).tap();
  await overlay.locator('.alert').waitFor({ state: 'detached' });
});

test('a dead connection is told, and the control goes on when it is back', { skip }, async (t) => {
  const { control, tip } = await prepare(t);
  await control.context().setOffline(true);
  await control.locator('[data-connection=lost]').waitFor();
  await control.getByRole('button', { name: 'Pause' }).click();
  await control.getByText('That did not work').waitFor();
  await tip('meanwhile');
  await control.context().setOffline(false);
  await control.locator('[data-connection=live]').waitFor();
  await control.getByText('meanwhile').first().waitFor();
});

test('after a 429 live control asks again when it may, and not before', { skip }, async (t) => {
  const { control, tip } = await prepare(t);
  const asked: number[] = [];
  await control.route('**/dashboard/live', (route) => {
    asked.push(performance.now());
    return route.fulfill({ status: 429, headers: { 'retry-after': '3' }, body: '' });
  });
  await tip('first');
  await until('it is refused', () => asked.length > 0);
  // Each is a hint to look.
  await tip('second');
  await tip('third');
  await until('it asks again', () => asked.length > 1);
  assert.ok((asked[1] ?? 0) - (asked[0] ?? 0) > 2900, String(asked));
  await control.unroute('**/dashboard/live');
  await control.getByText('third').first().waitFor();
});

test('security 55: a revoked link takes the queue off the moderator’s screen within a second', { skip }, async (t) => {
  const { address, runtime, creatorId, browser, hold, tip } = await prepare(t);
  await hold(true);
  await tip('private words');
  for (const { id } of await runtime.moderators.list(creatorId)) await runtime.moderators.revoke(creatorId, id);
  const context = await browser.newContext({ locale: 'en-US' });
  async function measure(): Promise<number> {
    const page = await context.newPage();
    await page.goto(`${address}/moderate/${await runtime.moderators.add(creatorId, 'Ploy')}`);
    await page.locator('[data-connection=live]').waitFor();
    await page.getByText('private words').waitFor();
    const [{ id = '' } = {}] = await runtime.moderators.list(creatorId);
    const revokedAt = performance.now();
    await runtime.moderators.revoke(creatorId, id);
    await page.getByText('private words').waitFor({ state: 'detached' });
    const took = performance.now() - revokedAt;
    await page.getByText('has revoked it').waitFor();
    return took;
  }
  await assertBelow('ms', 1000, measure);
});

test('security 43: hostile tips stay in their box on live control', { skip }, async (t) => {
  const { address, runtime, creatorId, browser, hold } = await prepare(t);
  await hold(true);
  for (const text of Object.values(hostileTexts).slice(0, 45))
    await runtime.tips.record({ creatorId, app: null, amount: 20, name: 'SOMCHAI', ...asTip(text) });
  for (const width of [1280, 390]) {
    const context = await browser.newContext({ viewport: { width, height: 844 }, locale: 'en-US' });
    await signIn(context, runtime, address, creatorId);
    const page = await context.newPage();
    await page.goto(`${address}/dashboard/live`);
    assert.equal(await page.locator('[data-part=held] li').count(), 45);
    assert.deepEqual(await page.evaluate(strayBoxes, { tall: true }), [], `${width}`);
    assert.equal(await pageWidth(page), width);
  }
});

const variants = (['en-US', 'th-TH'] as const).flatMap((locale) =>
  (['light', 'dark'] as const).flatMap((colorScheme) => [1280, 390].map((width) => ({ locale, colorScheme, width }))),
);

test('axe finds nothing wrong with live control and screening in use', { skip }, async (t) => {
  const { address, runtime, creatorId, browser, hold, tip } = await prepare(t);
  await runtime.screening.change(creatorId, (rules) => ({ ...rules, lists: [masking] }));
  await hold(true);
  await tip('Great stream! สู้ ๆ นะ');
  await tip('ขอเพลงหน่อยครับ darn วันนี้เล่นเก่งมาก ติดตามมาตั้งแต่แรกเลย รอดูตอนต่อไปนะครับ');
  await hold(false);
  for (let i = 0; i < 3; i++) await tip(`Waiting number ${i}`);
  const key = await runtime.moderators.add(creatorId, 'Nok, who helps on weekends');
  for (const { width, ...options } of chosenVariants(variants)) {
    const context = await browser.newContext({ viewport: { width, height: 844 }, ...options });
    await signIn(context, runtime, address, creatorId);
    const page = await context.newPage();
    const check = async (name: string) => {
      const variant = `${name}-${width}-${options.colorScheme}-${options.locale}`;
      if (folder) await page.screenshot({ path: join(folder, `${variant}.png`), fullPage: true });
      assert.deepEqual(await violations(page), [], variant);
      assert.equal(await pageWidth(page), width, variant);
    };
    await page.goto(`${address}/dashboard/screening`);
    await page.locator('details.list > summary').click();
    await check('screening');
    await page.locator('#field-tryMessage').fill('oh darn');
    await page.locator('#try button').click();
    await page.locator('.reasons').waitFor();
    await check('screening-tried');
    await page.goto(`${address}/dashboard/live`);
    await page.locator('[data-connection=live]').waitFor();
    await page.locator('.words details summary').click();
    await check('live');
    await page.goto(`${address}/moderate/${key}`);
    await page.locator('[data-connection=live]').waitFor();
    await check('moderate');
    await context.close();
  }
});

const masking = {
  id: 'own',
  title: 'My words',
  words: ['darn'],
  except: [],
  match: 'words',
  action: 'mask',
} as const;
