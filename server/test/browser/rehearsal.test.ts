import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { rounds } from '../../../sdk/test/rounds.ts';
import { until } from '../../../sdk/test/until.ts';
import { createRehearsalWorker } from '../../src/features/rehearsal/index.ts';
import { stepsAfter } from '../../src/features/rehearsal/repo.ts';
import { steadyMs } from '../../src/platform/clock.ts';
import { makeCreator } from '../factories.ts';
import { everythingStored, hour, minute, tipsAt } from '../rehearsals.ts';
import { range } from '../sockets.ts';
import { launch, serveApp, skip } from './chromium.ts';
import { signIn } from './live-control.ts';

const past = Date.parse('2026-11-14T12:00:00Z');

/** A creator with an evening of so many tips, evenly apart, and an open overlay that notes what it shows. */
async function setUp(t: TestContext, count: number, seconds: number, { evening = past, apartMs = minute } = {}) {
  const app = await serveApp(t);
  const { runtime, clock, address } = app;
  const { creatorId } = await makeCreator(runtime);
  const { settings } = await runtime.overlays.get(creatorId);
  await runtime.overlays.saveSettings(creatorId, { ...settings, seconds });
  const ids = await tipsAt(
    app,
    creatorId,
    range(0, count - 1).map((n) => evening + n * apartMs),
  );
  for (const id of ids) await runtime.overlays.skip(creatorId, id); // the page has nothing else to show
  clock.set(evening + 20 * hour);
  const browser = await launch(t);
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 960, height: 540 } });
  const page = await context.newPage();
  const shown: { text: string; label: string; ms: number }[] = [];
  await page.exposeFunction('alertGone', (text: string, label: string, ms: number) => shown.push({ text, label, ms }));
  await page.addInitScript(() => {
    const report = Reflect.get(window, 'alertGone');
    const since = new Map<Node, number>();
    new MutationObserver((records) => {
      for (const { addedNodes, removedNodes } of records) {
        for (const node of addedNodes)
          if (node instanceof HTMLElement && node.matches('.alert')) since.set(node, performance.now());
        for (const node of removedNodes) {
          const at = since.get(node);
          if (at === undefined || !(node instanceof HTMLElement)) continue;
          const label = node.querySelector('.rehearsal')?.textContent ?? '';
          report(node.querySelector('.message')?.textContent ?? '', label, performance.now() - at);
        }
      }
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto(`${address}/overlay/${await runtime.overlays.key(creatorId)}`);
  await until('the overlay is connected', () => runtime.streams.connected(creatorId, 'overlay') === 1);
  await until('it has told its voices', async () => (await runtime.overlays.looks.voices(creatorId)) !== null);
  const wait = async (ms: number) => {
    await sleep(ms);
    clock.advance(ms);
  };
  const worker = createRehearsalWorker({ ...runtime, steady: clock, wait });
  const start = (pace: number) =>
    runtime.rehearsals.start(creatorId, { from: evening, to: evening + count * apartMs }, pace);
  return { ...app, creatorId, ids, browser, context, page, shown, worker, start };
}

test('the overlay shows each alert of a rehearsal, labelled, in its shortened time', { skip }, async (t) => {
  const seconds = 20;
  const { runtime, creatorId, ids, shown, worker, start } = await setUp(t, 15, seconds);
  const before = await runtime.events.head(creatorId);
  await start(100);
  await worker.idle();
  await until('all were shown', () => shown.length === 15);
  assert.deepEqual(
    shown.map(({ text }) => text),
    range(1, 15).map((n) => `tip ${n}`),
  );
  for (const { label, ms } of shown) {
    assert.equal(label, 'ซ้อม · Rehearsal');
    assert.ok(ms < seconds * 1000, `it was on screen for ${ms} ms, not about 200`);
  }
  assert.deepEqual(await runtime.events.head(creatorId), before, 'nothing was acknowledged');
  for (const id of ids) assert.equal((await runtime.tips.byId(creatorId, id)).alert.status, 'skipped');
});

test('a real tip takes the place of what is rehearsed, and a stop empties screen and queue', { skip }, async (t) => {
  const { runtime, clock, address, creatorId, context, page, shown, worker, start } = await setUp(t, 5, 30);
  await signIn(context, runtime, address, creatorId);
  await start(1);
  void worker.idle();
  await page.getByText('tip 1').waitFor();
  const real = { amount: 20, name: 'REAL', displayName: null, message: 'a real one' };
  const { tip } = await runtime.tips.record({ creatorId, app: null, ...real });
  await page.getByText('a real one').waitFor();
  assert.deepEqual(
    shown.map(({ text }) => text),
    ['tip 1'],
    'it has left the screen',
  );
  assert.equal(await page.locator('.rehearsal').count(), 0);
  await until('it is acknowledged', async () => (await runtime.tips.byId(creatorId, tip.id)).alert.status === 'shown');
  clock.advance(3 * minute);
  await until('three more wait', async () => ((await runtime.rehearsals.current(creatorId))?.played ?? 0) >= 4);
  await runtime.overlays.stop(creatorId);
  await page.getByText('tip 2').waitFor();

  const control = await context.newPage();
  await control.goto(`${address}/dashboard/live`);
  await control.locator('[data-connection=live]').waitFor();
  await control.getByText(/[45] of 5 alerts/).waitFor();
  await control.getByRole('button', { name: 'Stop the rehearsal' }).click();
  await until('the screen is empty', async () => (await page.locator('.alert').count()) === 0);
  await control.getByText(/was stopped after/).waitFor();
  await runtime.overlays.sendTest(creatorId);
  await page.getByText('฿100.00').waitFor();
  assert.deepEqual(
    shown.map(({ text }) => text).filter((text) => text.startsWith('tip')),
    ['tip 1', 'tip 2'],
    'the queue is empty',
  );
});

/** The proof has the 500 tips of four hours. server/test/flows/rehearsal-pace.test.ts measures their spacing. */
const evenly = { count: rounds(8), apartMs: (4 * hour) / 500, pace: 100 };

test(`${evenly.count} tips, 28.8 seconds apart, at 100 times their pace: shown in order`, {
  skip,
}, async (t) => {
  const { count, apartMs, pace } = evenly;
  const start = Date.now() - 6 * hour;
  const { runtime, clock, creatorId, ids, shown, start: begin } = await setUp(t, count, 6, { evening: start, apartMs });
  clock.set(Date.now());
  const before = await everythingStored(runtime.db);
  const worker = createRehearsalWorker({ ...runtime, clock: Date.now, steady: steadyMs, wait: sleep });
  await begin(pace);
  await worker.idle();
  await until('all were shown', () => shown.length === count);
  assert.deepEqual(
    shown.map(({ text }) => text),
    range(1, count).map((n) => `tip ${n}`),
  );
  assert.deepEqual(
    (await stepsAfter(runtime.db, creatorId, 0, 1000)).map(({ tip_id }) => tip_id),
    ids,
  );
  const onScreen = shown.map(({ ms }) => ms).sort((a, b) => a - b);
  t.diagnostic(`on screen for ${Math.round(onScreen[onScreen.length >> 1] ?? 0)} ms in the median, 63 wanted`);
  assert.deepEqual(await everythingStored(runtime.db), before, 'totals and history are the same to the byte');
});
