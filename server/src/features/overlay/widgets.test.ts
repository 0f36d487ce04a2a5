import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import { until } from '../../../../sdk/test/until.ts';
import { makeCreator } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { listen } from '../../../test/sockets.ts';
import { execute } from '../../../test/sql.ts';

async function open(t: TestContext) {
  const app = await listen(t);
  const { creatorId } = await makeCreator(app.runtime);
  const key = await app.runtime.overlays.key(creatorId);
  const get = (path: string) => app.http.inject({ url: `/overlay/${key}/${path}` });
  return {
    ...app,
    ...{ creatorId, key, get },
    record: async (displayName: string, amount: number, message: string | null = null) =>
      (await app.runtime.tips.record({ creatorId, app: null, amount, name: 'SOMCHAI', displayName, message })).tip,
    takeBack: (id: string) => app.runtime.tips.void(creatorId, id, { clientId: null, reason: null }),
    state: async (path: string) => {
      const { settings, hidden, now, refreshAt, widget, ...data } = (await get(path)).json();
      return data;
    },
  };
}

/** A widget's socket. */
function connect(t: TestContext, address: string, token: string) {
  const webSocket = new WebSocket(`ws://${address}/overlay/widgets/socket`);
  t.after(() => webSocket.terminate());
  const texts: string[] = [];
  webSocket.on('open', () => webSocket.send(JSON.stringify({ type: 'auth', token })));
  webSocket.on('message', (data) => texts.push(String(data)));
  const closed = new Promise<number>((resolve) => webSocket.on('close', resolve));
  const changes = () => texts.filter((text) => JSON.parse(text).type === 'widget').length;
  return { texts, closed, changes, live: () => until('welcome', () => texts.length > 0) };
}

test('each widget tells what is so now, and follows tips, voids and goals', async (t) => {
  const { runtime, clock, creatorId, record, takeBack, state } = await open(t);
  assert.deepEqual(await state('goal/state'), { goal: null });
  assert.deepEqual(await state('latest/state'), { tips: [] });
  assert.deepEqual(await state('top/state'), { supporters: [] });
  assert.deepEqual(await state('total/state'), { totalMinor: 0, count: 0 });
  await runtime.goals.add(creatorId, { title: 'ไมค์', targetMinor: 1000, startsAt: clock(), endsAt: null });
  await record('แอน', 4, 'สู้ ๆ');
  const { id } = await record('Bee', 7);
  assert.deepEqual(await state('goal/state'), {
    goal: { title: 'ไมค์', raisedMinor: 1100, targetMinor: 1000, reached: true },
  });
  assert.deepEqual(await state('latest/state'), {
    tips: [
      { name: 'Bee', amountMinor: 700, message: null },
      { name: 'แอน', amountMinor: 400, message: 'สู้ ๆ' },
    ],
  });
  assert.deepEqual((await state('latest/state?count=1')).tips.length, 1);
  for (const period of ['day', 'month', 'all'])
    assert.deepEqual(await state(`top/state?period=${period}`), {
      supporters: [
        { name: 'Bee', totalMinor: 700 },
        { name: 'แอน', totalMinor: 400 },
      ],
    });
  await takeBack(id);
  assert.equal((await state('goal/state')).goal.raisedMinor, 400);
  assert.equal((await state('latest/state')).tips.length, 1);
  assert.deepEqual(await state('top/state'), { supporters: [{ name: 'แอน', totalMinor: 400 }] });
  for (const period of ['day', 'month', 'all'])
    assert.deepEqual(await state(`total/state?period=${period}`), { totalMinor: 400, count: 1 }, period);
});

test('a widget knows when to look again: at the end of its day, its month, its goal', async (t) => {
  const { runtime, clock, creatorId, get } = await open(t);
  const refreshAt = async (path: string) => (await get(path)).json().refreshAt;
  assert.equal(await refreshAt('top/state?period=day'), Date.parse('2026-11-15T17:00:00.000Z'));
  assert.equal(await refreshAt('total/state?period=month'), Date.parse('2026-11-30T17:00:00.000Z'));
  assert.equal(await refreshAt('total/state?period=all'), null);
  assert.equal(await refreshAt('goal/state'), null);
  const goal = { title: 'x', targetMinor: 1000 };
  await runtime.goals.add(creatorId, { ...goal, startsAt: clock() + 5000, endsAt: clock() + 9000 });
  assert.equal(await refreshAt('goal/state'), clock() + 5000);
  assert.equal((await get('goal/state')).json().goal, null, 'not begun');
  clock.advance(5000);
  assert.equal((await get('goal/state')).json().goal.title, 'x');
  assert.equal(await refreshAt('goal/state'), clock() + 4000);
  clock.advance(4000);
  assert.equal((await get('goal/state')).json().goal, null, 'ended');
});

test('a widget’s socket tells of changes, and nothing of what they hold', async (t) => {
  const { runtime, address, creatorId, key, record, takeBack } = await open(t);
  const widget = connect(t, address, key);
  await widget.live();
  const { id } = await record('Secret name', 5, 'secret words');
  await until('the tip', () => widget.changes() === 1);
  await takeBack(id);
  await until('the void', () => widget.changes() >= 2);
  await runtime.goals.add(creatorId, { title: 'secret goal', targetMinor: 1000, startsAt: 0, endsAt: null });
  await until('the goal', () => widget.texts.some((text) => text === '{"type":"overlay"}'));
  assert.doesNotMatch(widget.texts.join(''), /secret|tip_/i);
});

test('forty widgets of a creator, beside the overlays, and not counted as such', async (t) => {
  const { runtime, address, creatorId, key } = await open(t);
  const widgets = Array.from({ length: 40 }, () => connect(t, address, key));
  for (const widget of widgets) await widget.live();
  assert.equal(await connect(t, address, key).closed, 4429);
  const { alert } = await runtime.alerts.send({ creatorId });
  assert.equal(alert.overlays_connected, 0);
  assert.equal(runtime.streams.connected(creatorId, 'widget'), 40);
});

test('replacing the key closes widgets, and the old address is gone', async (t) => {
  const { runtime, address, creatorId, key, get } = await open(t);
  const widget = connect(t, address, key);
  await widget.live();
  await runtime.overlays.replaceKey(creatorId);
  assert.equal(await widget.closed, 4403);
  assert.equal((await get('goal')).statusCode, 404);
  assert.equal((await get('goal/state')).statusCode, 404);
  assert.equal(await connect(t, address, key).closed, 4401);
});

test('the page of a widget has the headers of the overlay, its language, and nothing of the tips', async (t) => {
  const { get, record, http } = await open(t);
  await record('Secret name', 5, 'secret words');
  const page = await get('top?period=all&lang=th');
  assert.equal(page.statusCode, 200);
  assert.equal(page.headers['cache-control'], 'no-store');
  assert.equal(page.headers['referrer-policy'], 'no-referrer');
  assert.equal(page.headers['x-robots-tag'], 'noindex');
  assert.match(String(page.headers['content-security-policy']), /frame-ancestors 'none'/);
  assert.match(page.body, /<html lang="th">[\s\S]*ผู้สนับสนุนอันดับต้น/);
  assert.doesNotMatch(page.body, /secret/i);
  for (const path of ['other', 'other/state', 'constructor']) assert.equal((await get(path)).statusCode, 404, path);
  assert.equal((await http.inject({ url: '/overlay/njo_wrong/goal' })).statusCode, 404);
});

test('security 46: held, rejected and blocked tips are in no list, masked words are masked, and money counts at once', async (t) => {
  const { runtime, creatorId, record, takeBack, state, get } = await open(t);
  const { screening, overlays } = runtime;
  const list = { id: 'l', title: 'l', words: ['rude'], except: [], match: 'words', action: 'mask' } as const;
  const hold = { everything: false, newNames: false, fromMinor: 10_000 };
  await screening.change(creatorId, (rules) => ({ ...rules, lists: [list], blockedNames: ['Blocked'], hold }));
  const approved = await record('Held one', 100, 'held words');
  const rejected = await record('Held two', 200, 'held words');
  const voided = await record('Held three', 400, 'held words');
  await record('Blocked', 8);
  await record('rude Ann', 16, 'so rude');
  const names = async () => [
    ...(await state('latest/state')).tips.map(({ name }: { name: string }) => name),
    ...(await state('top/state?period=all')).supporters.map(({ name }: { name: string }) => name),
  ];
  assert.deepEqual(await names(), ['**** Ann', '**** Ann']);
  assert.deepEqual(await state('total/state'), { totalMinor: 72_400, count: 5 });
  await overlays.approve(creatorId, approved.id);
  await overlays.reject(creatorId, rejected.id);
  await takeBack(voided.id);
  assert.deepEqual(await names(), ['**** Ann', 'Held one', 'Held one', '**** Ann']);
  assert.deepEqual(await state('total/state'), { totalMinor: 32_400, count: 4 });
  for (const path of ['latest/state', 'top/state', 'goal/state', 'total/state', 'latest', 'top'])
    assert.doesNotMatch((await get(path)).body, /rude|two|three|Blocked/, path);
  await takeBack(approved.id);
  await takeBack(rejected.id);
  assert.deepEqual(await names(), ['**** Ann', '**** Ann']);
});

test('thousands of tips that are held hide no older one from the latest', async (t) => {
  const { runtime, creatorId, state } = await open(t);
  await makeManyTips(runtime, creatorId, 3000);
  await execute(runtime.db, "UPDATE tips SET alert_status = 'held' WHERE creator_id = $1 AND sequence > 3", [
    creatorId,
  ]);
  const { tips } = await state('latest/state');
  assert.deepEqual(
    tips.map(({ name }: { name: string }) => name),
    ['TIP 3', 'TIP 2', 'TIP 1'],
  );
});
