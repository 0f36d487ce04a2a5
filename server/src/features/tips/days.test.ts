import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seed, seeded } from '../../../../sdk/test/seeded.ts';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { execute } from '../../../test/sql.ts';

test('days are those of the platform’s zone, exact to the satang, and grow with every tip', async (t) => {
  const { runtime, clock } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  const other = await makeCreator(runtime);
  const record = (instant: string, amount: number, whose = creatorId) => {
    clock.set(instant);
    const words = { name: 'SOMCHAI', displayName: null, message: null };
    return runtime.tips.record({ creatorId: whose, app: null, amount, ...words });
  };
  const days = async () =>
    (await runtime.tips.days(creatorId, 30)).map(({ startsAt, totalMinor, count }) => [
      new Date(startsAt).toISOString().slice(0, 13),
      totalMinor,
      count,
    ]);
  const filled = async () => (await days()).filter(([, , count]) => count !== 0);

  assert.deepEqual(await filled(), [], 'nothing yet');
  await record('2026-10-16T16:59:59.999Z', 1000); // the 16th in Bangkok: one day too old on 15 November
  await record('2026-10-16T17:00:00.000Z', 0.1);
  await record('2026-10-17T16:59:59.999Z', 0.2);
  await record('2026-11-13T17:00:00.000Z', 5);
  await record('2026-11-14T16:59:59.999Z', 7.25);
  await record('2026-11-15T04:00:00.000Z', 99999.99);
  await record('2026-11-15T04:00:00.000Z', 42, other.creatorId);

  const expected = [
    ['2026-10-16T17', 30, 2],
    ['2026-11-13T17', 1225, 2],
    ['2026-11-14T17', 9999999, 1],
  ];
  assert.deepEqual(await filled(), expected);
  assert.deepEqual(await filled(), expected, 'from memory');
  const all = await days();
  assert.equal(all.length, 30);
  assert.equal(all[0]?.[0], '2026-10-16T17');
  assert.equal(all[29]?.[0], '2026-11-14T17');

  await record('2026-11-15T05:00:00.000Z', 0.01);
  assert.deepEqual((await filled()).at(-1), ['2026-11-14T17', 10000000, 2], 'today goes on');
  await record('2026-11-15T05:00:00.000Z', 0.02); // in the same millisecond
  assert.deepEqual((await filled()).at(-1), ['2026-11-14T17', 10000002, 3], 'with others at the same instant');
  clock.set('2026-11-16T17:00:00.000Z');
  assert.deepEqual(await filled(), [expected[1], ['2026-11-14T17', 10000002, 3]], 'days move on without tips');
  await record('2026-11-16T17:00:00.000Z', 3);
  assert.deepEqual(await filled(), [expected[1], ['2026-11-14T17', 10000002, 3], ['2026-11-16T17', 300, 1]]);
});

test('a clock that is behind the history shows the history’s days', async (t) => {
  const { runtime, clock } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  await runtime.tips.record({ creatorId, app: null, amount: 5, name: 'NOK', displayName: null, message: null });
  clock.advance(-86_400_000);
  assert.equal((await runtime.tips.days(creatorId, 30)).at(-1)?.totalMinor, 500);
});

test('after a repair of the clock the days are summed anew', async (t) => {
  const { runtime, clock } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  const record = () =>
    runtime.tips.record({ creatorId, app: null, amount: 5, name: 'NOK', displayName: null, message: null });
  await record();
  clock.advance(2 * 86_400_000);
  await record();
  assert.equal((await runtime.tips.days(creatorId, 30)).at(-1)?.count, 1);
  clock.advance(-2 * 86_400_000);
  await runtime.events.repairClock(creatorId);
  assert.equal((await runtime.tips.days(creatorId, 30)).at(-1)?.count, 2);
  await record();
  assert.equal((await runtime.tips.days(creatorId, 30)).at(-1)?.count, 3);
});

test('what was cached before a repair of the clock is not true again once its time has come', async (t) => {
  const { runtime, clock } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  const record = () =>
    runtime.tips.record({ creatorId, app: null, amount: 5, name: 'NOK', displayName: null, message: null });
  const today = async () => (await runtime.tips.days(creatorId, 30)).at(-1)?.count;
  const now = clock();
  await record();
  clock.advance(600_000);
  await record();
  assert.equal(await today(), 2);
  clock.set(now);
  await runtime.events.repairClock(creatorId);
  await record();
  clock.advance(600_000);
  await record();
  assert.equal(await today(), 4);
});

test('what was summed before is not read again', async (t) => {
  const { runtime, clock } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  const record = () =>
    runtime.tips.record({ creatorId, app: null, amount: 5, name: 'NOK', displayName: null, message: null });
  const today = async () => (await runtime.tips.days(creatorId, 30)).at(-1)?.count;
  await Promise.all([record(), record()]);
  clock.advance(1);
  await record();
  assert.equal(await today(), 3);
  // A change that no record of ours makes is seen only where it is read.
  await execute(runtime.db, 'DELETE FROM tips WHERE creator_id = $1 AND sequence <= 2', [creatorId]);
  clock.advance(1);
  await record();
  assert.equal(await today(), 4);
});

test('security 42: a void is subtracted from its day, and no day is summed anew', async (t) => {
  const { runtime, clock } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  const record = async (amount: number) => {
    const words = { name: 'NOK', displayName: null, message: null };
    return (await runtime.tips.record({ creatorId, app: null, amount, ...words })).tip.id;
  };
  const voidTip = (id = '') => runtime.tips.void(creatorId, id, { clientId: null, reason: null });
  const filled = async () =>
    (await runtime.tips.days(creatorId, 30))
      .filter(({ totalMinor, count }) => totalMinor !== 0 || count !== 0)
      .map(({ totalMinor, count }) => [totalMinor, count]);
  const ids: string[] = [];
  for (const amount of [1.01, 2, 4, 8.5]) {
    ids.push(await record(amount), await record(amount));
    clock.advance(86_400_000);
  }
  const [first = '', , second] = ids;
  const newest = await record(16);
  assert.deepEqual(await filled(), [
    [202, 2],
    [400, 2],
    [800, 2],
    [1700, 2],
    [1600, 1],
  ]);
  // A change that no write of ours makes is seen only where it is read.
  await execute(runtime.db, 'UPDATE tips SET amount_minor = 99999 WHERE creator_id = $1 AND sequence IN (2, 5)', [
    creatorId,
  ]);
  await voidTip(first);
  assert.deepEqual(await filled(), [
    [101, 1],
    [400, 2],
    [800, 2],
    [1700, 2],
    [1600, 1],
  ]);
  assert.equal((await runtime.tips.days(creatorId, 1)).length, 1, 'a read of today evicts no other day');
  await Promise.all([voidTip(second), voidTip(newest), record(32)]);
  assert.deepEqual(await filled(), [
    [101, 1],
    [200, 1],
    [800, 2],
    [1700, 2],
    [3200, 1],
  ]);
  assert.deepEqual(
    await filled(),
    [
      [101, 1],
      [200, 1],
      [800, 2],
      [1700, 2],
      [3200, 1],
    ],
    'once',
  );
});

test(`days stay right to the satang while tips, voids and reads meet on two nodes (TEST_SEED=${seed})`, async (t) => {
  const node = await buildApp(t);
  const other = await buildApp(t, node.env);
  const { creatorId } = await makeCreator(node.runtime);
  const random = seeded(seed);
  const ids: string[] = [];
  const either = () => (random() < 0.5 ? node : other).runtime;
  async function record(): Promise<void> {
    const amount = (1 + Math.floor(random() * 10_000)) / 100;
    const tip = { creatorId, app: null, amount, name: 'NOK', displayName: null, message: null };
    ids.push((await either().tips.record(tip)).tip.id);
  }
  async function voidAny(): Promise<void> {
    const [id] = ids.splice(Math.floor(random() * ids.length), 1);
    if (id !== undefined) await either().tips.void(creatorId, id, { clientId: null, reason: null });
  }
  for (let round = 0; round < 60; round++) {
    // Often in the same millisecond, now and then on another day.
    const ms = random() < 0.5 ? 0 : random() < 0.8 ? 1 : 40_000_000;
    for (const { clock } of [node, other]) clock.advance(ms);
    const steps = Array.from({ length: 6 }, () => {
      const kind = random();
      if (kind < 0.4) return record();
      return kind < 0.7 ? voidAny() : either().tips.days(creatorId, kind < 0.8 ? 1 : 30);
    });
    await Promise.all(steps);
    const rows = await node.runtime.db.all<{ at: number; minor: number }>(
      'SELECT created_at AS at, amount_minor AS minor FROM tips WHERE creator_id = $1 AND voided_at IS NULL',
      [creatorId],
    );
    for (const { runtime } of [node, other]) {
      const days = await runtime.tips.days(creatorId, 30);
      const expected = days.map(({ startsAt }, index) => {
        const own = rows.filter(({ at }) => at >= startsAt && at < (days[index + 1]?.startsAt ?? Infinity));
        return { startsAt, totalMinor: own.reduce((sum, { minor }) => sum + minor, 0), count: own.length };
      });
      assert.deepEqual(days, expected, `round ${round}`);
    }
  }
});
