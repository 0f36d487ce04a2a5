import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { seed, seeded } from '../../../sdk/test/seeded.ts';
import { until } from '../../../sdk/test/until.ts';
import { makeCreator } from '../factories.ts';
import { launch, serveApp, skip } from './chromium.ts';

/** Every alert that is put on the screen, and everything that the page ever gets or holds. */
async function watch(page: Page) {
  const alerts: { sequence: number; text: string }[] = [];
  const all: string[] = [];
  page.on('response', async (response) => all.push(await response.text().catch(() => '')));
  page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => all.push(String(payload))));
  await page.exposeFunction('alertShown', (sequence: number, text: string) => alerts.push({ sequence, text }));
  await page.exposeFunction('documentChanged', (text: string) => all.push(text));
  await page.addInitScript(() => {
    const [shown, changed] = ['alertShown', 'documentChanged'].map((name) => Reflect.get(window, name));
    new MutationObserver((records) => {
      for (const { addedNodes } of records)
        for (const node of addedNodes)
          if (node instanceof HTMLElement && node.matches('.alert'))
            shown(Number(node.dataset.sequence), node.textContent ?? '');
      changed(document.title + document.body.textContent);
    }).observe(document, { childList: true, subtree: true });
  });
  return { alerts, all };
}

const word = (action: 'hide' | 'mask' | 'hold', ...words: string[]) =>
  ({ id: action, title: action, words, except: [], match: 'words', action }) as const;

test(`50 mixed tips while rules change: the screen shows what it should, in order, once (TEST_SEED=${seed})`, {
  skip,
}, async (t) => {
  const random = seeded(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const { address, runtime } = await serveApp(t);
  const { overlays, screening, tips } = runtime;
  const { creatorId } = await makeCreator(runtime);
  const { settings } = await overlays.get(creatorId);
  const variations = settings.variations.map((each) => ({ ...each, seconds: 0.05 }));
  await overlays.saveSettings(creatorId, { ...settings, seconds: 0.05, variations });
  const context = await (await launch(t)).newContext();
  const open = async (path: string) => {
    const page = await context.newPage();
    const seen = await watch(page);
    await page.goto(`${address}/overlay/${await overlays.key(creatorId)}${path}`);
    return { page, ...seen };
  };
  const { alerts, all } = await open('');
  const widgets = [await open('/latest?count=10'), await open('/top?period=all&count=10')];
  const connected = () =>
    runtime.streams.connected(creatorId, 'overlay') + runtime.streams.connected(creatorId, 'widget');
  await until('all are connected', () => connected() === 3);

  const rules = [
    { lists: [], hold: { everything: false, newNames: false, fromMinor: null } },
    {
      lists: [word('hide', 'hidingword'), word('mask', 'maskingword'), word('hold', 'holdingword')],
      hold: { everything: false, newNames: false, fromMinor: 50_000 },
    },
    {
      lists: [word('hide', 'maskingword', 'hidingword')],
      hold: { everything: true, newNames: false, fromMinor: null },
    },
  ];
  const recorded: string[] = [];
  for (let round = 0; round < 5; round++) {
    // Paused, so that nobody can tell whether a skip came before the alert.
    await overlays.pause(creatorId, true);
    for (let i = 0; i < 10; i++) {
      if (random() < 0.3) {
        const next = pick(rules);
        await screening.change(creatorId, (before) => ({ ...before, ...next, blockedNames: ['TROLL'] }));
      }
      const number = recorded.length;
      const message = `${pick(['', 'hidingword', 'maskingword', 'holdingword'])} tip ${number}`.trim();
      const name = pick(['SOMCHAI', 'MALI', 'TROLL']);
      const amount = pick([10, 150.5, 999]);
      const { tip } = await tips.record({ creatorId, app: null, amount, name, displayName: null, message });
      recorded.push(tip.id);
      const held = await tips.held(creatorId, 50);
      if (held.length > 0 && random() < 0.5) await overlays.approve(creatorId, pick(held).id);
      if (held.length > 0 && random() < 0.2) await overlays.reject(creatorId, pick(held).id);
      const waiting = await overlays.waiting(creatorId, 50);
      if (waiting.length > 0 && random() < 0.2) await overlays.skip(creatorId, pick(waiting).id);
      if (random() < 0.15) await tips.void(creatorId, pick(recorded), { clientId: null, reason: 'secret reason' });
    }
    await overlays.pause(creatorId, false);
    await until('all that waited are settled', async () => (await overlays.waiting(creatorId, 1)).length === 0);
  }

  const now = await Promise.all(recorded.map((id) => tips.byId(creatorId, id)));
  const counts = Object.groupBy(now, ({ alert }) => alert.status);
  t.diagnostic(
    Object.entries(counts)
      .map(([status, those]) => `${status} ${those?.length}`)
      .join(', '),
  );
  const events = (await runtime.events.after(creatorId, 0, 1000)).map(({ body }) => JSON.parse(body));
  const byTip = new Map(now.map((tip) => [tip.id, tip]));
  /** By the stored history alone: the events that put a tip on the screen, in order. */
  const sent = events.filter(
    ({ type, data }) => type === 'alert.approved' || (type === 'tip.created' && data.tip.alert.status === 'queued'),
  );
  const expected = sent.flatMap(({ sequence, data }) => {
    const tip = byTip.get(data.tip.id);
    if (tip?.alert.status !== 'shown') return [];
    const amount = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2 }).format(tip.amount);
    return { sequence, text: `${tip.alert.name} ฿${amount}${tip.alert.message ?? ''}` };
  });
  await until('the last one was seen', () => alerts.length >= expected.length);
  assert.deepEqual(alerts, expected);
  const everything = [all, ...widgets.map((widget) => widget.all)].flat().join('\n');
  const public_ = new Set(sent.map(({ data }) => data.tip.id));
  const kept = now.filter(({ id, alert }) => !public_.has(id) || alert.message === null);
  t.diagnostic(`${kept.length} texts must not be seen`);
  assert.ok(!everything.includes('secret reason'));
  const [latest] = widgets;
  const listed = now
    .filter(({ id, status }) => public_.has(id) && status === 'recorded')
    .filter(({ alert }) => alert.status !== 'held');
  const newest = listed.toReversed().slice(0, 10);
  await until('the widget lists the latest', async () => {
    const text = (await latest?.page.evaluate(() => document.body.innerText)) ?? '';
    const numbers = text.match(/tip \d+/g) ?? [];
    const wanted = newest.flatMap(({ alert }) => /tip \d+$/.exec(alert.message ?? '')?.[0] ?? []);
    return numbers.join() === wanted.join();
  });
  for (const { message } of kept) {
    const number = /tip \d+$/.exec(message ?? '')?.[0];
    assert.ok(!new RegExp(`${number}(?!\\d)`).test(everything), `${message} was seen`);
  }
});
