import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { makeCreator, makePair } from '../factories.ts';
import { chosenVariants, pageVariants, pageWidth, violations } from './axe.ts';
import { launch, serveApp, skip } from './chromium.ts';

/** SCREENSHOTS=FOLDER leaves pictures of the pages there, to be looked at. */
const folder = process.env.SCREENSHOTS;

test('pages of tips and goals: nothing sticks out, and axe-core finds nothing', { skip }, async (t) => {
  const { address, runtime, clock } = await serveApp(t);
  const creator = await makeCreator(runtime, 'mali');
  const { creatorId } = creator;
  const { clientId } = await makePair(runtime, { creator });
  const newcomer = await makeCreator(runtime, 'nok');
  const tip = async (displayName: string, amount: number, message: string | null) => {
    const app = { id: clientId, name: 'Goal Bot บอทเป้าหมาย' };
    return (await runtime.tips.record({ creatorId, app, amount, name: 'SOMCHAI', displayName, message })).tip;
  };
  const day = 86_400_000;
  clock.advance(-20 * day);
  const wide = { title: `New microphone ไมโครโฟนใหม่ ${'W'.repeat(30)}`, targetMinor: 300_000 };
  await runtime.goals.add(creatorId, { ...wide, startsAt: clock(), endsAt: null });
  await runtime.goals.add(creatorId, {
    title: 'กาแฟ',
    targetMinor: 20_000,
    startsAt: clock(),
    endsAt: clock() + 60 * day,
  });
  await runtime.goals.add(creatorId, {
    title: 'Last week',
    targetMinor: 9900,
    startsAt: clock(),
    endsAt: clock() + day,
  });
  for (const [name, amount, message] of [
    ['สมชาย', 150.5, 'สู้ ๆ นะ เป็นกำลังใจให้เสมอ'],
    ['Ann', 1234, 'Great stream!'],
    ['Bee', 20, null],
  ] as const)
    await tip(name, amount, message);
  clock.advance(20 * day);
  const kept = await tip(
    'สมชาย ใจดี',
    99,
    'A long message that goes on for a while, to see how it wraps on a phone. ขอบคุณครับ',
  );
  await runtime.overlays.acknowledge(creatorId, '00000000-0000-4000-8000-000000000001', [
    { sequence: (await runtime.events.head(creatorId))?.sequence ?? 0, outcome: 'shown' },
  ]);
  const voided = await tip('W'.repeat(40), 5000, null);
  await runtime.tips.void(creatorId, voided.id, { clientId: null, reason: 'Typed a zero too many พิมพ์ผิด' });

  const browser = await launch(t);
  for (const { name: variant, width, ...options } of chosenVariants(pageVariants)) {
    const open = async (whose: string): Promise<Page> => {
      const context = await browser.newContext({ ...options, viewport: { width, height: 800 } });
      const value = await runtime.signIn.begin(whose, 'password', { address: '', userAgent: '' });
      await context.addCookies([{ name: 'namjai', value, url: address }]);
      return context.newPage();
    };
    const check = async (page: Page, name: string) => {
      if (folder) await page.screenshot({ path: join(folder, `${name}-${variant}.png`), fullPage: true });
      assert.equal(await pageWidth(page), width, `${name} ${variant}`);
      assert.deepEqual(await violations(page), [], `${name} ${variant}`);
    };
    const visit = async (page: Page, name: string, path: string) => {
      await page.goto(address + path);
      await check(page, name);
    };
    const fresh = await open(newcomer.creatorId);
    await visit(fresh, 'goals-empty', '/dashboard/goals');
    const mali = await open(creatorId);
    await visit(mali, 'dashboard', '/dashboard');
    await visit(mali, 'tips', '/dashboard/tips');
    await visit(mali, 'tip-new', '/dashboard/tips/new');
    await mali.locator('[name=amount]').fill('0');
    await mali.locator('main form button').first().click();
    await mali.locator('#field-amount-error').waitFor();
    await check(mali, 'tip-new-wrong');
    await visit(mali, 'tip', `/dashboard/tips/${kept.id}`);
    await mali.locator('details.confirm summary').click();
    await check(mali, 'tip-void-asked');
    await visit(mali, 'tip-voided', `/dashboard/tips/${voided.id}`);
    await visit(mali, 'goals', '/dashboard/goals');
    await mali.locator('details.confirm summary').first().click();
    await check(mali, 'goals-end-asked');
    for (const page of [fresh, mali]) await page.context().close();
  }
});

test('a tip is entered, voided and refused its replay by keyboard alone', { skip }, async (t) => {
  const { address, runtime } = await serveApp(t);
  const { creatorId } = await makeCreator(runtime);
  const context = await (await launch(t)).newContext();
  const value = await runtime.signIn.begin(creatorId, 'password', { address: '', userAgent: '' });
  await context.addCookies([{ name: 'namjai', value, url: address }]);
  const page = await context.newPage();
  await page.goto(`${address}/dashboard/tips/new`);
  await page.locator('[name=amount]').focus();
  await page.keyboard.type('250');
  await page.keyboard.press('Tab');
  await page.keyboard.type('พี่แอน');
  await page.keyboard.press('Enter');
  await page.waitForURL(/tips\/tip_/);
  await page.locator('details.confirm summary').focus();
  await page.keyboard.press('Enter');
  await page.locator('[name=reason]').focus();
  await page.keyboard.type('test');
  await page.keyboard.press('Enter');
  await page.getByText('The tip is voided.').waitFor();
  assert.equal(await page.getByText('Play again').count(), 0);
  assert.equal((await runtime.tips.stats(creatorId)).all_time.count, 0);
});
