import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../../sdk/test/until.ts';
import { makeCreator, makePair } from '../factories.ts';
import { launch, serveApp, skip } from './chromium.ts';

/** Everything that a page gets over the network or ever holds in its document and title. */
async function watchAll(page: Page): Promise<string[]> {
  const seen: string[] = [];
  page.on('response', async (response) => seen.push(await response.text().catch(() => '')));
  page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => seen.push(String(payload))));
  await page.exposeFunction('documentChanged', (text: string) => seen.push(text));
  await page.addInitScript(() => {
    const report = Reflect.get(window, 'documentChanged');
    new MutationObserver(() => report(document.title + document.documentElement.outerHTML)).observe(document, {
      childList: true,
      subtree: true,
      characterData: true,
    });
  });
  return seen;
}

test('security 46: hidden, held, rejected and blocked words reach no overlay and no public page', {
  skip,
}, async (t) => {
  const { address, runtime } = await serveApp(t);
  const creator = await makeCreator(runtime, 'mali');
  const { creatorId } = creator;
  const pair = await makePair(runtime, { creator });
  await runtime.profiles.update(creatorId, {
    displayName: 'Mali',
    bio: '',
    socialLinks: [],
    channels: [],
    channelDetails: {},
    pageLook: 'plain',
    pagePublic: true,
  });
  const { settings } = await runtime.overlays.get(creatorId);
  await runtime.overlays.saveSettings(creatorId, { ...settings, seconds: 0.2 });
  const list = (id: string, action: 'hide' | 'mask' | 'hold', word: string) =>
    ({ id, title: id, words: [word], except: [], match: 'words', action }) as const;
  await runtime.screening.change(creatorId, (rules) => ({
    ...rules,
    lists: [list('a', 'hide', 'hidingword'), list('b', 'mask', 'maskingword'), list('c', 'hold', 'holdingword')],
    blockedNames: ['BLOCKEDNAME'],
  }));
  const context = await (await launch(t)).newContext();
  const overlay = await context.newPage();
  const seen = await watchAll(overlay);
  await overlay.goto(`${address}/overlay/${await runtime.overlays.key(creatorId)}`);
  await until('it is connected', () => runtime.streams.connected(creatorId, 'overlay') === 1);

  const tip = async (message: string, name = 'SOMCHAI', displayName: string | null = null) =>
    (await runtime.tips.record({ creatorId, app: null, amount: 20, name, displayName, message })).tip;
  await tip('secret1 hidingword');
  await tip('maskingword is gone', 'SOMCHAI', 'Mr m.a.s.k.i.n.g.w.o.r.d');
  const rejected = await tip('secret2 holdingword');
  await tip('secret3 holdingword stays');
  await tip('secret4', 'BLOCKEDNAME');
  await runtime.overlays.reject(creatorId, rejected.id);
  for (const message of ['secret5 hidingword', 'secret6 holdingword'])
    await runtime.alerts.send({ creatorId, message, name: 'SOMCHAI' });
  const approved = await tip('approved holdingword');
  await runtime.overlays.approve(creatorId, approved.id);
  await tip('the last one');
  await until('the last one is shown', () => seen.some((text) => /class="alert"[\s\S]*the last one/.test(text)));
  const publicPage = await context.newPage();
  const seenThere = await watchAll(publicPage);
  await publicPage.goto(`${address}/@mali`);
  seenThere.push(await publicPage.content());
  const all = [...seen, ...seenThere].join('\n');
  assert.doesNotMatch(all, /secret\d|hidingword|maskingword|m\.a\.s\.k|BLOCKEDNAME/);
  assert.match(all, /approved holdingword/, 'what was approved is shown');

  // Apps get the tip as it was sent, and what to show of it.
  const answer = await fetch(`${address}/v1/tips?limit=100`, { headers: pair.headers });
  const { data } = (await answer.json()) as { data: { message: string; alert: { status: string; message: string } }[] };
  const alertOf = (message: string) => data.find((each) => each.message.startsWith(message))?.alert;
  assert.equal(alertOf('secret1')?.message, null);
  assert.equal(alertOf('secret2')?.status, 'skipped');
  assert.equal(alertOf('secret3')?.status, 'held');
  assert.deepEqual([alertOf('secret4')?.status, alertOf('secret4')?.message], ['skipped', null]);
});
