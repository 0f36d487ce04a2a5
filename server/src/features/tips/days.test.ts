import assert from 'node:assert/strict';
import { test } from 'node:test';
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
  await runtime.events.repairClock(creatorId, (await runtime.events.head(creatorId)) ?? assert.fail());
  assert.equal((await runtime.tips.days(creatorId, 30)).at(-1)?.count, 2);
  await record();
  assert.equal((await runtime.tips.days(creatorId, 30)).at(-1)?.count, 3);
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
