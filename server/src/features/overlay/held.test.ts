import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import { until } from '../../../../sdk/test/until.ts';
import { makePair, type Pair } from '../../../test/factories.ts';
import { type LiveApp, listen } from '../../../test/sockets.ts';
import { execute } from '../../../test/sql.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { createTips, type ScreenTip } from '../tips/index.ts';

const page = '00000000-0000-4000-8000-000000000001';
const hour = 3_600_000;

type Verdict = Omit<Awaited<ReturnType<ScreenTip>>, 'version'>;

/** Records a tip of a creator whose screening decides this. */
async function record({ runtime }: LiveApp, { creatorId }: Pair, verdict: Verdict) {
  const tips = createTips({ ...runtime, screen: async () => ({ ...verdict, version: 0 }) });
  const fields = { amount: 50, name: 'SOMCHAI', displayName: 'Rude name', message: 'Rude words' };
  return (await tips.record({ creatorId, app: null, ...fields })).tip;
}

/** What an overlay's socket gets. Without a protocol it is a page from before an upgrade. */
async function watch(t: TestContext, app: LiveApp, pair: Pair, protocol?: number) {
  const key = await app.runtime.overlays.key(pair.creatorId);
  const webSocket = new WebSocket(`ws://${app.address}/overlay/socket`);
  t.after(() => webSocket.terminate());
  const frames: string[] = [];
  webSocket.on('open', () => webSocket.send(JSON.stringify({ type: 'auth', token: key, after: 0, protocol })));
  webSocket.on('message', (data) => frames.push(String(data)));
  await until('welcome', () => frames.length > 0);
  return {
    text: () => frames.join('\n'),
    events: () => frames.map((frame) => JSON.parse(frame)).flatMap(({ event }) => event ?? []),
  };
}

const alertOf = async ({ runtime }: LiveApp, { creatorId }: Pair, id: string) =>
  (await runtime.tips.byId(creatorId, id)).alert;

async function acknowledge({ runtime, http }: LiveApp, { creatorId }: Pair, sequence: number, outcome = 'shown') {
  const key = await runtime.overlays.key(creatorId);
  const payload = { instance: page, acks: [{ sequence, outcome }] };
  await http.inject({ method: 'POST', url: `/overlay/${key}/ack`, payload });
}

const stored = async ({ runtime }: LiveApp, { creatorId }: Pair) =>
  (await runtime.events.after(creatorId, 0, 100)).map(({ body }) => JSON.parse(body));

const held: Verdict = { status: 'held', shown: { name: 'R***', message: null } };

test('a held tip counts at once, and is sent to overlays only when it is approved, with its screened words', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const overlay = await watch(t, app, pair, 2);
  const tip = await record(app, pair, held);
  assert.deepEqual(tip.alert, { status: 'held', shown_at: null, name: 'R***', message: null });
  assert.deepEqual([tip.name, tip.display_name, tip.message], ['SOMCHAI', 'Rude name', 'Rude words']);
  assert.equal((await app.runtime.tips.stats(pair.creatorId)).all_time.total_minor, 5000);
  await acknowledge(app, pair, 1);
  assert.equal((await alertOf(app, pair, tip.id)).status, 'held', 'nobody can acknowledge it');
  assert.equal(await app.runtime.overlays.skip(pair.creatorId, tip.id), false);
  await assert.rejects(app.runtime.overlays.replay(pair.creatorId, 1), { code: 'not_found' });

  app.clock.advance(2 * hour);
  assert.equal(await app.runtime.overlays.approve(pair.creatorId, tip.id), true);
  assert.equal(await app.runtime.overlays.approve(pair.creatorId, tip.id), false, 'once');
  assert.equal(await app.runtime.overlays.reject(pair.creatorId, tip.id), false, 'and for good');
  await until('the approval has come', () => overlay.events().length > 0);
  const [approved, ...others] = overlay.events();
  assert.deepEqual([approved.type, approved.sequence, others], ['alert.approved', 2, []]);
  const { name, display_name, message, alert } = approved.data.tip;
  assert.deepEqual({ name, display_name, message }, { name: 'R***', display_name: null, message: null });
  assert.deepEqual(alert, { status: 'queued', shown_at: null, name: 'R***', message: null });
  assert.doesNotMatch(overlay.text(), /Rude/);
  const [, event] = await stored(app, pair);
  assert.deepEqual([event.data.tip.display_name, event.data.tip.message], ['Rude name', 'Rude words'], 'apps get all');

  await acknowledge(app, pair, 1);
  assert.equal((await alertOf(app, pair, tip.id)).status, 'queued', 'only the approval settles it');
  await acknowledge(app, pair, 2);
  assert.equal((await alertOf(app, pair, tip.id)).status, 'shown');
  assert.deepEqual(
    (await stored(app, pair)).map(({ type }) => type),
    ['tip.created', 'alert.approved', 'alert.shown'],
  );
});

test('the age of an approved tip counts from its approval', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const { overlays } = app.runtime;
  const [late, later] = [await record(app, pair, held), await record(app, pair, held)];
  app.clock.advance(2 * hour);
  await overlays.approve(pair.creatorId, late.id);
  assert.equal(await overlays.begin(pair.creatorId, page, undefined), 2, 'the approval follows');
  assert.equal((await alertOf(app, pair, late.id)).status, 'queued', 'it is not too old');
  app.clock.advance(hour);
  await overlays.approve(pair.creatorId, later.id);
  await overlays.skip(pair.creatorId, later.id);
  assert.deepEqual(await overlays.skipped(pair.creatorId), [later.id], 'a page learns of it before it plays anything');
  await overlays.begin(pair.creatorId, page, undefined);
  assert.equal((await alertOf(app, pair, late.id)).status, 'expired', 'now it is');
});

test('rejected tips, and those held for a day, are skipped for good and never replayed', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const { overlays } = app.runtime;
  const overlay = await watch(t, app, pair, 2);
  const [rejected, forgotten] = [await record(app, pair, held), await record(app, pair, held)];
  assert.equal(await overlays.reject(pair.creatorId, rejected.id), true);
  app.clock.advance(24 * hour - 1);
  await overlays.skipHeld();
  assert.equal((await alertOf(app, pair, forgotten.id)).status, 'held');
  app.clock.advance(1);
  await overlays.skipHeld();
  await until('both are reported', () => overlay.events().length === 2);
  assert.deepEqual(
    overlay.events().map(({ type, data }) => [type, data.tip_id, data.reason]),
    [
      ['alert.skipped', rejected.id, 'rejected'],
      ['alert.skipped', forgotten.id, 'held_too_long'],
    ],
  );
  for (const sequence of [1, 2]) await assert.rejects(overlays.replay(pair.creatorId, sequence), { code: 'not_found' });
  assert.doesNotMatch(overlay.text(), /Rude|R\*/);
});

test('a blocked tip is skipped from the start, without a second event', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const overlay = await watch(t, app, pair, 2);
  const tip = await record(app, pair, { status: 'blocked', shown: { name: 'SOMCHAI', message: null } });
  assert.equal(tip.alert.status, 'skipped');
  await assert.rejects(app.runtime.overlays.replay(pair.creatorId, 1), { code: 'not_found' });
  const next = await record(app, pair, { status: 'queued', shown: null });
  await until('the next has come', () => overlay.events().length > 0);
  assert.deepEqual(
    overlay.events().map(({ data }) => [data.tip.id, data.tip.name, data.tip.message]),
    [[next.id, 'Rude name', 'Rude words']],
  );
  assert.deepEqual(
    (await stored(app, pair)).map(({ type }) => type),
    ['tip.created', 'tip.created'],
  );
});

test('a page that names no protocol gets the types it knows, and the dashboard counts it as outdated', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const [old, present] = [await watch(t, app, pair), await watch(t, app, pair, 3)];
  assert.deepEqual(await app.runtime.presence.open(pair.creatorId), { connected: 2, outdated: 1 });
  const visitor = await signedInVisitor(app, pair.creatorId);
  assert.match((await visitor.get('/dashboard/overlay')).body, /older version of its page\. Reload it in OBS/);
  const tip = await record(app, pair, held);
  await app.runtime.overlays.approve(pair.creatorId, tip.id);
  await record(app, pair, { status: 'queued', shown: { name: 'A', message: 'fine' } });
  await until('both are there', () => old.events().length === 1 && present.events().length === 2);
  assert.deepEqual(
    old.events().map(({ type, data }) => [type, data.tip.name, data.tip.message]),
    [['tip.created', 'A', 'fine']],
  );
});

test('events stored before tips had screened words are sent as they were sent then', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const tip = await record(app, pair, { status: 'queued', shown: null });
  const [event] = await stored(app, pair);
  event.data.tip.alert = { status: 'queued', shown_at: null };
  await execute(app.runtime.db, 'UPDATE events SET body = $2 WHERE creator_id = $1', [
    pair.creatorId,
    JSON.stringify(event),
  ]);
  const overlay = await watch(t, app, pair, 2);
  await until('it has come', () => overlay.events().length > 0);
  const [{ data }] = overlay.events();
  assert.equal(data.tip.id, tip.id);
  assert.deepEqual([data.tip.name, data.tip.message], ['Rude name', 'Rude words']);
});

test('a page that has sent a test alert says what becomes of it', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const { overlays, screening } = app.runtime;
  const visitor = await signedInVisitor(app, pair.creatorId);
  const said = async (home: string, path: string) => {
    await visitor.post(path);
    return (await visitor.get(home)).body;
  };
  const both = async (expected: RegExp) => {
    for (const [home, path] of [
      ['/dashboard', '/dashboard/test-alert'],
      ['/dashboard/overlay', '/dashboard/overlay/test'],
    ] as const)
      assert.match(await said(home, path), expected);
  };
  await both(/No overlay is open/);
  const overlay = await watch(t, app, pair, 2);
  await both(/on its way/);
  await overlays.pause(pair.creatorId, true);
  await both(/paused or hidden, so the test alert waits/);
  await overlays.pause(pair.creatorId, false);
  const before = await until('two that play and two that wait', () => overlay.events().length === 4 && 4);
  await screening.change(pair.creatorId, (rules) => ({ ...rules, hold: { ...rules.hold, everything: true } }));
  await both(/is not played, because your screening rules hold or block/);
  await screening.change(pair.creatorId, (rules) => ({ ...rules, hold: { ...rules.hold, everything: false } }));
  await both(/on its way/);
  await until('what follows', () => overlay.events().length >= before + 2);
  assert.equal(overlay.events().length, before + 2, 'held ones are not sent');
});
