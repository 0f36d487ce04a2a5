import assert from 'node:assert/strict';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { seed, seeded } from '../../../sdk/test/seeded.ts';
import { until } from '../../../sdk/test/until.ts';
import { readConfig } from '../../src/config.ts';
import { allTips } from '../../src/features/tips/index.ts';
import { createLog } from '../../src/platform/log.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';
import { makeCreator } from '../factories.ts';
import { freePort, startServer } from '../server-process.ts';
import { range } from '../sockets.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { launch, serveApp, skip } from './chromium.ts';

interface Shown {
  readonly sequence: number;
  readonly text: string;
}

/**
 * Notes every alert that is put on the screen of this page, through reloads. The page keeps the list and reports all of
 * it, also when it starts: Chromium drops what a page reports just before it is reloaded.
 */
async function watch(page: Page): Promise<Shown[]> {
  const shown: Shown[] = [];
  await page.exposeFunction('alertsShown', (all: Shown[]) => shown.splice(0, shown.length, ...all));
  await page.addInitScript(() => {
    if (location.protocol !== 'http:') return; // a blank page has no storage
    const all: Shown[] = JSON.parse(sessionStorage.getItem('alertsShown') ?? '[]');
    const report = () => Reflect.get(window, 'alertsShown')(all);
    const look = (node: Node) => {
      if (!(node instanceof HTMLElement && node.matches('.alert'))) return;
      const text = Array.from(node.children, ({ textContent }) => textContent).join('\n');
      all.push({ sequence: Number(node.dataset.sequence), text });
      sessionStorage.setItem('alertsShown', JSON.stringify(all));
      report();
    };
    report();
    new MutationObserver((records) => {
      for (const { addedNodes } of records) addedNodes.forEach(look);
    }).observe(document, { childList: true, subtree: true });
  });
  return shown;
}

async function openOverlay(context: BrowserContext, url: string) {
  const page = await context.newPage();
  const shown = await watch(page);
  await page.goto(url);
  return { page, shown };
}

/** A quick overlay of a new creator: its key, and a way to tip. */
async function prepare(runtime: Runtime, seconds: number) {
  const { creatorId } = await makeCreator(runtime);
  const { settings } = await runtime.overlays.get(creatorId);
  await runtime.overlays.saveSettings(creatorId, { ...settings, seconds });
  const tip = (message: string) =>
    runtime.tips.record({ creatorId, app: null, amount: 1234.5, name: 'SOMCHAI', displayName: 'สมชาย', message });
  return { creatorId, settings, key: await runtime.overlays.key(creatorId), tip };
}

/** Waits until the alerts of these tips, or of all, have come to this. */
async function untilAll(runtime: Runtime, creatorId: string, wanted: string, ids?: string[]): Promise<void> {
  let others: string[] = [];
  await until(
    () => `all alerts are ${wanted}; there are ${others.join()}`,
    async () => {
      const { tips } = await runtime.tips.page(creatorId, allTips, null, 100);
      const asked = tips.filter(({ id }) => !ids || ids.includes(id));
      others = asked.map(({ alert }) => alert.status).filter((status) => status !== wanted);
      return others.length === 0;
    },
  );
}

test('security 26: a tip of markup is text on the overlay, over a transparent page', { skip }, async (t) => {
  const { address, runtime } = await serveApp(t);
  const { key, tip, creatorId } = await prepare(runtime, 3);
  const context = await (await launch(t)).newContext({ viewport: { width: 960, height: 540 } });
  const { page, shown } = await openOverlay(context, `${address}/overlay/${key}`);
  const complaints: string[] = [];
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  const attack = '<img src=x onerror="document.title=1">';
  await tip(attack);
  await page.getByText(attack).waitFor();
  await page.evaluate(() => Promise.all(document.getAnimations().map(({ finished }) => finished)));
  const image = await page.screenshot({ omitBackground: true, ...(process.env.SHOTS && { path: process.env.SHOTS }) });
  assert.equal(image.readUInt8(25), 6, 'the picture has an alpha channel');
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(await page.title(), 'Namjai overlay');
  assert.deepEqual(complaints, []);
  assert.deepEqual(shown, [{ sequence: 1, text: `สมชาย ฿1,234.50\n${attack}` }]);
  await untilAll(runtime, creatorId, 'shown');
});

test('an alert whose acknowledgement is lost is not shown again, and acknowledged later', { skip }, async (t) => {
  const { address, runtime } = await serveApp(t);
  const { key, tip, creatorId } = await prepare(runtime, 0.2);
  const context = await (await launch(t)).newContext({ serviceWorkers: 'block' });
  await context.route('**/ack', (route) => route.abort());
  const { page, shown } = await openOverlay(context, `${address}/overlay/${key}`);
  await tip('1');
  await until('it is shown', () => shown.length === 1);
  await page.reload();
  await tip('2');
  await until('the next is shown', () => shown.length === 2);
  await untilAll(runtime, creatorId, 'queued');
  await context.unroute('**/ack');
  await untilAll(runtime, creatorId, 'shown');
  assert.deepEqual(
    shown.map(({ sequence }) => sequence),
    [1, 2],
  );
});

test('skipped and small tips are not shown, and new settings reach an open overlay', { skip }, async (t) => {
  const { address, runtime } = await serveApp(t);
  const { key, tip, creatorId, settings } = await prepare(runtime, 0.2);
  const context = await (await launch(t)).newContext();
  await runtime.overlays.pause(creatorId, true);
  const { page, shown } = await openOverlay(context, `${address}/overlay/${key}`);
  const [{ tip: before }, { tip: after }] = [await tip('1'), await tip('2')];
  await runtime.overlays.skip(creatorId, before.id);
  await page.reload(); // one was skipped while the page was away, the other while it waits in the queue
  await page.waitForFunction(() => document.documentElement.style.getPropertyValue('--accent') !== '');
  await runtime.overlays.skip(creatorId, after.id);
  await tip('3');
  await runtime.overlays.saveSettings(creatorId, {
    ...settings,
    seconds: 0.2,
    accent: '#00ff00',
    minimumMinor: 999_999,
  });
  await page.waitForFunction(() => document.documentElement.style.getPropertyValue('--accent') === '#00ff00');
  await runtime.overlays.pause(creatorId, false);
  await untilAll(runtime, creatorId, 'skipped');
  await runtime.overlays.sendTest(creatorId);
  await runtime.overlays.replay(creatorId, 1);
  await until('both are shown', () => shown.length === 2);
  const [sample, again] = shown.map(({ text }) => text);
  assert.match(sample ?? '', /^น้ำใจ ฿9,999\.99\n/);
  assert.equal(again, 'สมชาย ฿1,234.50\n1');
});

test('a voided tip leaves the screen at once and is never shown again, wherever it waits', { skip }, async (t) => {
  const { address, runtime } = await serveApp(t);
  const { key, tip, creatorId } = await prepare(runtime, 60);
  const context = await (await launch(t)).newContext();
  const { page, shown } = await openOverlay(context, `${address}/overlay/${key}`);
  await until('it is connected', () => runtime.streams.connected(creatorId, 'overlay') === 1);
  const takeBack = (id: string) => runtime.tips.void(creatorId, id, { clientId: null, reason: null });
  const gone = () => until('the screen is empty', async () => (await page.locator('.alert').count()) === 0);
  const { tip: playing } = await tip('playing');
  const { tip: waiting } = await tip('waiting');
  await page.getByText('playing').waitFor();
  await takeBack(waiting.id);
  await takeBack(playing.id);
  await gone();
  const { tip: again } = await tip('again');
  await page.getByText('again').waitFor();
  await untilAll(runtime, creatorId, 'shown', [again.id]);
  await runtime.overlays.replayTip(creatorId, again.id);
  await runtime.overlays.replayTip(creatorId, again.id);
  // One is on the screen, two wait: all of them are of the tip that is voided while the page is away, too.
  await page.reload();
  await until('it is connected', () => runtime.streams.connected(creatorId, 'overlay') === 1);
  await page.getByText('again').waitFor();
  await takeBack(again.id);
  await gone();
  await tip('last');
  await page.getByText('last').waitFor();
  assert.deepEqual(
    shown.map(({ text }) => text.split('\n')[1]),
    ['playing', 'again', 'again', 'last'],
  );
});

test('two overlays in one browser both play, also after one of them is reloaded', { skip }, async (t) => {
  const { address, runtime } = await serveApp(t);
  const { key, tip, creatorId, settings } = await prepare(runtime, 0.2);
  const context = await (await launch(t)).newContext();
  const first = await openOverlay(context, `${address}/overlay/${key}`);
  const second = await openOverlay(context, `${address}/overlay/${key}`);
  await until('both are connected', () => runtime.streams.connected(creatorId, 'overlay') === 2);
  await tip('1');
  await until('both show it', () => first.shown.length === 1 && second.shown.length === 1);
  await runtime.overlays.pause(creatorId, true);
  await untilAll(runtime, creatorId, 'shown');
  const hasAccent = ({ page }: typeof first, accent: string) =>
    page.waitForFunction((a) => document.documentElement.style.getPropertyValue('--accent') === a, accent);
  /** New settings come to the pages after whatever came before. */
  const settle = async (accent: string) => {
    await runtime.overlays.saveSettings(creatorId, { ...settings, seconds: 0.2, accent });
    await Promise.all([hasAccent(first, accent), hasAccent(second, accent)]);
  };
  await settle('#00ff00');
  await tip('2');
  await second.page.reload();
  await hasAccent(second, '#00ff00');
  await until('both are connected', () => runtime.streams.connected(creatorId, 'overlay') === 2);
  await settle('#0000ff');
  assert.deepEqual([first.shown.length, second.shown.length], [1, 1], 'nothing is played while paused');
  await runtime.overlays.pause(creatorId, false);
  await until('both show it', () => first.shown.length === 2 && second.shown.length === 2);
  await second.page.goto('about:blank');
  await tip('3');
  await until('the first shows it', () => first.shown.length === 3);
  await untilAll(runtime, creatorId, 'shown');
  await second.page.goto(`${address}/overlay/${key}`);
  await until('the second goes on where it stopped itself', () => second.shown.length === 3);
  await tip('4');
  await until('both show it', () => first.shown.at(-1)?.text.endsWith('4') && second.shown.at(-1)?.text.endsWith('4'));
  await untilAll(runtime, creatorId, 'shown');
  assert.equal(first.shown.length, 4);
  assert.deepEqual(first.shown, second.shown);
  const types = (await runtime.events.after(creatorId, 0, 100)).map(({ type }) => type);
  assert.deepEqual(types, Array(4).fill(['tip.created', 'alert.shown']).flat(), 'told of once');
});

test('an overlay that was open before opens while the server is away, and waits for it', { skip }, async (t) => {
  const { env, runtime, port } = await ownStore(t);
  const server = await startServer({ env, port });
  t.after(() => server.kill());
  const { key, tip } = await prepare(runtime, 0.2);
  const context = await (await launch(t)).newContext();
  const { page, shown } = await openOverlay(context, `${server.url}/overlay/${key}`);
  await tip('before');
  await until('it is shown', () => shown.length === 1);
  const cached = () =>
    page.evaluate(async () => (await (await caches.open(`overlay:${document.body.dataset.creator}`)).keys()).length);
  await until('the page is kept for later', async () => (await cached()) >= 5);
  await server.kill();
  await page.close();
  await tip('meanwhile');
  const again = await openOverlay(context, `${server.url}/overlay/${key}`);
  const back = await startServer({ env, port });
  t.after(() => back.kill());
  await until('it goes on', () => again.shown.length === 1);
  assert.match(again.shown[0]?.text ?? '', /meanwhile/);
});

/** A store that a server process and this one share. */
async function ownStore(t: TestContext) {
  const env = { DATABASE_URL: `sqlite:${join(temporaryDirectory(t), 'namjai.db')}` };
  const runtime = await createRuntime(readConfig(env), { log: createLog({ level: 'silent' }) });
  t.after(() => runtime.close());
  return { env, runtime, port: await freePort() };
}

/** A proxy in front of the server whose connections can be cut. */
async function startProxy(t: TestContext, port: number) {
  const sockets = new Set<Socket>();
  let cut = false;
  const server = createServer((near) => {
    if (cut) return near.destroy();
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        for (const each of [near, far]) sockets.delete(each.destroy());
      });
    }
    near.pipe(far).pipe(near);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const destroy = () => {
    for (const socket of sockets) socket.destroy();
  };
  t.after(() => {
    server.close();
    destroy();
  });
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    async cut(ms: number) {
      cut = true;
      destroy();
      await sleep(ms);
      cut = false;
    },
  };
}

test(`50 tips through reloads, cuts and restarts are each on screen once, in order (TEST_SEED=${seed})`, {
  skip,
}, async (t) => {
  // Two sequences, so that the choices of one loop do not depend on the pace of the other.
  const [betweenTips, betweenTroubles] = [seeded(seed), seeded(seed + 1)];
  const { env, runtime, port } = await ownStore(t);
  let server = await startServer({ env, port });
  t.after(() => server.kill());
  const { key, tip, creatorId } = await prepare(runtime, 0.1);
  const proxy = await startProxy(t, port);
  const { page, shown } = await openOverlay(await (await launch(t)).newContext(), `${proxy.url}/overlay/${key}`);

  const troubles = [
    () => page.reload(),
    () => proxy.cut(300),
    async () => {
      await server.kill();
      server = await startServer({ env, port });
    },
  ];
  const tipping = (async () => {
    for (let i = 1; i <= 50; i++) {
      await tip(`tip ${i}`);
      await sleep(betweenTips() * 500);
    }
  })();
  for (let i = 0, tipped = false; !tipped; i++) {
    await troubles[i % troubles.length]?.();
    tipped = await Promise.race([tipping.then(() => true), sleep(betweenTroubles() * 1500, false)]);
  }
  await untilAll(runtime, creatorId, 'shown');
  await until('the last one was seen', () => shown.length >= 50);
  const texts = shown.map(({ text }) => text.split('\n')[1]);
  assert.deepEqual(
    texts,
    range(1, 50).map((i) => `tip ${i}`),
  );
});
