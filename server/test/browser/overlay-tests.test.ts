import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { until } from '../../../sdk/test/until.ts';
import { assertBelow } from '../assert-below.ts';
import { makeCreator } from '../factories.ts';
import { launch, serveApp, skip } from './chromium.ts';

/** An overlay that keeps its alerts for so long, and the texts it has shown. */
async function openOverlay(t: TestContext, seconds: number) {
  const { address, runtime } = await serveApp(t);
  const { creatorId } = await makeCreator(runtime);
  const { settings } = await runtime.overlays.get(creatorId);
  await runtime.overlays.saveSettings(creatorId, { ...settings, seconds });
  const url = `${address}/overlay/${await runtime.overlays.key(creatorId)}`;
  const context = await (await launch(t)).newContext();
  const page = await context.newPage();
  const shown: string[] = [];
  await page.exposeFunction('alertShown', (text: string) => shown.push(text));
  await page.addInitScript(() => {
    const report = Reflect.get(window, 'alertShown');
    new MutationObserver((records) => {
      for (const { addedNodes } of records)
        for (const node of addedNodes)
          if (node instanceof HTMLElement && node.matches('.alert')) report(node.textContent);
    }).observe(document, { childList: true, subtree: true });
  });
  const tip = (message: string) =>
    runtime.tips.record({ creatorId, app: null, amount: 20, name: 'SOMCHAI', displayName: null, message });
  const open = async () => {
    await page.goto(url);
    await until('it is connected', () => runtime.streams.connected(creatorId, 'overlay') === 1);
  };
  const cookie = async () => ({
    name: 'namjai',
    value: await runtime.signIn.begin(creatorId, 'password', { address: '', userAgent: '' }),
    url: address,
  });
  return { address, runtime, creatorId, context, page, shown, tip, open, cookie };
}

test('test alerts that nobody watched are not played later, and the page says so', { skip }, async (t) => {
  const { address, runtime, creatorId, context, page, shown, tip, open, cookie } = await openOverlay(t, 0.1);
  await context.addCookies([await cookie()]);
  const dashboard = await context.newPage();
  await dashboard.goto(`${address}/dashboard`);
  await dashboard.getByRole('button', { name: 'Send a test alert' }).click();
  await dashboard.getByText('No overlay is open').waitFor();
  await dashboard.goto(`${address}/dashboard/overlay`);
  await dashboard.getByRole('button', { name: 'Send a test alert' }).click();
  await dashboard.getByText('No overlay is open').waitFor();
  for (let i = 0; i < 9; i++) await runtime.overlays.sendTest(creatorId);
  await tip('waited');
  await open();
  await until('the tip is shown', () => shown.length > 0);
  await dashboard.reload();
  await dashboard.getByRole('button', { name: 'Send a test alert' }).click();
  await dashboard.getByText('is on its way').waitFor();
  await until('the new test is shown', () => shown.length > 1);
  await page.reload();
  await tip('last');
  await until('the last tip is shown', () => shown.length > 2);
  assert.deepEqual(
    shown.map((text) => text.replace(/^.*฿[\d.]+/, '')),
    ['waited', 'This is a test alert.', 'last'],
  );
});

test('tips are played before the tests that wait, and a reload repeats neither', { skip }, async (t) => {
  const { runtime, creatorId, page, shown, tip, open } = await openOverlay(t, 0.1);
  await open();
  const { settings } = await runtime.overlays.get(creatorId);
  /** New settings come to the page after whatever came before. */
  const settle = async (seconds: number, accent: string) => {
    await runtime.overlays.saveSettings(creatorId, { ...settings, seconds, accent });
    await page.waitForFunction((a) => document.documentElement.style.getPropertyValue('--accent') === a, accent);
  };
  await settle(60, '#00ff00');
  await tip('first');
  await until('the first is shown', () => shown.length === 1);
  for (let i = 0; i < 3; i++) await runtime.overlays.sendTest(creatorId);
  await tip('second');
  await tip('third');
  await settle(0.1, '#0000ff');
  assert.equal(shown.length, 1, 'the others wait for the first');
  await runtime.overlays.stop(creatorId);
  await until('all are shown', () => shown.length === 6);
  const words = shown.map((text) => text.replace(/^.*฿[\d.]+/, ''));
  assert.deepEqual(words.slice(0, 3), ['first', 'second', 'third']);
  assert.deepEqual(words.slice(3), Array(3).fill('This is a test alert.'));
  await page.reload();
  await tip('fourth');
  await until('the fourth is shown', () => shown.length > 6);
  assert.match(shown[6] ?? '', /fourth$/);
});

test('pausing, skipping and stopping take an alert that is playing off the screen within 300 ms', {
  skip,
}, async (t) => {
  const { address, runtime, creatorId, context, page, shown, tip, open, cookie } = await openOverlay(t, 60);
  await open();
  const takes: Record<string, (tipId: string) => unknown> = {
    pause: () => runtime.overlays.pause(creatorId, true),
    skip: (tipId) => runtime.overlays.skip(creatorId, tipId),
    stop: () => runtime.overlays.stop(creatorId),
  };
  /** How long an alert stays on the screen after it was taken off. */
  async function measure(name: string, take: (tipId: string) => unknown): Promise<number> {
    const { tip: recorded } = await tip(name);
    await until('it is shown', () => page.locator('.alert', { hasText: name }).count());
    const status = async () => (await runtime.tips.byId(creatorId, recorded.id))?.alert.status;
    await until('it is acknowledged', async () => (await status()) === 'shown');
    const gone = page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          const alert = document.querySelector('.alert');
          const look = () => alert?.isConnected || resolve(Date.now());
          new MutationObserver(look).observe(document.body, { childList: true });
          document.body.dataset.watched = 'yes';
        }),
    );
    await page.locator('body[data-watched]').waitFor();
    const asked = Date.now();
    await take(recorded.id);
    const took = (await gone) - asked;
    await page.evaluate(() => document.body.removeAttribute('data-watched'));
    await runtime.overlays.pause(creatorId, false);
    return took;
  }
  // An alert that leaves by its animation is never quick enough.
  for (const [name, take] of Object.entries(takes)) await assertBelow(`ms to ${name}`, 300, () => measure(name, take));
  await tip('other');
  const { tip: last } = await tip('by button');
  await until('the other is shown', () => shown.at(-1)?.endsWith('other'));
  await runtime.overlays.skip(creatorId, last.id);
  assert.equal(await page.locator('.alert').count(), 1, 'skipping one leaves another on the screen');
  await context.addCookies([await cookie()]);
  const dashboard = await context.newPage();
  await dashboard.goto(`${address}/dashboard/overlay`);
  await dashboard.getByRole('button', { name: 'Skip what is playing' }).click();
  await dashboard.getByText('off the screen').waitFor();
  await page.locator('.alert').waitFor({ state: 'detached' });
  assert.ok(!shown.some((text) => text.endsWith('by button')));
});
