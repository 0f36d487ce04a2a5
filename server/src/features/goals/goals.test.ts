import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { apiTable, guardCases, send } from '../../../test/api-cases.ts';
import { assertExactly } from '../../../test/assert-exactly.ts';
import { buildApp } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';
import { assertLedger } from '../../../test/ledger.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { createIds } from '../../platform/ids.ts';
import { Goal } from '../events/index.ts';
import { allTips } from '../tips/index.ts';
import { createGoals } from './service.ts';

const minute = 60_000;

async function open(t: TestContext) {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  const { creatorId, clientId } = pair;
  const { goals, tips, events } = app.runtime;
  const record = async (amount: number, idempotencyKey?: string) =>
    tips.record({
      creatorId,
      app: { id: clientId, name: 'App' },
      amount,
      name: 'SOMCHAI',
      displayName: null,
      message: null,
      idempotencyKey,
    });
  return {
    ...app,
    ...{ app, pair, creatorId, goals, tips, record },
    add: async (targetMinor: number, times: { startsAt?: number; endsAt?: number | null } = {}) => {
      const goal = await goals.add(creatorId, {
        title: 'ไมค์ใหม่',
        targetMinor,
        startsAt: app.clock(),
        endsAt: null,
        ...times,
      });
      assert.ok(goal);
      // Goals are listed in the order of their ids, which tell the millisecond.
      app.clock.advance(1);
      return goal;
    },
    takeBack: (id: string) => tips.void(creatorId, id, { clientId: null, reason: null }),
    raised: async () => (await goals.open(creatorId)).map(({ raised_minor }) => raised_minor),
    reachedGoals: async () =>
      (await events.after(creatorId, 0, 1000))
        .filter(({ type }) => type === 'goal.reached')
        .map(({ body }) => JSON.parse(body).data.goal),
  };
}

apiTable('GET /v1/goals', { url: '/v1/goals' }, [
  ...guardCases('tips.read'),
  {
    name: 'none',
    status: 200,
    check: (answer) => {
      assert.deepEqual(answer.json(), { data: [] });
      assert.equal(answer.headers['ratelimit-policy'], '"read";q=120;w=60');
    },
  },
]);

test('an app reads the open goals with what they have raised', async (t) => {
  const { app, pair, clock, creatorId, goals, record, add } = await open(t);
  const first = await add(300_000);
  const second = await add(50, { startsAt: clock() + minute, endsAt: clock() + 2 * minute });
  const third = await add(70);
  await record(150.5);
  const answer = await send(app, pair, { url: '/v1/goals' });
  const { data } = answer.json();
  for (const goal of data) assertExactly(Goal, goal);
  assert.deepEqual(data[0], {
    ...first,
    id: first.id,
    title: 'ไมค์ใหม่',
    target: 3000,
    target_minor: 300_000,
    raised: 150.5,
    raised_minor: 15_050,
    currency: 'THB',
    starts_at: first.starts_at,
    ends_at: null,
    reached_at: null,
  });
  assert.deepEqual(
    data.map(({ id, raised_minor, reached_at }: Goal) => [id, raised_minor, reached_at !== null]),
    [
      [first.id, 15_050, false],
      [second.id, 0, false],
      [third.id, 15_050, true],
    ],
  );
  assert.match(first.id, /^gol_[0-9a-hjkmnp-tv-z]{26}$/);
  await goals.end(creatorId, third.id);
  clock.advance(2 * minute);
  const left = (await send(app, pair, { url: '/v1/goals' })).json().data;
  assert.deepEqual(
    left.map(({ id }: Goal) => id),
    [first.id],
    'an ended goal is not open',
  );
});

test('a goal counts tips from its start until before its end, less what is voided', async (t) => {
  const { clock, goals, creatorId, record, add, takeBack, raised } = await open(t);
  const start = clock();
  await record(1);
  clock.set(start + minute);
  const { tip: counted } = await record(2);
  clock.set(start + 2 * minute);
  await record(4);
  await add(100_000, { startsAt: start + minute, endsAt: start + 4 * minute });
  assert.deepEqual(await raised(), [600], 'what was tipped before it was made');
  clock.set(start + 4 * minute - 1);
  await record(8);
  await takeBack(counted.id);
  assert.deepEqual(await raised(), [1200]);
  clock.set(start + 4 * minute);
  await record(16);
  const [ended] = await goals.ended(creatorId, 10);
  assert.equal(ended?.raised_minor, 1200, 'a tip at the end is too late');
});

test('a void after the end still leaves the goal exact', async (t) => {
  const { clock, goals, creatorId, record, add, takeBack } = await open(t);
  await add(100_000, { endsAt: clock() + minute });
  const { tip } = await record(5);
  await record(6);
  clock.advance(2 * minute);
  await takeBack(tip.id);
  assert.equal((await goals.ended(creatorId, 1))[0]?.raised_minor, 600);
});

test('a long history is summed when the goal is made', async (t) => {
  const { app, clock, creatorId, add, raised, record } = await open(t);
  await makeManyTips(app.runtime, creatorId, 5001);
  const total = 5001 * 100 + (5001 * 5002) / 2;
  await add(1_000_000_000, { startsAt: 0 });
  assert.deepEqual(await raised(), [total]);
  clock.advance(1);
  await record(1);
  assert.deepEqual(await raised(), [total + 100]);
});

test('a goal is reached once: one event, and reached_at stays after a void', async (t) => {
  const { clock, record, add, takeBack, reachedGoals, goals, creatorId } = await open(t);
  const goal = await add(10_000);
  await record(60);
  assert.deepEqual(await reachedGoals(), []);
  clock.advance(minute);
  const { tip } = await record(40);
  const reachedAt = new Date(clock()).toISOString();
  const reached = { ...goal, raised: 100, raised_minor: 10_000, reached_at: reachedAt };
  assert.deepEqual(await reachedGoals(), [reached]);
  clock.advance(minute);
  await takeBack(tip.id);
  assert.deepEqual(await goals.open(creatorId), [{ ...reached, raised: 60, raised_minor: 6000 }]);
  await record(500);
  assert.deepEqual(await reachedGoals(), [reached]);
});

test('a tip that reaches two goals tells of both, and a goal that is reached when made tells at once', async (t) => {
  const { app, clock, record, add, reachedGoals, creatorId } = await open(t);
  const [first, second] = [await add(100), await add(200)];
  await record(2);
  assert.deepEqual(
    (await reachedGoals()).map(({ id }: Goal) => id),
    [first.id, second.id],
  );
  clock.advance(minute);
  const third = await add(150, { startsAt: 0 });
  assert.equal(third.reached_at, new Date(clock() - 1).toISOString());
  assert.deepEqual((await reachedGoals()).at(-1), third);
  const types = (await app.runtime.events.after(creatorId, 0, 10)).map(({ type }) => type);
  assert.deepEqual(types, ['tip.created', 'goal.reached', 'goal.reached', 'goal.reached']);
  await assertLedger(app.runtime.db);
});

test('a goal gets another title and target; lowered to what it has raised, it is reached, once', async (t) => {
  const { app, clock, goals, creatorId, record, add, reachedGoals } = await open(t);
  const goal = await add(10_000, { endsAt: clock() + minute });
  await record(60);
  const to = (title: string, targetMinor: number) => goals.change(creatorId, goal.id, { title, targetMinor });
  assert.equal(await to('Mic', 6001), true);
  assert.deepEqual(await reachedGoals(), []);
  clock.advance(5);
  assert.equal(await to('Mic', 6000), true);
  const reached = { ...goal, title: 'Mic', target: 60, target_minor: 6000, raised: 60, raised_minor: 6000 };
  const reachedAt = new Date(clock()).toISOString();
  assert.deepEqual(await reachedGoals(), [{ ...reached, reached_at: reachedAt }]);
  await to('Microphone', 20_000);
  await to('Microphone', 100);
  const [changed] = await goals.open(creatorId);
  assert.deepEqual([changed?.title, changed?.target_minor, changed?.reached_at], ['Microphone', 100, reachedAt]);
  assert.equal((await reachedGoals()).length, 1);
  const { creatorId: other } = await makePair(app.runtime);
  assert.equal(await goals.change(other, goal.id, { title: 'x', targetMinor: 1 }), false);
  clock.advance(minute);
  assert.equal(await to('too late', 1), false);
  await assertLedger(app.runtime.db);
});

test('at most ten goals are open', async (t) => {
  const { clock, goals, creatorId, add } = await open(t);
  const input = { title: 'x', targetMinor: 1, startsAt: clock(), endsAt: null };
  const added = await Promise.all(Array.from({ length: 15 }, () => goals.add(creatorId, input)));
  assert.equal(added.filter(Boolean).length, 10);
  const [first] = await goals.open(creatorId);
  clock.advance(1);
  assert.equal(await goals.end(creatorId, first?.id ?? ''), true);
  assert.equal(await goals.end(creatorId, first?.id ?? ''), false);
  await add(5);
  assert.equal(await goals.add(creatorId, input), undefined);
});

test('a goal too many is refused without summing the history', async (t) => {
  const { app, clock, goals, creatorId, add } = await open(t);
  await makeManyTips(app.runtime, creatorId, 1);
  const known = await add(1);
  for (let i = 1; i < 10; i++) await add(1);
  const { db, events } = app.runtime;
  const summed: number[] = [];
  const sumTips = async (_creatorId: string, from: number) => ({ totalMinor: summed.push(from) });
  const counted = createGoals({ db, clock, newId: createIds(clock), events, sumTips, onChange: () => {} });
  const input = { title: 'x', targetMinor: 1, startsAt: 0, endsAt: null };
  assert.equal(await counted.add(creatorId, input), undefined);
  assert.deepEqual(summed, []);
  assert.equal((await counted.add(creatorId, input, known.id))?.id, known.id);
  await goals.remove(creatorId, known.id);
  assert.ok(await counted.add(creatorId, input));
  assert.deepEqual(summed, [0]);
});

test('goals stay exact while tips, voids and new goals come at once', async (t) => {
  const { app, clock, record, add, takeBack, raised, goals, creatorId, reachedGoals } = await open(t);
  const first = await add(40_000);
  const work: Promise<unknown>[] = [];
  for (let i = 0; i < 60; i++) {
    clock.advance(1);
    // A busy machine needs its time for so many writes to one row.
    if (i % 12 === 0) await Promise.all(work.splice(0));
    const key = i % 2 === 0 ? `key-${i}` : undefined;
    const tip = record(10, key);
    work.push(tip);
    if (key) work.push(record(10, key));
    if (i % 5 === 0) work.push(tip.then(({ tip: { id } }) => takeBack(id)));
    if (i % 10 === 0 && i > 0) work.push(add(1_000_000, { startsAt: Date.parse(first.starts_at) }));
    if (i === 33) work.push(add(1_000_000, { startsAt: 0 }).then(({ id }) => goals.remove(creatorId, id)));
  }
  await Promise.all(work);
  assert.deepEqual(await raised(), Array(6).fill(48_000));
  assert.deepEqual(await reachedGoals().then((all) => all.map(({ id }: Goal) => id)), [first.id]);
  await assertLedger(app.runtime.db);
});

test('a repair of the clock counts goals and lists of supporters anew', async (t) => {
  const { app, clock, creatorId, tips, record, add, takeBack, raised } = await open(t);
  const now = clock();
  const day = 24 * 60 * minute;
  await add(100_000, { endsAt: now + day });
  clock.set(now + 2 * day);
  await record(5); // by a clock that was wrong
  const { tip } = await record(6);
  await takeBack(tip.id);
  clock.set(now);
  const top = async () => (await tips.top(creatorId, 'day', 5)).map(({ totalMinor }) => totalMinor);
  assert.deepEqual([await raised(), await top()], [[0], [500]]);
  assert.equal(await app.runtime.events.repairClock(creatorId), 2 * day);
  assert.deepEqual([await raised(), await top()], [[500], [500]]);
  const [voided] = (await tips.page(creatorId, allTips, null, 1)).tips;
  assert.equal(voided?.voided_at, new Date(now).toISOString());
  clock.advance(1);
  await record(7);
  assert.deepEqual([await raised(), await top()], [[1200], [1200]]);
  await assertLedger(app.runtime.db);
});

test('/dashboard/goals: make, end and delete, with errors beside their fields', async (t) => {
  const { app, clock, creatorId, record, goals } = await open(t);
  const visitor = await signedInVisitor(app, creatorId);
  assert.match((await visitor.get('/dashboard/goals')).body, /No goal yet/);
  await record(99.5);
  const fields = { title: '<b>Mic</b>', target: '฿1,000', starts: '2026-11-15T11:00', ends: '' };
  assert.equal((await visitor.post('/dashboard/goals', fields)).headers.location, '/dashboard/goals');
  const page = await visitor.get('/dashboard/goals');
  assert.match(page.body, /&#60;b&#62;Mic[\s\S]*฿99\.50 of ฿1,000\.00[\s\S]*9%/);
  for (const [change, field] of [
    [{ title: '' }, 'title'],
    [{ title: 'x'.repeat(61) }, 'title'],
    [{ title: 'a\u202eb' }, 'title'],
    [{ target: '0' }, 'target'],
    [{ target: '10,000,000.01' }, 'target'],
    [{ target: 'much' }, 'target'],
    [{ starts: 'soon' }, 'starts'],
    [{ ends: '2026-11-31T11:00' }, 'ends'],
    [{ ends: '2026-11-15T11:00' }, 'ends'],
    [{ starts: '2026-12-02T11:00', ends: '2026-12-01T11:00' }, 'ends'],
  ] as const) {
    const refused = await visitor.post('/dashboard/goals', { ...fields, ...change });
    assert.equal(refused.statusCode, 422, JSON.stringify(change));
    assert.match(refused.body, new RegExp(`id="field-${field}-error"`), JSON.stringify(change));
  }
  const [goal] = await goals.open(creatorId);
  const edit = `/dashboard/goals/${goal?.id}`;
  const refused = await visitor.post(edit, { title: 'Mike', target: '-5' });
  assert.equal(refused.statusCode, 422);
  assert.match(
    refused.body,
    new RegExp(`<details[^>]* open>[\\s\\S]*value="Mike"[\\s\\S]*id="target-${goal?.id}-error"`),
  );
  await visitor.post(edit, { title: 'Mike', target: '200' });
  assert.match((await visitor.get('/dashboard/goals')).body, /The goal is saved[\s\S]*Mike[\s\S]*฿99\.50 of ฿200\.00/);
  const other = await signedInVisitor(app, (await makePair(app.runtime)).creatorId);
  assert.equal((await other.post(`/dashboard/goals/${goal?.id}/delete`)).statusCode, 404);
  await other.post(`/dashboard/goals/${goal?.id}/end`);
  assert.equal((await goals.open(creatorId)).length, 1, 'nobody else can end it');
  clock.advance(minute);
  await visitor.post(`/dashboard/goals/${goal?.id}/end`);
  assert.match((await visitor.get('/dashboard/goals')).body, /The goal has ended[\s\S]*No goal yet[\s\S]*Ended goals/);
  await visitor.post(`/dashboard/goals/${goal?.id}/delete`);
  assert.doesNotMatch((await visitor.get('/dashboard/goals')).body, /Ended goals/);
});
