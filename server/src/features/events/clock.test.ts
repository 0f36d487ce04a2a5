import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp, onNodes } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';
import { assertLedger } from '../../../test/ledger.ts';
import { main } from '../../cli/main.ts';
import { jobs } from '../../housekeeping.ts';
import { createLog } from '../../platform/log.ts';
import { createGoals } from '../goals/index.ts';
import { createClockRepair } from './clock.ts';

const day = 86_400_000;

async function setup(t: Parameters<typeof buildApp>[0]) {
  let logged = '';
  const log = createLog({ level: 'info', stream: { write: (line) => (logged += line) } });
  const app = await buildApp(t, {}, { log });
  const { runtime, http, clock } = app;
  clock.set(Date.now());
  const pair = await makePair(runtime);
  const tip = async (amount: number) => {
    const { tip } = await runtime.tips.record({
      creatorId: pair.creatorId,
      app: { id: pair.clientId, name: 'App' },
      amount,
      name: 'SOMCHAI',
      displayName: null,
      message: null,
    });
    return tip;
  };
  const get = async (url: string) => (await http.inject({ url, headers: pair.headers })).json();
  const report = async () => {
    logged = '';
    await jobs['check the clock']?.run(runtime);
    const metrics = await runtime.metrics.registry.metrics();
    const offset = (of: string) =>
      Number(new RegExp(`namjai_clock_offset_seconds{of="${of}"} (\\S+)`).exec(metrics)?.[1]);
    return { logged, database: offset('database'), newest: offset('newest_record') };
  };
  const command = async (...args: string[]) => {
    let [out, err] = ['', ''];
    const streams = {
      stdout: { write: (text: string) => (out += text) },
      stderr: { write: (text: string) => (err += text) },
    };
    const code = await main(['--json', ...args], { env: { ...app.env, LOG_LEVEL: 'silent' }, ...streams });
    assert.equal(code, 0, err);
    return JSON.parse(out);
  };
  return { ...app, pair, tip, get, report, command };
}

test('a clock that is wrong, and records of the future, are told by log, metric and check-config', async (t) => {
  const { clock, pair, tip, report, command } = await setup(t);
  await tip(10);
  const fine = await report();
  assert.doesNotMatch(fine.logged, /clock/);
  assert.ok(Math.abs(fine.database) < 60 && fine.newest === 0);
  assert.deepEqual((await command('check-config')).clock.problems, []);

  clock.advance(40 * day);
  const ahead = await report();
  if (onNodes) {
    assert.match(ahead.logged, /clock is 40 days ahead of the database/);
    assert.equal(Math.round(ahead.database / 86_400), 40);
  }
  await tip(20);
  clock.advance(-40 * day);
  const back = await report();
  assert.match(back.logged, /newest record lies 40 days in the future/);
  assert.ok(back.logged.includes(pair.username));
  assert.equal(Math.round(back.newest / 86_400), -40);
  const { clock: checked } = await command('check-config');
  assert.match(checked.problems.join(), /newest record lies 40 days in the future/);
  assert.deepEqual(checked.creators, [pair.username]);
  await command('creator', 'repair-clock', pair.username);
  assert.match((await report()).logged, /"away_seconds":\d+,"msg":"the clocks are right again"/);
  assert.doesNotMatch((await report()).logged, /clock/, 'once');
});

test('repair-clock brings a history back from the future: order, cursors, totals and bytes stay', async (t) => {
  const { clock, pair, runtime, tip, get, command } = await setup(t);
  const { creatorId } = pair;
  const other = await makePair(runtime);
  for (let i = 1; i <= 5; i++) await tip(i);
  const jump = 40 * day;
  clock.advance(jump);
  for (let i = 6; i <= 30; i++) {
    await tip(i);
    clock.advance(1000);
  }
  clock.set(Date.now());
  await tip(31);
  const before = await get('/v1/tips?limit=100');
  assert.ok(Date.parse(before.data[0].created_at) > Date.now() + jump - 3_600_000, 'it stands in the future');
  const firstPage = await get('/v1/tips?limit=7');
  const bodies = (await runtime.events.after(creatorId, 0, 100)).map(({ body }) => body);

  const answer = await command('creator', 'repair-clock', pair.username);
  assert.ok(Math.abs(answer.seconds_ahead - jump / 1000) < 3600);
  const idsOf = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id);
  const after = await get('/v1/tips?limit=100');
  assert.deepEqual(idsOf(after), idsOf(before));
  const times = after.data.map((each: { created_at: string }) => Date.parse(each.created_at));
  assert.deepEqual(
    times,
    times.toSorted((a: number, b: number) => b - a),
  );
  assert.ok(times[0] <= Date.now());
  const rest = await get(`/v1/tips?limit=100&cursor=${firstPage.next_cursor}`);
  assert.deepEqual([...idsOf(firstPage), ...idsOf(rest)], idsOf(before), 'a cursor from before goes on');
  const bodiesAfter = (await runtime.events.after(creatorId, 0, 100)).map(({ body }) => body);
  assert.deepEqual(bodiesAfter, bodies);

  clock.set(Date.now());
  const next = await tip(32);
  assert.ok(Math.abs(Date.parse(next.created_at) - Date.now()) < 60_000);
  const stats = await get('/v1/tips/stats');
  assert.deepEqual([stats.all_time.count, stats.all_time.total], [32, 528]);
  const inMonth = (await get('/v1/tips?limit=100')).data.filter(
    (each: { created_at: string }) => each.created_at >= new Date(stats.current_month.starts_at).toISOString(),
  );
  assert.equal(stats.current_month.count, inMonth.length);
  assert.equal((await command('creator', 'repair-clock', pair.username)).seconds_ahead, 0);
  assert.equal((await command('creator', 'repair-clock', other.username)).seconds_ahead, 0);
});

test('a repair moves a long history in short writes, and goals stay exact while tips and voids come', async (t) => {
  const { clock, pair, runtime } = await setup(t);
  const { creatorId } = pair;
  const { db, goals, tips } = runtime;
  const now = clock();
  const record = (amount: number) =>
    tips.record({ creatorId, app: null, amount, name: 'NOK', displayName: null, message: null });
  const addGoal = async (startsAt: number, endsAt: number | null) =>
    (await goals.add(creatorId, { title: 'Mic', targetMinor: 1_000_000_00, startsAt, endsAt })) ?? assert.fail();
  const [whole, ended, later] = [
    await addGoal(now - day, null),
    await addGoal(now - day, now + day),
    await addGoal(now + day, null),
  ];
  await record(1);
  clock.advance(40 * day);
  const recorded = await Promise.all(Array.from({ length: 600 }, () => record(2)));
  const voidTip = (i: number) =>
    tips.void(creatorId, recorded[i]?.tip.id ?? assert.fail(), { clientId: null, reason: null });
  await voidTip(0);
  let voids = 1;
  let others = false;
  const raised = async (goal: { id: string }) =>
    (await goals.open(creatorId)).find(({ id }) => id === goal.id)?.raised ?? assert.fail();
  clock.set(now);
  assert.deepEqual(await Promise.all([whole, ended, later].map(raised)), [1199, 1, 1198]);

  const future = async () =>
    (
      await db.get<{ n: number }>('SELECT COUNT(*) AS n FROM tips WHERE creator_id = $1 AND created_at > $2', [
        creatorId,
        now,
      ])
    )?.n ?? assert.fail();
  const goalSums = () =>
    db.all(`SELECT id, (SELECT COALESCE(SUM(amount_minor), 0) FROM tips WHERE tips.creator_id = goals.creator_id
      AND created_at >= starts_at AND (ends_at IS NULL OR created_at < ends_at) AND voided_at IS NULL) AS raised_minor
      FROM goals ORDER BY id`);
  const moved: number[] = [];
  const watched: typeof db = {
    ...db,
    async write(write, ...args) {
      if (write.name === 'repairHead' && voids === 5) {
        await voidTip(300); // since the month was summed
        voids += 1;
      } else if (write.name === 'repairHead' && !others) {
        others = true;
        clock.set(now - 500);
        await runtime.events.repairClock(creatorId);
        clock.set(now + 500);
        await record(3);
      }
      const before = await future();
      const answer = await db.write(write, ...args);
      moved.push(before - (await future()));
      assert.deepEqual(await db.all('SELECT id, raised_minor FROM goals ORDER BY id'), await goalSums(), write.name);
      if (write.name === 'moveBack') {
        await record(3);
        // One that is moved, and one that is not.
        await voidTip(moved.length);
        await voidTip(recorded.length - moved.length);
        voids += 2;
      }
      return answer;
    },
  };
  await createClockRepair({ ...runtime, db: watched }).repairClock(creatorId);
  assert.ok(Math.max(...moved) <= 250, `no write moves many: ${moved}`);
  assert.equal(voids, 6);
  assert.ok(others, 'another repair came in between');
  const tipped = 1 + 2 * (600 - voids) + 3 * 3;
  assert.deepEqual(
    await db.all(`SELECT t.id FROM tips t JOIN events e ON e.creator_id = t.creator_id AND e.subject_id = t.id
      WHERE t.voided_at IS NOT NULL AND e.type = 'tip.voided' AND e.created_at <> t.voided_at`),
    [],
    'a void has the time of its event',
  );
  assert.deepEqual(await Promise.all([whole, ended, later].map(raised)), [tipped, tipped, 0]);
  const { current_month: month, all_time: all } = await tips.stats(creatorId);
  assert.deepEqual([all.total, month.total], [tipped, tipped]);
  await assertLedger(db);
});

test('a goal that is added while a repair moves what it sums is exact', async (t) => {
  const { clock, pair, runtime, tip } = await setup(t);
  const { creatorId } = pair;
  const now = clock();
  await tip(1);
  clock.advance(day);
  for (let i = 0; i < 3; i++) await tip(2);
  clock.set(now);
  let sums = 0;
  const goals = createGoals({
    ...runtime,
    onChange: () => {},
    async sumTips(id, from, before) {
      const sum = await runtime.db.get<{ minor: number }>(
        `SELECT CAST(COALESCE(SUM(amount_minor), 0) AS BIGINT) AS minor FROM tips
         WHERE creator_id = $1 AND created_at >= $2 AND created_at < $3`,
        [id, from, before],
      );
      sums += 1;
      if (sums === 1) await runtime.events.repairClock(creatorId);
      return { totalMinor: sum?.minor ?? assert.fail() };
    },
  });
  const goal = await goals.add(creatorId, { title: 'Mic', targetMinor: 10_000, startsAt: now - day, endsAt: null });
  assert.equal(goal?.raised, 7);
  assert.equal(sums, 2);
});

test('a history that is right is left as it is, whatever is recorded meanwhile', async (t) => {
  const { clock, pair, runtime, tip } = await setup(t);
  await tip(1);
  const written: string[] = [];
  const db: typeof runtime.db = {
    ...runtime.db,
    async get(sql, params) {
      const row = await runtime.db.get(sql, params);
      clock.advance(1);
      await tip(2);
      return row as never;
    },
    write: (write, ...args) => {
      written.push(write.name);
      return runtime.db.write(write, ...args);
    },
  };
  assert.equal(await createClockRepair({ ...runtime, db }).repairClock(pair.creatorId), 0);
  assert.deepEqual(
    written.filter((name) => name === 'moveBack' || name === 'repairHead'),
    [],
  );
  assert.deepEqual(await runtime.audit.list({ action: 'account.clock_repaired' }, { limit: 1 }), []);
});

test('what was made while the clock was ahead works once it is repaired: grants, keys, webhooks', async (t) => {
  const { clock, pair, runtime, tip, command } = await setup(t);
  const { db, webhooks } = runtime;
  clock.advance(40 * day);
  const late = await makePair(runtime, { creator: pair });
  await webhooks.add(late.clientId, { url: 'https://hooks.example/', types: null, description: null });
  await tip(1);
  clock.set(Date.now());
  await command('creator', 'repair-clock', pair.username);
  clock.set(Date.now());
  const now = clock();
  for (const [table, column] of [
    ['grants', 'created_at'],
    ['webhook_endpoints', 'created_at'],
    ['tips', 'created_at'],
    ['events', 'created_at'],
    ['creator_heads', 'last_at'],
  ])
    assert.deepEqual(await db.all(`SELECT ${column} FROM ${table} WHERE ${column} > $1`, [now]), [], table);
});
