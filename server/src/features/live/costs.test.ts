import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { execute } from '../../../test/sql.ts';
import { createVisitor, signedInVisitor } from '../../../test/visitor.ts';
import { liveView } from './views.ts';
import { liveWords } from './words.ts';

test('a long list of held tips is made in turns of fifty, so that others are served in between', async (t) => {
  const { runtime } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  await runtime.screening.change(creatorId, (rules) => ({ ...rules, hold: { ...rules.hold, everything: true } }));
  const words = { amount: 1, name: 'SOMCHAI', displayName: null, message: '👨‍👩‍👧‍👦'.repeat(36) };
  await Promise.all(Array.from({ length: 120 }, () => runtime.tips.record({ creatorId, app: null, ...words })));
  const state = await runtime.control.state(creatorId, 500);
  const entries: number[] = [];
  const view = { t: liveWords('en'), csrf: '', base: '', moderator: false, state, now: 0, progress: '' as const };
  const body = String(
    await liveView(view, async (part) => {
      const made = part();
      entries.push(Array.isArray(made) ? made.length : 0);
      return made;
    }),
  );
  assert.deepEqual(entries, [50, 50, 20, 0]);
  assert.equal(body.match(/id="act-approve-tip_/g)?.length, 120);
});

test('looks at live control are counted by what they list, the moderators’ apart from the creator’s', async (t) => {
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
    for (let i = 0; i < 120; i++) statuses.add((await who.get(`${address}?held=500`)).statusCode);
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
