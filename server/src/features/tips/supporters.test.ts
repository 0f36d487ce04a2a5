import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { createWorkQueue } from '../../platform/work-queue.ts';
import { createSupporters } from './supporters.ts';

async function open(t: TestContext) {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const { tips } = app.runtime;
  return {
    ...app,
    creatorId,
    tips,
    record: async (displayName: string, amount: number) =>
      (await tips.record({ creatorId, app: null, amount, name: 'SOMCHAI', displayName, message: null })).tip,
    takeBack: (id: string) => tips.void(creatorId, id, { clientId: null, reason: null }),
    top: async (period: 'day' | 'month' | 'all') =>
      (await tips.top(creatorId, period, 10)).map(({ name, totalMinor, count }) => [name, totalMinor, count]),
  };
}

test('top supporters follow tips and voids, also where the list was read before', async (t) => {
  const { record, takeBack, top } = await open(t);
  assert.deepEqual(await top('all'), []);
  await record('แอน', 5);
  const big = await record('Bee', 8);
  await record('แอน', 2);
  assert.deepEqual(await top('all'), [
    ['Bee', 800, 1],
    ['แอน', 700, 2],
  ]);
  const later = await record('Bee', 1);
  await takeBack(big.id);
  assert.deepEqual(await top('all'), [
    ['แอน', 700, 2],
    ['Bee', 100, 1],
  ]);
  await takeBack(later.id);
  for (const period of ['day', 'month', 'all'] as const) assert.deepEqual(await top(period), [['แอน', 700, 2]], period);
});

test('names that differ in their spelling only are one supporter, and what is shown is spelled in one way', async (t) => {
  const { record, takeBack, top } = await open(t);
  const tone = 'น\u0e49';
  const water = [`${tone}\u0e33`, `${tone}\u0e4d\u0e32`, 'น\u0e4d\u0e49\u0e32'];
  const tips = [];
  for (const name of [...water, 'Andr\u00e9', 'Andre\u0301']) tips.push(await record(name, 1));
  const both = [
    [`${tone}\u0e33`, 300, 3],
    ['Andr\u00e9', 200, 2],
  ];
  assert.deepEqual(await top('all'), both);
  await record('Andre', 1);
  await record('\uff21ndr\u00e9', 1); // a full-width letter is another letter
  assert.deepEqual((await top('all')).slice(0, 2), both);
  assert.equal((await top('all')).length, 4);
  for (const tip of tips.slice(1, 4)) await takeBack(tip.id);
  assert.deepEqual(
    (await top('month')).find(([name]) => name === `${tone}\u0e33`),
    [`${tone}\u0e33`, 100, 1],
  );
  assert.deepEqual(
    (await top('month')).find(([name]) => name === 'Andr\u00e9'),
    ['Andr\u00e9', 100, 1],
  );
  for (const tip of tips) await takeBack(tip.id);
  assert.equal((await top('day')).length, 2);
});

test('the day’s and the month’s lists begin anew in the platform’s zone, whoever reads when', async (t) => {
  const { clock, record, takeBack, top } = await open(t);
  clock.set('2026-10-30T16:59:59.999Z'); // the 30th in Bangkok
  await record('Ann', 1);
  clock.set('2026-10-30T17:00:00.000Z');
  const last = await record('Ann', 2);
  assert.deepEqual(await top('day'), [['Ann', 200, 1]]);
  assert.deepEqual(await top('month'), [['Ann', 300, 2]]);
  clock.set('2026-10-31T16:59:59.999Z');
  await record('Bee', 4); // nobody reads before midnight
  clock.set('2026-10-31T17:00:00.000Z');
  assert.deepEqual(await top('day'), []);
  assert.deepEqual(await top('month'), []);
  await record('Cat', 8);
  await takeBack(last.id);
  assert.deepEqual(await top('day'), [['Cat', 800, 1]]);
  assert.deepEqual(await top('month'), [['Cat', 800, 1]]);
  assert.deepEqual(await top('all'), [
    ['Cat', 800, 1],
    ['Bee', 400, 1],
    ['Ann', 100, 1],
  ]);
  clock.set('2026-11-01T17:00:00.000Z'); // without a tip since the lists were read
  assert.deepEqual(await top('day'), []);
  assert.deepEqual(await top('month'), [['Cat', 800, 1]]);
  clock.set('2026-11-30T17:00:00.000Z');
  assert.deepEqual(await top('month'), []);
});

test('a long history is counted at the first read, and once for all who read at once', async (t) => {
  const { runtime, creatorId, top, record } = await open(t);
  await makeManyTips(runtime, creatorId, 2_500);
  const lists = await Promise.all(Array.from({ length: 8 }, () => top('all')));
  for (const list of lists) assert.deepEqual(list[0], ['TIP 2500', 2600, 1]);
  await record('TIP 1', 100);
  assert.deepEqual((await top('all'))[0], ['TIP 1', 10_101, 2]);
});

test('a list that nobody reads costs a tip nothing', async (t) => {
  const { runtime, record, top } = await open(t);
  const written = async () => (await runtime.db.all('SELECT name FROM supporter_sums')).length;
  await record('Bee', 4);
  assert.equal(await written(), 0);
  await top('all');
  assert.equal(await written(), 3, 'of the day, the month and all time');
  await record('Ann', 4);
  assert.equal(await written(), 3);
});

test('a read that finds nothing new writes nothing', async (t) => {
  const { runtime, record, top } = await open(t);
  await record('Ann', 5);
  await top('all');
  const write = t.mock.method(runtime.db, 'write');
  await Promise.all([top('all'), top('day'), top('month')]);
  assert.equal(write.mock.callCount(), 0);
});

test('another time zone counts days and months anew', async (t) => {
  const { env, clock, record, top, creatorId } = await open(t);
  clock.set('2026-11-14T16:30:00.000Z'); // the 14th in Bangkok, the 15th in Tokyo
  await record('Ann', 5);
  clock.set('2026-11-15T04:00:00.000Z');
  assert.deepEqual(await top('day'), []);
  const tokyo = await buildApp(t, { ...env, TIME_ZONE: 'Asia/Tokyo' });
  assert.equal((await tokyo.runtime.tips.top(creatorId, 'day', 10))[0]?.totalMinor, 500);
});

test('a read that a repair of the clock overtakes begins no day of the future', async (t) => {
  const { runtime, clock, creatorId, record, top } = await open(t);
  const { db, events } = runtime;
  const now = clock();
  clock.advance(40 * 86_400_000);
  await record('แอน', 5);
  clock.set(now);
  let repaired = false;
  const overtaken: typeof db = {
    ...db,
    async write(write, ...args) {
      if (!repaired) await events.repairClock(creatorId);
      repaired = true;
      return db.write(write, ...args);
    },
  };
  const supporters = createSupporters({
    ...runtime,
    db: overtaken,
    queue: createWorkQueue({ atOnce: 1, maxWaiting: 10 }),
    async headOf(id) {
      const head = (await events.head(id)) ?? assert.fail();
      return { head, asOf: Math.max(clock(), head.last_at) };
    },
  });
  assert.deepEqual(await supporters(creatorId, 'day', 5), [{ name: 'แอน', totalMinor: 500, count: 1 }]);
  assert.deepEqual(await top('day'), [['แอน', 500, 1]]);
  clock.advance(1);
  await record('แอน', 2);
  assert.deepEqual(await top('month'), [['แอน', 700, 2]]);
});

test('lists stay exact while tips and voids come and many read at once', async (t) => {
  const { record, takeBack, top, clock } = await open(t);
  const expected = new Map<string, number>();
  const work: Promise<unknown>[] = [];
  for (let i = 0; i < 80; i++) {
    clock.advance(1);
    const name = `N${i % 7}`;
    const amount = i + 1;
    const tip = record(name, amount);
    const voided = i % 4 === 0;
    if (!voided) expected.set(name, (expected.get(name) ?? 0) + amount * 100);
    work.push(voided ? tip.then(({ id }) => takeBack(id)) : tip);
    if (i % 3 === 0) work.push(top('all'));
  }
  await Promise.all(work);
  const sorted = [...expected].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  assert.deepEqual(
    (await top('all')).map(([name, total]) => [name, total]),
    sorted,
  );
});
