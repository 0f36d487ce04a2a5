import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import { until } from '../../../../sdk/test/until.ts';
import { onNodes } from '../../../test/build-app.ts';
import { makeCreator, makePair, type Pair } from '../../../test/factories.ts';
import { type LiveApp, listen } from '../../../test/sockets.ts';
import { execute } from '../../../test/sql.ts';
import { startStopwatch } from '../../../test/stopwatch.ts';

const page = '00000000-0000-4000-8000-00000000000';

/** An overlay page of the creator, without a browser. */
async function overlay({ runtime, http, address }: LiveApp, { creatorId }: { creatorId: string }) {
  const key = await runtime.overlays.key(creatorId);
  const post = (path: string, payload: object) =>
    http.inject({ method: 'POST', url: `/overlay/${key}/${path}`, payload });
  return {
    key,
    post,
    state: async () => (await http.inject({ url: `/overlay/${key}/state` })).json(),
    begin: async (instance: string, sequence?: number) => (await post('begin', { instance, sequence })).json(),
    ack: (instance: string, sequence: number, outcome = 'shown') =>
      post('ack', { instance, acks: [{ sequence, outcome }] }),
    socket: (t: TestContext, after: number) => socket(t, address, key, after),
  };
}

function socket(t: TestContext, address: string, token: string, after: number) {
  const webSocket = new WebSocket(`ws://${address}/overlay/socket`);
  t.after(() => webSocket.terminate());
  const frames: ReturnType<typeof JSON.parse>[] = [];
  webSocket.on('open', () => webSocket.send(JSON.stringify({ type: 'auth', token, after, protocol: 3 })));
  webSocket.on('message', (data) => frames.push(JSON.parse(String(data))));
  const closed = new Promise<number>((resolve) => webSocket.on('close', resolve));
  return { frames, closed, leave: () => webSocket.close(), live: () => until('welcome', () => frames.length > 0) };
}

function tip({ runtime }: LiveApp, { creatorId }: { creatorId: string }, amount = 50) {
  const fields = { amount, name: 'SOMCHAI', displayName: null, message: 'Hello' };
  return runtime.tips.record({ creatorId, app: null, ...fields });
}

async function events({ runtime }: LiveApp, { creatorId }: { creatorId: string }, after = 0) {
  return (await runtime.events.after(creatorId, after, 100)).map(({ body }) => JSON.parse(body));
}

/** What another node said so many milliseconds ago about the overlays it holds. */
function sayPresence(
  { runtime, clock }: LiveApp,
  { creatorId }: { creatorId: string },
  ...said: [string, number, number]
) {
  const [node, connected, age] = said;
  const sql = 'INSERT INTO overlay_presence (creator_id, node_id, connected, seen_at) VALUES ($1, $2, $3, $4)';
  return execute(runtime.db, sql, [creatorId, node, connected, clock() - age]);
}

async function setMinimum({ runtime }: LiveApp, { creatorId }: { creatorId: string }, minimumMinor: number) {
  const { settings } = await runtime.overlays.get(creatorId);
  await runtime.overlays.saveSettings(creatorId, { ...settings, minimumMinor });
}

const statusOf = async ({ http }: LiveApp, { headers }: Pair, id: string) => {
  const { status, shown_at } = (await http.inject({ url: `/v1/tips/${id}`, headers })).json().alert;
  return { status, shown_at };
};

test('the first acknowledgement counts, tells of it once, and is noted for the page and the overlay', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const { begin, ack } = await overlay(app, pair);
  const { tip: first } = await tip(app, pair);
  assert.equal((await begin(`${page}1`)).position, 0);
  assert.equal((await ack(`${page}1`, 1)).statusCode, 204);
  app.clock.advance(5000);
  assert.equal((await ack(`${page}2`, 1)).statusCode, 204);
  assert.deepEqual(await statusOf(app, pair, first.id), { status: 'shown', shown_at: '2026-11-15T04:00:00.000Z' });
  const [, shown, ...others] = await events(app, pair);
  assert.equal(shown.type, 'alert.shown');
  assert.deepEqual(shown.data, {
    tip_id: first.id,
    alert_id: null,
    shown_at: '2026-11-15T04:00:00.000Z',
    reason: null,
  });
  assert.deepEqual(others, []);
  assert.equal((await begin(`${page}1`)).position, 1);
  assert.equal((await begin(`${page}3`)).position, 1, 'a new page begins where the overlay is');
  await ack(`${page}1`, 2);
  await ack(`${page}1`, 1);
  assert.equal((await begin(`${page}1`)).position, 2, 'a note never goes back');
  assert.equal((await begin(`${page}2`)).position, 1, 'and each page has its own');
});

test('a page’s own note and the server’s are taken together', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const { begin, ack } = await overlay(app, pair);
  for (let i = 0; i < 4; i++) await tip(app, pair);
  await ack(`${page}1`, 3);
  assert.equal((await begin(`${page}1`, 4)).position, 4, 'shown, but the word about it did not arrive');
  assert.equal((await begin(`${page}1`, 1)).position, 3);
  assert.equal((await begin(`${page}2`, 1)).position, 1, 'not what another page has shown');
  assert.equal((await begin(`${page}1`, 900)).position, 3, 'a note of a history that is gone');
  assert.equal((await ack(`${page}1`, 900)).statusCode, 204);
  assert.equal((await begin(`${page}3`)).position, 3);
});

test('alerts older than the limit expire without an event, and are not played', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const { begin, ack } = await overlay(app, pair);
  const { tip: old } = await tip(app, pair);
  app.clock.advance(31 * 60_000);
  const { tip: young } = await tip(app, pair);
  assert.equal((await begin(`${page}1`)).position, 1);
  assert.equal((await statusOf(app, pair, old.id)).status, 'expired');
  assert.equal((await statusOf(app, pair, young.id)).status, 'queued');
  await ack(`${page}1`, 2, 'expired');
  assert.equal((await statusOf(app, pair, young.id)).status, 'expired');
  await ack(`${page}1`, 1);
  assert.equal((await statusOf(app, pair, old.id)).status, 'expired', 'final');
  assert.equal((await events(app, pair)).length, 2);
});

test('a page that opens leaves what another one still holds in its queue, however old', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const { begin, ack, socket } = await overlay(app, pair);
  assert.equal((await begin(`${page}1`)).position, 0);
  const first = socket(t, 0);
  await first.live();
  const { tip: waiting } = await tip(app, pair);
  const { tip: held } = await tip(app, pair);
  app.clock.advance(31 * 60_000);
  assert.equal((await begin(`${page}2`)).position, 2, 'the second page does not play it');
  await ack(`${page}1`, 1);
  assert.equal((await statusOf(app, pair, waiting.id)).status, 'shown', 'the first one does');
  assert.equal((await statusOf(app, pair, held.id)).status, 'queued');
  first.leave();
  await first.closed;
  await until('nobody is left', () => app.runtime.streams.connected(pair.creatorId, 'overlay') === 0);
  await begin(`${page}2`);
  assert.equal((await statusOf(app, pair, held.id)).status, 'expired', 'it went away with it');
  const alertEvents = (await events(app, pair, 2)).map(({ type, data }) => [type, data.tip_id]);
  assert.deepEqual(alertEvents, [['alert.shown', waiting.id]]);
});

test('what another node holds in its queue is left, too', { skip: !onNodes }, async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const { begin } = await overlay(app, pair);
  const { tip: held } = await tip(app, pair);
  app.clock.advance(31 * 60_000);
  await sayPresence(app, pair, 'other', 1, 20_000);
  await begin(`${page}1`);
  assert.equal((await statusOf(app, pair, held.id)).status, 'queued');
  app.clock.advance(11_000);
  await begin(`${page}1`);
  assert.equal((await statusOf(app, pair, held.id)).status, 'expired', 'that node is gone');
});

test('below the smallest amount an alert is skipped, and the creator can skip a waiting one', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const { ack, state } = await overlay(app, pair);
  await setMinimum(app, pair, 5001);
  const { tip: small } = await tip(app, pair);
  const { tip: unwanted } = await tip(app, pair);
  await ack(`${page}1`, 1, 'below_minimum');
  assert.equal(await app.runtime.overlays.skip(pair.creatorId, unwanted.id), true);
  assert.equal(await app.runtime.overlays.skip(pair.creatorId, unwanted.id), false);
  await ack(`${page}1`, 2);
  assert.deepEqual(await statusOf(app, pair, unwanted.id), { status: 'skipped', shown_at: null });
  const alertEvents = (await events(app, pair, 2)).map(({ type, data }) => [type, data.tip_id, data.reason]);
  assert.deepEqual(alertEvents, [
    ['alert.skipped', small.id, 'below_minimum'],
    ['alert.skipped', unwanted.id, 'by_creator'],
  ]);
  assert.deepEqual((await state()).skipped.sort(), [small.id, unwanted.id].sort());
});

test('a page’s word that an amount is too small counts only if it is', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const { ack, begin } = await overlay(app, pair);
  await setMinimum(app, pair, 5000);
  const { tip: enough } = await tip(app, pair, 50);
  await app.http.inject({ method: 'POST', url: '/v1/alerts', headers: pair.headers, payload: { amount: 50 } });
  for (const sequence of [1, 2]) assert.equal((await ack(`${page}1`, sequence, 'below_minimum')).statusCode, 204);
  assert.equal((await begin(`${page}1`)).position, 2, 'the page has done with them');
  assert.deepEqual(await statusOf(app, pair, enough.id), { status: 'queued', shown_at: null });
  assert.equal((await events(app, pair, 2)).length, 0, 'and nobody is told');
  for (const sequence of [1, 2]) await ack(`${page}2`, sequence);
  const types = (await events(app, pair, 2)).map(({ type }) => type);
  assert.deepEqual(types, ['alert.shown', 'alert.shown'], 'another page can still show them');
});

test('a replay goes to everyone and changes no status; a test alert changes no statistics', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const { ack, socket } = await overlay(app, pair);
  const { tip: recorded } = await tip(app, pair);
  const history = async () => {
    const [list, stats] = await Promise.all(
      ['/v1/tips', '/v1/tips/stats'].map((url) => app.http.inject({ url, headers: pair.headers })),
    );
    return [list?.json().data.length, stats?.json().all_time];
  };
  const before = await history();
  const { frames } = socket(t, 0);
  await until('the page is connected', () => frames.length === 2);
  await app.http.inject({ method: 'POST', url: '/v1/alerts', headers: pair.headers });
  await app.runtime.overlays.replay(pair.creatorId, 1);
  await app.runtime.overlays.replay(pair.creatorId, 2);
  await assert.rejects(app.runtime.overlays.replay(pair.creatorId, 3), { code: 'not_found' });
  await until('all have come', () => frames.length >= 5);
  const [real, sample, again, sampleAgain] = frames.slice(1).map(({ event }) => event);
  assert.deepEqual(Object.keys(real), Object.keys(sample));
  for (const word of ['name', 'display_name', 'amount', 'amount_minor', 'currency', 'message', 'created_at'])
    assert.ok(word in real.data.tip && word in sample.data.alert, word);
  assert.deepEqual([real.test, sample.test, real.replay, sample.replay], [false, true, false, false]);
  assert.deepEqual([again.type, again.replay, again.data.tip.id], ['alert.replayed', true, recorded.id]);
  assert.deepEqual([sampleAgain.test, sampleAgain.data], [true, sample.data]);
  const later = socket(t, 0).frames;
  await until('a page that connects later has what it missed', () => later.length >= 4);
  const types = later.slice(1).map(({ event }) => event.type);
  assert.deepEqual(
    types,
    ['tip.created', 'alert.replayed', 'alert.replayed'],
    'all but the test, which nobody watches',
  );
  await ack(`${page}1`, 2);
  await ack(`${page}2`, 2);
  await ack(`${page}1`, 3);
  assert.deepEqual(await history(), before);
  assert.equal((await statusOf(app, pair, recorded.id)).status, 'queued');
  const [shown, ...more] = await events(app, pair, 4);
  assert.deepEqual([shown.type, shown.data.alert_id], ['alert.shown', sample.data.alert.id]);
  assert.deepEqual(more, []);
});

test('an overlay gets what it shows and hints, is counted, and 20 are let in', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const { socket, state } = await overlay(app, pair);
  const first = socket(t, 0);
  await first.live();
  const { tip: recorded } = await tip(app, pair);
  await app.runtime.overlays.acknowledge(pair.creatorId, `${page}1`, [{ sequence: 1, outcome: 'shown' }]);
  await app.runtime.overlays.pause(pair.creatorId, true);
  await until('both hints have come', () => first.frames.length >= 4);
  assert.deepEqual(
    first.frames.slice(1).map(({ type, event }) => [type, event?.data.tip.id]),
    [
      ['event', recorded.id],
      ['stop', undefined],
      ['overlay', undefined],
    ],
    'without alert.shown',
  );
  assert.equal((await state()).paused, true);
  const more = Array.from({ length: 19 }, () => socket(t, 0));
  for (const { live } of more) await live();
  const alert = await app.http.inject({ method: 'POST', url: '/v1/alerts', headers: pair.headers });
  assert.equal(alert.json().overlays_connected, 20);
  assert.equal(await socket(t, 0).closed, 4429);
});

test('overlays that other nodes hold open are counted while those nodes say so', { skip: !onNodes }, async (t) => {
  const app = await listen(t);
  const creator = await makeCreator(app.runtime);
  const { socket } = await overlay(app, creator);
  await socket(t, 0).live();
  await sayPresence(app, creator, 'other', 2, 20_000);
  await sayPresence(app, creator, 'gone', 5, 31_000);
  assert.equal(await app.runtime.presence.connected(creator.creatorId), 3);
  const said = () => app.runtime.db.get('SELECT node_id FROM overlay_presence WHERE connected = 1');
  await until('this node says what it holds', said);
});

test('pages, test alerts and nodes that were not seen for 30 days are forgotten, and no others', async (t) => {
  const app = await listen(t);
  const creator = await makeCreator(app.runtime);
  const { begin, ack } = await overlay(app, creator);
  const alertFor = async (instance: string) => {
    await app.runtime.overlays.sendTest(creator.creatorId);
    await ack(instance, (await events(app, creator)).at(-1).sequence);
  };
  await alertFor(`${page}1`);
  await sayPresence(app, creator, 'gone', 1, 0);
  app.clock.advance(2 * 86_400_000);
  await alertFor(`${page}2`);
  await sayPresence(app, creator, 'other', 1, 0);
  app.clock.advance(29 * 86_400_000);
  await app.runtime.overlays.prune();
  assert.ok((await begin(`${page}2`)).position > 0);
  for (const table of ['overlay_instances', 'alert_acks'])
    assert.equal((await app.runtime.db.all(`SELECT creator_id FROM ${table}`)).length, 1, table);
  assert.deepEqual(await app.runtime.db.all('SELECT node_id FROM overlay_presence'), [{ node_id: 'other' }]);
});

test('a replaced key ends what was opened with it within a second, and opens nothing any more', async (t) => {
  const app = await listen(t);
  const creator = await makeCreator(app.runtime);
  const old = await overlay(app, creator);
  const open = old.socket(t, 0);
  await open.live();
  await app.runtime.overlays.replaceKey(creator.creatorId);
  const stopwatch = startStopwatch();
  assert.equal(await open.closed, 4403);
  assert.ok(stopwatch() < 1000);
  assert.equal(await old.socket(t, 0).closed, 4401);
  for (const url of [`/overlay/${old.key}`, `/overlay/${old.key}/state`])
    assert.equal((await app.http.inject({ url })).statusCode, 404);
  assert.equal((await old.ack(`${page}1`, 1)).statusCode, 404);
  const gone = await app.http.inject({ url: `/overlay/${old.key}`, headers: { accept: 'text/html' } });
  assert.match(String(gone.headers['content-type']), /^text\/html/);
  assert.equal(gone.headers['referrer-policy'], 'no-referrer');
  assert.ok(!gone.body.includes(old.key));
  const fresh = await overlay(app, creator);
  assert.notEqual(fresh.key, old.key);
  assert.equal((await fresh.begin(`${page}1`)).position, 0);
});

test('the page is for OBS alone: not kept, not indexed, not framed, no word of where it came from', async (t) => {
  const app = await listen(t);
  const { key } = await overlay(app, await makeCreator(app.runtime));
  const { headers, body } = await app.http.inject({ url: `/overlay/${key}` });
  assert.match(String(headers['content-security-policy']), /script-src 'self'.*frame-ancestors 'none'/);
  assert.equal(headers['cache-control'], 'no-store');
  assert.equal(headers['referrer-policy'], 'no-referrer');
  assert.equal(headers['x-robots-tag'], 'noindex');
  assert.ok(!body.includes(key));
  assert.doesNotMatch(body, /<style|<script(?![^>]*src=)/);
});

test('what a page must not send is refused', async (t) => {
  const app = await listen(t);
  const { post } = await overlay(app, await makeCreator(app.runtime));
  const acks = [{ sequence: 1, outcome: 'shown' }];
  for (const [path, body] of [
    ['begin', {}],
    ['begin', { instance: 'x' }],
    ['ack', { instance: `${page}1`, acks: [] }],
    ['ack', { instance: `${page}1`, acks: [{ sequence: -1, outcome: 'shown' }] }],
    ['ack', { instance: `${page}1`, acks: [{ sequence: 1, outcome: 'queued' }] }],
    ['ack', { acks }],
  ] as const)
    assert.equal((await post(path, body)).statusCode, 422, JSON.stringify(body));
});
