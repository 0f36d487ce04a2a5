import type { TestContext } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { until } from '../../../sdk/test/until.ts';
import type { Runtime } from '../../src/runtime.ts';
import { makeCreator } from '../factories.ts';
import { launch, serveApp } from './chromium.ts';

export async function signIn(
  context: BrowserContext,
  runtime: Runtime,
  address: string,
  creatorId: string,
): Promise<void> {
  const value = await runtime.signIn.begin(creatorId, 'password', { address: '', userAgent: '' });
  await context.addCookies([{ name: 'namjai', value, url: address }]);
}

/** A creator with an open overlay, a control of their own, and one of a moderator. */
export async function prepare(t: TestContext) {
  const { address, runtime } = await serveApp(t);
  const { creatorId } = await makeCreator(runtime);
  const { settings } = await runtime.overlays.get(creatorId);
  await runtime.overlays.saveSettings(creatorId, { ...settings, seconds: 60 });
  const browser = await launch(t);
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 390, height: 844 } });
  await signIn(context, runtime, address, creatorId);
  const open = async (url: string, from = context) => {
    const page = await from.newPage();
    await page.goto(url);
    return page;
  };
  const overlay = await open(`${address}/overlay/${await runtime.overlays.key(creatorId)}`);
  await until('the overlay is connected', () => runtime.streams.connected(creatorId, 'overlay') === 1);
  const control = await open(`${address}/dashboard/live`);
  const key = await runtime.moderators.add(creatorId, 'Nok');
  const others = await browser.newContext({ locale: 'en-US', viewport: { width: 390, height: 844 } });
  const moderator = await open(`${address}/moderate/${key}`, others);
  for (const page of [control, moderator]) await page.locator('[data-connection=live]').waitFor();
  const hold = (everything: boolean) =>
    runtime.screening.change(creatorId, (rules) => ({ ...rules, hold: { ...rules.hold, everything } }));
  const tip = async (message: string) => {
    const fields = { amount: 20, name: 'SOMCHAI', displayName: null, message };
    return (await runtime.tips.record({ creatorId, app: null, ...fields })).tip;
  };
  const widget = async (path: string) => open(`${address}/overlay/${await runtime.overlays.key(creatorId)}/${path}`);
  return { address, runtime, creatorId, browser, overlay, control, moderator, widget, hold, tip };
}

export const inPart = (page: Page, part: string) => page.locator(`[data-part=${part}]`);
