import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { startStopwatch } from '../../../test/stopwatch.ts';
import { createVisitor, signedInVisitor } from '../../../test/visitor.ts';

const home = '/dashboard/live';
const page = '00000000-0000-4000-8000-000000000001';

async function prepare(app: TestApp) {
  const { creatorId } = await makeCreator(app.runtime);
  const hold = (everything: boolean) =>
    app.runtime.screening.change(creatorId, (rules) => ({ ...rules, hold: { ...rules.hold, everything } }));
  const tip = async (message: string) => {
    const fields = { amount: 1234.5, name: 'SOMCHAI', displayName: null, message };
    return (await app.runtime.tips.record({ creatorId, app: null, ...fields })).tip;
  };
  const statusOf = async (id: string) => (await app.runtime.tips.byId(creatorId, id)).alert.status;
  return { creatorId, hold, tip, statusOf };
}

/** An element of the page, by `data-part`. */
const part = (body: string, name: string): string =>
  new RegExp(`data-part="${name}"[^>]*>([\\s\\S]*?)</section>`).exec(body)?.[1] ?? '';

test('the control lists what is held, waits and plays, and every action does what it says', async (t) => {
  const app = await buildApp(t);
  const { runtime } = app;
  const { creatorId, hold, tip, statusOf } = await prepare(app);
  const visitor = await signedInVisitor(app, creatorId);
  const body = async () => (await visitor.get(home)).body;
  await hold(true);
  const [good, bad] = [await tip('good one'), await tip('bad one')];
  await hold(false);
  const waiting = await tip('waiting one');
  assert.match(part(await body(), 'held'), /good one[\s\S]*bad one/);
  assert.match(part(await body(), 'waiting'), /waiting one/);
  assert.doesNotMatch(part(await body(), 'waiting'), /good one/);

  app.clock.advance(1000);
  assert.equal((await visitor.post(`${home}/approve/${good.id}`)).headers.location, home);
  assert.equal((await visitor.post(`${home}/reject/${bad.id}`, {}, { 'x-live-control': '1' })).statusCode, 204);
  assert.deepEqual([await statusOf(good.id), await statusOf(bad.id)], ['queued', 'skipped']);
  assert.match(part(await body(), 'waiting'), /waiting one[\s\S]*good one/, 'in the order of their turn');
  await visitor.post(`${home}/skip/${waiting.id}`);
  assert.equal(await statusOf(waiting.id), 'skipped');

  const acks = [{ sequence: 4, outcome: 'shown' as const, ms: 5000 }];
  await runtime.overlays.acknowledge(creatorId, page, acks);
  assert.match(part(await body(), 'playing'), /good one/);
  assert.doesNotMatch(part(await body(), 'waiting'), /good one/);
  assert.doesNotMatch(part(await body(), 'shown'), /good one/, 'listed once');
  await visitor.post(`${home}/stop`);
  assert.doesNotMatch(part(await body(), 'playing'), /good one/);
  assert.equal((await runtime.overlays.get(creatorId)).stopped, 4, 'a page that missed the hint finds it in its state');
  assert.match(part(await body(), 'shown'), /good one/);

  await runtime.overlays.acknowledge(creatorId, page, [{ sequence: 4, outcome: 'shown', ms: 5000 }]);
  await visitor.post(`${home}/pause`);
  await visitor.post(`${home}/hide`);
  await visitor.post(`${home}/volume`, { volume: '35' });
  const { paused, hidden, volume } = await runtime.overlays.get(creatorId);
  assert.deepEqual({ paused, hidden, volume }, { paused: true, hidden: true, volume: 35 });
  assert.equal((await visitor.post(`${home}/volume`, { volume: '101' })).statusCode, 422);
  await visitor.post(`${home}/resume`);
  await visitor.post(`${home}/unhide`);
  await visitor.post(`${home}/replay/1`);
  const events = await runtime.events.after(creatorId, 0, 100);
  assert.equal(events.at(-1)?.type, 'alert.replayed');
  assert.equal((await visitor.post(`${home}/replay/2`)).statusCode, 404, 'a rejected tip is not replayed');
  const state = await runtime.overlays.get(creatorId);
  assert.deepEqual([state.paused, state.hidden], [false, false]);
});

test('all held tips are counted, and those beyond the first fifty can be listed', async (t) => {
  const app = await buildApp(t);
  const { creatorId, hold, tip } = await prepare(app);
  const visitor = await signedInVisitor(app, creatorId);
  await hold(true);
  const held = [];
  for (let i = 0; i < 120; i++) held.push(await tip(`held ${i}.`));
  const listed = async (query: string) => {
    const body = part((await visitor.get(home + query)).body, 'held');
    assert.match(body, /Held: 120/);
    return { body, count: body.match(/>held \d+\.</g)?.length };
  };
  const first = await listed('');
  assert.equal(first.count, 50);
  assert.match(first.body, /Held after these: 70[\s\S]*live\?held[^"]*100"/);
  assert.equal((await listed('?held=100')).count, 100);
  const all = await listed('?held=150');
  assert.equal(all.count, 120);
  assert.doesNotMatch(all.body, /Held after these/);
  for (const query of ['?held=x', '?held=-1', '?held=50&held=100']) assert.equal((await listed(query)).count, 50);
  const last = held.at(-1)?.id;
  assert.equal((await visitor.post(`${home}/approve/${last}`)).statusCode, 303);
  assert.match((await visitor.get(home)).body, /Held: 119/);
});

test('a tip that is skipped or voided while it plays leaves every control, and a page that missed the hint finds it', async (t) => {
  const app = await buildApp(t);
  const { runtime } = app;
  const { creatorId, tip } = await prepare(app);
  const visitor = await signedInVisitor(app, creatorId);
  const body = async (name: string) => part((await visitor.get(home)).body, name);
  const [skipped, voided] = [await tip('skipped one'), await tip('voided one')];
  const play = (sequence: number) =>
    runtime.overlays.acknowledge(creatorId, page, [{ sequence, outcome: 'shown', ms: 5000 }]);
  await play(1);
  await visitor.post(`${home}/skip/${voided.id}`);
  assert.match(await body('playing'), /skipped one/, 'another tip does not stop it');
  await visitor.post(`${home}/skip/${skipped.id}`);
  assert.doesNotMatch(await body('playing'), /skipped one/);
  assert.equal((await runtime.overlays.get(creatorId)).stopped, 1);

  const shown = await tip('shown one');
  const { sequence } = await runtime.tips.withSequence(creatorId, shown.id);
  await play(sequence);
  assert.match(await body('playing'), /shown one/);
  await runtime.tips.void(creatorId, shown.id, { clientId: null, reason: null });
  assert.doesNotMatch(await body('playing'), /shown one/);
  assert.doesNotMatch(await body('shown'), /shown one/, 'and cannot be replayed');
  assert.match(await body('shown'), /skipped one/);
});

test('all listed tips are approved or rejected at once, those that came since are not', async (t) => {
  const app = await buildApp(t);
  const { creatorId, hold, tip, statusOf } = await prepare(app);
  const visitor = await signedInVisitor(app, creatorId);
  await hold(true);
  const first = await tip('first');
  const listed = async () =>
    /name="tips" value="([^"]*)"/.exec(part((await visitor.get(home)).body, 'held'))?.[1] ?? '';
  assert.equal(await listed(), '', 'one tip has its own buttons');
  const second = await tip('second');
  const tips = await listed();
  const later = [await tip('third'), await tip('fourth')];
  assert.equal((await visitor.post(`${home}/approve`, { tips })).headers.location, home);
  const statuses = () => Promise.all([first, second, ...later].map(({ id }) => statusOf(id)));
  assert.deepEqual(await statuses(), ['queued', 'queued', 'held', 'held']);
  const rejected = await visitor.post(`${home}/reject`, { tips: await listed() }, { 'x-live-control': '1' });
  assert.equal(rejected.statusCode, 204);
  assert.deepEqual(await statuses(), ['queued', 'queued', 'skipped', 'skipped']);

  const stranger = await prepare(app);
  await stranger.hold(true);
  const { id } = await stranger.tip('of another creator');
  await visitor.post(`${home}/approve`, { tips: id });
  assert.equal(await stranger.statusOf(id), 'held');
});

test('ids of tips that are not held cost no write', async (t) => {
  const app = await buildApp(t);
  const { creatorId, hold, tip, statusOf } = await prepare(app);
  const visitor = await signedInVisitor(app, creatorId);
  const shown = await tip('not held');
  await hold(true);
  const held = await tip('held');
  const write = t.mock.method(app.runtime.db, 'write');
  const written = async (action: string, tips: string) => {
    write.mock.resetCalls();
    assert.equal((await visitor.post(`${home}/${action}`, { tips })).statusCode, 303);
    return write.mock.callCount();
  };
  const others = Array.from({ length: 100 }, (_, i) => `${shown.id} tip_${i}`).join(' ');
  assert.equal(await written('reject', others), 0);
  assert.equal(await written('approve', others), 0);
  assert.equal(await written('approve', `${others} ${held.id} ${held.id}`), 1);
  assert.equal(await statusOf(held.id), 'queued');
});

test('what plays is forgotten once its time is over', async (t) => {
  const app = await buildApp(t);
  const { creatorId, tip } = await prepare(app);
  await tip('one');
  await app.runtime.overlays.acknowledge(creatorId, page, [{ sequence: 1, outcome: 'shown', ms: 5000 }]);
  assert.equal((await app.runtime.overlays.playing(creatorId))?.message, 'one');
  app.clock.advance(5000);
  assert.equal(await app.runtime.overlays.playing(creatorId), undefined);
});

test('security 55: a moderator link sees names and texts, does what it may, and nothing else', async (t) => {
  const app = await buildApp(t);
  const { runtime } = app;
  const { creatorId, hold, tip, statusOf } = await prepare(app);
  const other = await prepare(app);
  const creator = await signedInVisitor(app, creatorId);
  const made = await creator.post(`${home}/moderators`, { title: 'Nok' });
  const key = /\/moderate\/(njm_\w{43})/.exec(made.body)?.[1] ?? '';
  assert.notEqual(key, '');
  assert.doesNotMatch((await creator.get(home)).body, /njm_/, 'it is shown once');
  const dump = JSON.stringify(await runtime.db.all('SELECT * FROM moderator_links'));
  assert.ok(!dump.includes(key));

  await hold(true);
  const [first, second] = [await tip('hold me'), await tip('hold me too')];
  await other.hold(true);
  const foreign = await other.tip('not yours');
  const moderator = createVisitor(app);
  const link = `/moderate/${key}`;
  const shown = await moderator.get(link);
  assert.equal(shown.headers['x-robots-tag'], 'noindex');
  assert.match(shown.body, /SOMCHAI[\s\S]*hold me/);
  assert.doesNotMatch(shown.body, /1,234|not yours|Moderator links|name="volume"|\/dashboard/);
  await moderator.post(`${link}/approve/${first.id}`);
  await moderator.post(`${link}/reject/${second.id}`);
  assert.deepEqual([await statusOf(first.id), await statusOf(second.id)], ['queued', 'skipped']);
  assert.equal((await moderator.post(`${link}/approve/${foreign.id}`)).statusCode, 404);
  assert.equal(await other.statusOf(foreign.id), 'held');
  for (const path of ['volume', 'moderators', 'settings'])
    assert.equal((await moderator.post(`${link}/${path}`, { volume: '1', title: 'x' })).statusCode, 404, path);
  assert.equal((await moderator.post(`${link}/pause`, {}, { origin: 'https://evil.example' })).statusCode, 403);
  assert.equal((await moderator.post(`${link}/pause`, { csrf: 'wrong' })).statusCode, 403);
  assert.equal((await runtime.overlays.get(creatorId)).paused, false);
  await moderator.post(`${link}/pause`);
  await moderator.post(`${link}/hide`);
  const { paused, hidden } = await runtime.overlays.get(creatorId);
  assert.deepEqual([paused, hidden], [true, true]);
  for (const url of ['/dashboard', '/dashboard/live', '/dashboard/overlay', '/account'])
    assert.equal((await moderator.get(url)).statusCode, 303, 'it is no session');

  const [{ id = '' } = {}] = await runtime.moderators.list(creatorId);
  const nok = await signedInVisitor(app, other.creatorId);
  await nok.post(`${home}/moderators/${id}/revoke`);
  assert.equal((await moderator.get(link)).statusCode, 200, 'nobody else can revoke it');
  await creator.post(`${home}/moderators/${id}/revoke`);
  assert.equal((await moderator.get(link)).statusCode, 404);
  assert.equal((await moderator.post(`${link}/resume`)).statusCode, 404);
  assert.equal((await moderator.get(`${link}/stream`)).statusCode, 404);
});

test('without an overlay the creator is led to its address, a moderator is not', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await prepare(app);
  const visitor = await signedInVisitor(app, creatorId);
  const next = /<a href="\/dashboard\/overlay">Get the address for OBS/;
  assert.match((await visitor.get('/dashboard/live')).body, next);
  const key = await app.runtime.moderators.add(creatorId, 'Nok');
  const { body } = await visitor.get(`/moderate/${key}`);
  assert.match(body, /No overlay is open/);
  assert.doesNotMatch(body, next);
});

test('at most ten links; making one needs a recent sign-in and a title', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creatorId);
  assert.equal((await visitor.post(`${home}/moderators`, { title: ' ' })).statusCode, 422);
  for (let i = 0; i < 10; i++)
    assert.equal((await visitor.post(`${home}/moderators`, { title: `${i}` })).statusCode, 200);
  const full = await visitor.post(`${home}/moderators`, { title: 'one more' });
  assert.equal(full.statusCode, 422);
  assert.match(full.body, /at most 10 links/);
  app.clock.advance(11 * 60_000);
  assert.equal((await visitor.post(`${home}/moderators`, { title: 'late' })).statusCode, 303);
});

test('of links that are made at once no more than ten stay', async (t) => {
  const { runtime } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  await Promise.allSettled(Array.from({ length: 20 }, (_, i) => runtime.moderators.add(creatorId, `${i}`)));
  assert.equal((await runtime.moderators.list(creatorId)).length, 10);
});

test('security 55: an open stream says that something changed and nothing of what, and ends within a second', async (t) => {
  const app = await buildApp(t);
  const { creatorId, tip } = await prepare(app);
  const address = await app.http.listen({ port: 0, host: '127.0.0.1' });
  const key = await app.runtime.moderators.add(creatorId, 'Nok');
  const answer = await fetch(`${address}/moderate/${key}/stream`, { signal: AbortSignal.timeout(180_000) });
  assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  await tip('secret words');
  await app.runtime.overlays.setVolume(creatorId, 10);
  let text = '';
  let sinceRevoked: (() => number) | undefined;
  for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (sinceRevoked || (text.match(/^data: /gm)?.length ?? 0) < 2) continue;
    const [{ id = '' } = {}] = await app.runtime.moderators.list(creatorId);
    sinceRevoked = startStopwatch();
    await app.runtime.moderators.revoke(creatorId, id);
  }
  assert.ok(sinceRevoked && sinceRevoked() < 1000);
  assert.doesNotMatch(text, /secret|SOMCHAI|amount/);
});
