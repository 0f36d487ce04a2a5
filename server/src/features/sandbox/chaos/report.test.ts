import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { buildApp } from '../../../../test/build-app.ts';
import { makeManyTips } from '../../../../test/many-tips.ts';
import { makeSandboxPair } from '../../../../test/sandbox-pair.ts';
import { execute } from '../../../../test/sql.ts';
import { runs } from './runs.ts';

const shares = { ...runs.bad_evening, upstream_failed: 300, rate_limited: 200 };

/** Far more calls in a row than these shares refuse. */
const mostAttempts = 200;

/** Records a tip: calls `attempt` until it is 201, or once. */
type Record = (attempt: (key?: string) => Promise<number>, n: number) => Promise<void>;

/** What an app of this habit gets from 25 tips. */
async function reportOf(t: TestContext, record: Record) {
  const { http, clock, runtime } = await buildApp(t);
  const pair = await makeSandboxPair(runtime);
  await runtime.chaos.save(pair, 'seed', shares);
  for (let n = 1; n <= 25; n += 1)
    await record(async (key) => {
      clock.advance(6_000);
      const headers = { ...pair.headers, ...(key === undefined ? {} : { 'idempotency-key': key }) };
      const payload = { amount: n, name: `TIP ${n}` };
      return (await http.inject({ method: 'POST', url: '/v1/tips', headers, payload })).statusCode;
    }, n);
  const running = await runtime.chaos.report(pair);
  assert.equal(running?.stoppedAt, null);
  await runtime.chaos.stop(pair);
  const report = await runtime.chaos.report(pair);
  assert.ok(report);
  assert.deepEqual({ ...report, stoppedAt: null }, running, 'it stays as it was when chaos was switched off');
  assert.equal(report.stoppedAt, clock());
  const { all_time } = await runtime.tips.stats(pair.creatorId);
  return { ...report, recorded: all_time.count };
}

async function repeat(attempt: () => Promise<number>): Promise<void> {
  for (let n = 0; n < mostAttempts; n += 1) if ((await attempt()) === 201) return;
  assert.fail(`${mostAttempts} calls in a row were refused`);
}

test('an app that repeats with the same key passes', async (t) => {
  const report = await reportOf(t, async (attempt, n) => {
    await repeat(() => attempt(`payment-${n}`));
  });
  assert.ok(report.passed);
  assert.deepEqual([report.recorded, report.lost, report.doubled, report.unconfirmed], [25, [], [], []]);
  assert.ok(report.tipCalls.refused > 5);
  assert.equal(report.tipCalls.repeated, report.tipCalls.refused - report.faults.token_expired, 'it never refreshed');
  assert.equal(report.calls, 25 + report.tipCalls.refused);
  const { rate_limited, upstream_failed, token_expired } = report.faults;
  assert.equal(rate_limited + upstream_failed + token_expired, report.tipCalls.refused);
});

test('after token_expired a call counts as repeated with a new token only', async (t) => {
  const { http, clock, runtime } = await buildApp(t);
  const pair = await makeSandboxPair(runtime);
  const call = (headers: object) =>
    http.inject({
      ...{ method: 'POST', url: '/v1/tips', payload: { amount: 1, name: 'TIP' } },
      headers: { ...headers, 'idempotency-key': 'payment-1' },
    });
  clock.advance(5_000);
  await runtime.chaos.save(pair, 'seed', { token_expired: 1000 });
  assert.equal((await call(pair.headers)).statusCode, 401);
  clock.advance(1_000);
  await call(pair.headers);
  const repeated = async () => (await runtime.chaos.report(pair))?.tipCalls;
  assert.deepEqual(await repeated(), { refused: 2, repeated: 0, withoutKey: 0 });
  await runtime.chaos.stop(pair);
  assert.deepEqual((await runtime.chaos.report(pair))?.lost, ['payment-1']);
  const tokens = await runtime.sandbox.connect(pair.developerId, pair.creatorId, pair.clientId, ['tips.create']);
  assert.equal((await call({ authorization: `Bearer ${tokens?.access_token}` })).statusCode, 201);
  assert.deepEqual(await repeated(), { refused: 2, repeated: 2, withoutKey: 0 }, 'also after it was switched off');
  assert.deepEqual((await runtime.chaos.report(pair))?.lost, []);
  clock.advance(11 * 60_000);
  assert.equal((await runtime.chaos.report(pair))?.passed, true, 'as it was last');
});

test('an app that does not repeat fails: what it lost is named', async (t) => {
  const failed: string[] = [];
  const report = await reportOf(t, async (attempt, n) => {
    if ((await attempt(`payment-${n}`)) !== 201) failed.push(`payment-${n}`);
  });
  assert.equal(report.passed, false);
  assert.equal(report.lost.length, 25 - report.recorded);
  assert.ok(report.lost.every((key) => failed.includes(key)));
  assert.equal(report.lost.length + report.unconfirmed.length, failed.length);
  assert.ok(report.unconfirmed.length > 0 && report.lost.length > 0);
  assert.deepEqual([report.doubled, report.tipCalls.repeated], [[], 0]);
});

test('an app that repeats with another key fails: what it recorded twice is named', async (t) => {
  let attempts = 0;
  const report = await reportOf(t, async (attempt) => {
    await repeat(() => attempt(`attempt-${++attempts}`));
  });
  assert.equal(report.passed, false);
  assert.equal(report.recorded, 25 + report.doubled.length);
  assert.ok(report.doubled.length > 0);
  assert.ok(report.doubled.every((id) => id.startsWith('tip_')));
});

test('an app without keys fails, since nobody can tell its calls apart', async (t) => {
  const report = await reportOf(t, async (attempt) => {
    await repeat(attempt);
  });
  assert.equal(report.passed, false);
  assert.equal(report.tipCalls.withoutKey, report.tipCalls.refused);
  assert.equal(report.recorded, 25 + report.doubled.length);
});

test('an app that goes on after the grant was revoked fails, and one that stops does not', async (t) => {
  const { http, clock, runtime } = await buildApp(t);
  const pair = await makeSandboxPair(runtime);
  const call = () => http.inject({ url: '/v1/me', headers: pair.headers });
  await runtime.chaos.save(pair, 'seed', { revoked: 1000 });
  await call();
  assert.deepEqual(
    [(await runtime.chaos.report(pair))?.afterRevoked, (await runtime.chaos.report(pair))?.passed],
    [0, true],
  );
  for (let n = 0; n < 11; n += 1) {
    clock.advance(1000);
    await call();
  }
  assert.deepEqual(
    [(await runtime.chaos.report(pair))?.afterRevoked, (await runtime.chaos.report(pair))?.passed],
    [11, false],
  );
});

test('security 41: a report of many lost answers reads the history after them once, in pieces', async (t) => {
  const { runtime } = await buildApp(t);
  const pair = await makeSandboxPair(runtime);
  const { creatorId, clientId } = pair;
  await runtime.chaos.save(pair, 'seed', { upstream_failed: 1000 });
  await makeManyTips(runtime, creatorId, 5_000);
  await execute(runtime.db, 'UPDATE tips SET client_id = $2 WHERE creator_id = $1', [creatorId, clientId]);
  await execute(
    runtime.db,
    `INSERT INTO chaos_faults (creator_id, client_id, number, n, kind, at, subject, key, tip_id)
     SELECT creator_id, client_id, sequence, sequence, 'upstream_failed', created_at, 'POST /v1/tips', id, id FROM tips
     WHERE creator_id = $1 AND sequence <= 1000`,
    [creatorId],
  );
  // The last of all has the words of the first.
  await execute(
    runtime.db,
    `UPDATE tips SET amount_minor = 101, name = 'TIP 1' WHERE creator_id = $1 AND sequence = 5000`,
    [creatorId],
  );
  const all = t.mock.method(runtime.db, 'all');
  let iterations = 0;
  let done = false;
  const report = runtime.chaos.report(pair).finally(() => (done = true));
  for (; !done; iterations += 1) await nextIteration();
  assert.deepEqual((await report)?.doubled, ['tip_1']);
  assert.equal((await report)?.unconfirmed.length, 100);
  const reads = all.mock.calls.filter(({ arguments: [sql] }) => /FROM tips/.test(JSON.stringify(sql))).length;
  assert.ok(reads >= 50 && reads <= 51, `${reads} reads of the history`);
  assert.ok(iterations >= reads, `others were let in ${iterations} times`);
});
