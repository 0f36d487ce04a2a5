import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { buildApp, onNodes } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';
import { listen } from '../../../test/sockets.ts';
import { execute } from '../../../test/sql.ts';
import { missingTexts, openTracedOverlay, readTrace, sendTip, stepTexts } from '../../../test/trace.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { keepWordsWhole } from '../../platform/web/whole-words.ts';
import { noRules } from '../screening/rules.ts';
import { traceLines } from './lines.ts';

const [second, hour, day] = [1000, 3_600_000, 86_400_000];
const start = ['recorded', 'event tip.created'];

async function open(t: TestContext) {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const { creatorId } = pair;
  return {
    app,
    pair,
    creatorId,
    send: (body?: object) => sendTip(app, pair, body),
    trace: (id: string) => readTrace(app, pair, id),
    overlay: () => openTracedOverlay(t, app, app.address, pair),
    hold: () =>
      app.runtime.screening.change(creatorId, () => ({
        ...noRules,
        lists: [{ id: 'a', title: 'Rude', words: ['rude'], except: [], match: 'words', action: 'hold' }],
      })),
  };
}

test('a tip that is shown tells of the request, the event and the overlay, in order of time', async (t) => {
  const { app, send, trace, overlay } = await open(t);
  const { shown } = await overlay();
  const { id, requestId } = await send();
  app.clock.advance(3 * second);
  await shown(1);
  const found = await trace(id);
  assert.equal(found.tip_id, id);
  assert.deepEqual(stepTexts(found), [...start, 'overlay shown', 'event alert.shown']);
  const [recorded, event, screen] = found.steps;
  assert.deepEqual(recorded, {
    at: '2026-11-15T04:00:00.000Z',
    kind: 'recorded',
    outcome: null,
    detail: { source: (await app.runtime.tips.byId(await creatorOf(app, id), id)).source, request_id: requestId },
  });
  assert.deepEqual([event?.kind === 'event' && event.detail.sequence, screen?.at], [1, '2026-11-15T04:00:03.000Z']);
  assert.deepEqual(screen?.detail, { reason: null, overlay_open: true });
  assert.deepEqual(missingTexts(found), ['webhook no_webhook']);
});

const creatorOf = async (
  { runtime }: { runtime: { traces: { creatorOf(id: string): Promise<string | undefined> } } },
  id: string,
) => (await runtime.traces.creatorOf(id)) ?? '';

test('too small or too old is the reason, also before an overlay has decided it', async (t) => {
  const { app, creatorId, trace, send } = await open(t);
  const { settings } = await app.runtime.overlays.get(creatorId);
  await app.runtime.overlays.saveSettings(creatorId, { ...settings, minimumMinor: 1_000_000 });
  const small = await send();
  const reasonOf = async (id: string) => (await trace(id)).missing.find(({ kind }) => kind === 'overlay')?.reason;
  assert.equal(await reasonOf(small.id), 'too_small');
  await app.runtime.overlays.saveSettings(creatorId, { ...settings, maxAgeMinutes: 1 });
  assert.equal(await reasonOf(small.id), 'no_overlay');
  app.clock.advance(61_000);
  assert.equal(await reasonOf(small.id), 'too_old');
});

test('an event is found by its id, also if that was made after the event’s time was read', async (t) => {
  const { app, creatorId, send } = await open(t);
  await send();
  const [event] = await app.runtime.events.after(creatorId, 0, 1);
  const { id } = JSON.parse(event?.body ?? '');
  await execute(app.runtime.db, 'UPDATE events SET created_at = created_at - 3 WHERE creator_id = $1', [creatorId]);
  assert.equal((await app.runtime.events.byId(id))?.sequence, 1);
});

test('a tip that nobody shows has a reason: no overlay was open, alerts are paused or hidden, or it waits its turn', async (t) => {
  const { app, creatorId, send, trace, overlay } = await open(t);
  const { settings } = await app.runtime.overlays.get(creatorId);
  await app.runtime.overlays.saveSettings(creatorId, { ...settings, maxAgeMinutes: 600 });
  const { id } = await send();
  const missing = async () => (await trace(id)).missing[0];
  const nothing = { kind: 'overlay', webhook_id: null, event_id: null };
  assert.deepEqual(await missing(), { ...nothing, reason: 'no_overlay', since: null });
  app.clock.advance(hour);
  const page = await overlay();
  assert.equal((await missing())?.reason, 'waiting');
  await app.runtime.overlays.pause(creatorId, true);
  assert.equal((await missing())?.reason, 'paused');
  await app.runtime.overlays.hide(creatorId, true);
  assert.equal((await missing())?.reason, 'hidden');
  await app.runtime.overlays.hide(creatorId, false);
  await app.runtime.overlays.pause(creatorId, false);
  app.clock.advance(hour);
  await page.close();
  app.clock.advance(hour);
  const since = '2026-11-15T06:00:00.000Z';
  assert.deepEqual(await missing(), { ...nothing, reason: 'no_overlay', since });
  const later = await send();
  assert.deepEqual((await trace(later.id)).missing[0], { ...nothing, reason: 'no_overlay', since });
  await app.runtime.overlays.pause(creatorId, true);
  const reasons = (await trace(id)).missing.filter(({ kind }) => kind === 'overlay').map(({ reason }) => reason);
  assert.deepEqual(reasons, ['no_overlay', 'paused'], 'opening an overlay alone would not help');
});

test('an alert that came while no overlay was open, and was too old when one opened, says so', async (t) => {
  const { app, creatorId, send, trace } = await open(t);
  const { id } = await send();
  app.clock.advance(2 * day);
  await app.runtime.overlays.begin(creatorId, '00000000-0000-4000-8000-000000000001', undefined);
  const found = await trace(id);
  assert.deepEqual(stepTexts(found), [...start, 'overlay expired']);
  assert.deepEqual(found.steps.at(-1), {
    at: '2026-11-17T04:00:00.000Z',
    kind: 'overlay',
    outcome: 'expired',
    detail: { reason: null, overlay_open: false },
  });
});

test('skipped by the creator, below the smallest amount, and blocked', async (t) => {
  const { app, creatorId, send, trace, overlay } = await open(t);
  const { settings } = await app.runtime.overlays.get(creatorId);
  await app.runtime.overlays.saveSettings(creatorId, { ...settings, minimumMinor: 10_000 });
  const { shown } = await overlay();
  const [byCreator, small] = [await send(), await send({ amount: 5 })];
  app.clock.advance(second);
  await app.runtime.overlays.skip(creatorId, byCreator.id);
  await shown(2, 'below_minimum');
  await app.runtime.screening.change(creatorId, (rules) => ({ ...rules, blockedNames: ['SOMCHAI'] }));
  const blocked = await send();
  const skipped = (reason: string) => [...start, `overlay skipped ${reason}`, 'event alert.skipped'];
  assert.deepEqual(stepTexts(await trace(byCreator.id)), skipped('by_creator'));
  assert.deepEqual(stepTexts(await trace(small.id)), skipped('below_minimum'));
  assert.deepEqual(stepTexts(await trace(blocked.id)), [...start, 'overlay skipped blocked']);
});

test('a held tip tells which rule held it, and whether it was approved, rejected or forgotten', async (t) => {
  const { app, creatorId, send, trace, overlay, hold } = await open(t);
  await hold();
  const { shown } = await overlay();
  const rude = { message: 'how rude' };
  const [approved, rejected, forgotten] = [await send(rude), await send(rude), await send(rude)];
  const held = [...start, 'held word_list'];
  assert.deepEqual(stepTexts(await trace(approved.id)), held);
  assert.equal((await trace(approved.id)).missing[0]?.reason, 'held');
  app.clock.advance(second);
  await app.runtime.overlays.approve(creatorId, approved.id);
  await app.runtime.overlays.reject(creatorId, rejected.id);
  app.clock.advance(second);
  await shown(4);
  app.clock.advance(day + hour);
  await app.runtime.overlays.skipHeld();
  assert.deepEqual(stepTexts(await trace(approved.id)), [
    ...[...held, 'approved', 'event alert.approved'],
    ...['overlay shown', 'event alert.shown'],
  ]);
  const end = (reason: string) => [`overlay skipped ${reason}`, 'event alert.skipped'];
  assert.deepEqual(stepTexts(await trace(rejected.id)), [...held, 'rejected', ...end('rejected')]);
  assert.deepEqual(stepTexts(await trace(forgotten.id)), [...held, ...end('held_too_long')]);
});

test('a replay is a step of its own on the overlay, which says if none was open; apps have its event', async (t) => {
  const { app, creatorId, send, trace, overlay } = await open(t);
  const page = await overlay();
  const { id } = await send();
  await page.shown(1);
  app.clock.advance(second);
  await app.runtime.overlays.replayTip(creatorId, id);
  await page.close();
  app.clock.advance(20 * second);
  await app.runtime.overlays.replayTip(creatorId, id);
  const [first, again] = ['Shown on the overlay', 'Sent to the overlay to be played again'];
  const lines = traceLines(await app.runtime.traces.ofTip(creatorId, id, 'creator'));
  const onOverlay = lines.filter((line) => line.includes('  Overlay  '));
  assert.deepEqual(
    onOverlay.map((line) => line.split('  Overlay  ')[1]),
    [first, again, `${again} No overlay was open then.`],
  );
  const visitor = await signedInVisitor(app, creatorId);
  for (const [language, text] of [
    ['en', again],
    ['th', keepWordsWhole('ส่งให้โอเวอร์เลย์แสดงอีกครั้ง')],
  ] as const) {
    const { body } = await visitor.get(`/dashboard/tips/${id}`, { 'accept-language': language });
    assert.equal(body.split(`>${text}<`).length - 1, 2, language);
  }
  const replayed = 'event alert.replayed';
  assert.deepEqual(stepTexts(await trace(id)), [...start, 'overlay shown', 'event alert.shown', replayed, replayed]);
});

test('a voided tip: before it is shown, after, and while it is held', async (t) => {
  const { app, creatorId, pair, send, trace, overlay, hold } = await open(t);
  const { shown } = await overlay();
  const [first, early] = [await send(), await send()];
  await shown(1);
  await hold();
  const held = await send({ message: 'rude' });
  app.clock.advance(hour);
  for (const { id } of [first, early, held])
    await app.runtime.tips.void(creatorId, id, { clientId: pair.clientId, reason: 'Refunded' });
  const voided = ['event tip.voided'];
  assert.deepEqual(stepTexts(await trace(first.id)), [
    ...[...start, 'overlay shown', 'event alert.shown'],
    ...['voided Refunded', ...voided],
  ]);
  const skipped = ['overlay skipped voided', 'voided Refunded', 'event alert.skipped', ...voided];
  assert.deepEqual(stepTexts(await trace(early.id)), [...start, ...skipped]);
  assert.deepEqual(stepTexts(await trace(held.id)), [...start, 'held word_list', ...skipped]);
});

test('after 30 days the recording, the outcome of the alert and the void are left, with their times', async (t) => {
  const { app, creatorId, pair, send, trace, hold } = await open(t);
  await hold();
  const { id } = await send({ message: 'rude' });
  app.clock.advance(second);
  await app.runtime.overlays.reject(creatorId, id);
  app.clock.advance(31 * day);
  for (const prune of [true, false]) {
    const found = await trace(id);
    assert.deepEqual(stepTexts(found), ['recorded', 'overlay skipped rejected']);
    assert.deepEqual(
      found.steps.map(({ at }) => at),
      ['2026-11-15T04:00:00.000Z', '2026-11-15T04:00:01.000Z'],
    );
    assert.deepEqual(found.missing, []);
    if (prune) await app.runtime.events.prune();
  }
  await app.runtime.tips.void(creatorId, id, { clientId: pair.clientId, reason: null });
  app.clock.advance(31 * day);
  assert.deepEqual(stepTexts(await trace(id)), ['recorded', 'overlay skipped rejected', 'voided']);
});

test('an overlay that is open at another node is open, until that node is gone', { skip: !onNodes }, async (t) => {
  const here = await listen(t);
  const there = await buildApp(t, here.env);
  there.clock.set(here.clock());
  const pair = await makePair(here.runtime);
  const { settings } = await here.runtime.overlays.get(pair.creatorId);
  await here.runtime.overlays.saveSettings(pair.creatorId, { ...settings, maxAgeMinutes: 600 });
  await openTracedOverlay(t, here, here.address, pair);
  const { id } = await sendTip(there, pair);
  assert.equal((await readTrace(there, pair, id)).missing[0]?.reason, 'waiting');
  there.clock.advance(hour);
  assert.equal((await readTrace(there, pair, id)).missing[0]?.reason, 'no_overlay', 'the node has died');
});

test('the trace of another creator’s tip, of none and of one that an app may not read is not there', async (t) => {
  const { app, pair, send } = await open(t);
  const { id } = await send();
  const other = await makePair(app.runtime);
  const noScope = await makePair(app.runtime, { creator: pair, scope: 'events.subscribe tips.create' });
  const ask = async (url: string, headers?: object) =>
    (await app.http.inject({ url, headers: { ...headers } })).statusCode;
  assert.equal(await ask(`/v1/tips/${id}/trace`, other.headers), 404);
  assert.equal(await ask('/v1/tips/tip_unknown/trace', pair.headers), 404);
  assert.equal(await ask(`/v1/tips/${id}/trace`, noScope.headers), 403);
  assert.equal(await ask(`/v1/tips/${id}/trace`), 401);
});
