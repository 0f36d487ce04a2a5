import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { execute } from '../../../test/sql.ts';
import { createVisitor, signedInVisitor } from '../../../test/visitor.ts';
import { liveView } from './views.ts';
import { liveWords } from './words.ts';

test('security 41: other work is let in before each entry of live control', async (t) => {
  const { runtime } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  const words = { amount: 1, name: 'SOMCHAI', displayName: null, message: '👨‍👩‍👧‍👦'.repeat(36) };
  const record = (count: number) =>
    Promise.all(Array.from({ length: count }, () => runtime.tips.record({ creatorId, app: null, ...words })));
  await record(30);
  await runtime.screening.change(creatorId, (rules) => ({ ...rules, hold: { ...rules.hold, everything: true } }));
  await record(120);
  const state = await runtime.control.state(creatorId, 500);
  let pauses = 0;
  const view = { t: liveWords('en'), csrf: '', base: '', moderator: false, state, now: 0, progress: '' as const };
  const pause = async () => {
    pauses += 1;
  };
  const body = String(await liveView(view, pause));
  assert.equal(pauses, 120 + 30 + 1);
  assert.equal(body.match(/id="act-approve-tip_/g)?.length, 120);
  assert.equal(body.match(/id="act-skip-tip_/g)?.length, 30);
});

test('security 41: a long list of held tips takes as many iterations of the event loop as it takes milliseconds', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  await makeManyTips(app.runtime, creatorId, 200);
  await execute(app.runtime.db, `UPDATE tips SET alert_status = 'held' WHERE creator_id = $1`, [creatorId]);
  const visitor = await signedInVisitor(app, creatorId);
  assert.equal((await visitor.get('/dashboard/live?held=500')).statusCode, 200);
  // Whatever is measured takes a millisecond.
  let time = performance.now();
  const now = t.mock.method(performance, 'now', () => (time += 1));
  let [iterations, done] = [0, false];
  const answer = visitor.get('/dashboard/live?held=500').finally(() => (done = true));
  for (; !done; iterations += 1) await nextIteration();
  now.mock.restore();
  assert.equal((await answer).body.match(/id="act-approve-tip_/g)?.length, 200);
  assert.ok(iterations >= 200, `${iterations} iterations`);
});

test('requests of the page of live control are counted by what they list, the moderators’ separately from the creator’s', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creatorId);
  const key = await app.runtime.moderators.add(creatorId, 'helper');
  const helper = createVisitor(app);
  for (const [who, address] of [
    [visitor, '/dashboard/live'],
    [helper, `/moderate/${key}`],
  ] as const) {
    const statuses = new Set<number>();
    for (let i = 0; i < 60; i++) statuses.add((await who.get(`${address}?held=500`)).statusCode);
    assert.deepEqual([...statuses], [200]);
    assert.equal((await who.get(address)).statusCode, 429);
  }
  app.clock.advance(60_000);
  assert.equal((await visitor.get('/dashboard/live')).statusCode, 200);
});

test('security 41: what waits is looked for among the newest 5,000 tips, however many were shown in a day', async (t) => {
  const { runtime } = await buildApp(t);
  const waiting = async (tips: number) => {
    const { creatorId } = await makeCreator(runtime);
    await makeManyTips(runtime, creatorId, tips);
    await execute(runtime.db, `UPDATE tips SET alert_status = 'shown' WHERE creator_id = $1 AND sequence > 2`, [
      creatorId,
    ]);
    const found = await runtime.tips.queuedSince(creatorId, 0, 50);
    return found.map(({ id }) => id);
  };
  assert.deepEqual(await waiting(5_000), ['tip_1', 'tip_2']);
  assert.deepEqual(await waiting(5_001), ['tip_2']);
});
