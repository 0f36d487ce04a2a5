import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp, onNodes } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';
import { executeAll } from '../../../test/sql.ts';
import { startHousekeeping } from '../../housekeeping.ts';
import { createWebhookWorker } from '../webhooks/index.ts';

/** The value of a metric without labels, or with exactly these. */
async function metricValue(registry: { metrics(): Promise<string> }, metric: string): Promise<number | undefined> {
  const line = (await registry.metrics()).split('\n').find((each) => each.startsWith(`${metric} `));
  return line === undefined ? undefined : Number(line.slice(metric.length + 1));
}

test('the database tells of its writes, commits and files or connections', async (t) => {
  const { runtime } = await buildApp(t);
  const { registry } = runtime.metrics;
  const { creatorId } = await makePair(runtime);
  const value = (metric: string) => metricValue(registry, metric);
  const before = (await value('namjai_database_committed_writes_total')) ?? 0;
  const tip = { creatorId, app: null, amount: 5, name: 'SOMCHAI', displayName: null, message: null };
  await Promise.all(Array.from({ length: 20 }, () => runtime.tips.record(tip)));
  assert.equal((await value('namjai_database_committed_writes_total')) ?? 0, before + 20);
  const commits = (await value('namjai_database_commits_total')) ?? 0;
  assert.ok(commits > 0 && commits <= before + 20);
  assert.ok(((await value('namjai_database_commit_seconds_total')) ?? 0) > 0);
  assert.ok(((await value('namjai_database_write_seconds_count')) ?? 0) >= 20);
  assert.equal(await value('namjai_database_writes_pending'), 0);
  if (onNodes) {
    assert.ok(((await value('namjai_postgres_connections{state="idle"}')) ?? 0) > 0);
    assert.equal(await value('namjai_postgres_waiting'), 0);
    assert.equal(await value('namjai_redis_up'), 1);
  } else {
    assert.ok(((await value('namjai_sqlite_bytes{file="main"}')) ?? 0) > 0);
    const free = (await value('namjai_disk_free_bytes{of="database"}')) ?? 0;
    assert.ok(free > 0 && free <= ((await value('namjai_disk_size_bytes{of="database"}')) ?? 0));
  }
});

test('deliveries that wait, and for how long, are told; attempts that fail have a cause', async (t) => {
  const app = await buildApp(t, { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' });
  const { runtime, clock } = app;
  const { registry } = runtime.metrics;
  const { clientId, creatorId } = await makePair(runtime, { scope: 'events.subscribe' });
  // Nobody listens there.
  await runtime.webhooks.add(clientId, { url: 'http://127.0.0.1:1024/hook', types: null, description: null });
  const tip = { creatorId, app: null, amount: 5, name: 'SOMCHAI', displayName: null, message: null };
  await runtime.tips.record(tip);
  const worker = createWebhookWorker(runtime);
  await worker.pass();
  assert.equal(await metricValue(registry, 'namjai_webhook_attempts_total{result="failed",cause="connection"}'), 1);
  clock.advance(60_000);
  await executeAll(runtime.db, ["UPDATE webhook_deliveries SET due_at = $1, status = 'pending'", [clock() - 30_000]]);
  await worker.measure();
  assert.equal(await metricValue(registry, 'namjai_webhook_pending'), 1);
  const overdue = (receivers: string) =>
    metricValue(registry, `namjai_webhook_overdue_seconds{receivers="${receivers}"}`);
  assert.deepEqual([await overdue('answering'), await overdue('failing')], [0, 30]);
  await executeAll(runtime.db, ['UPDATE webhook_endpoints SET failing_since = NULL', []]);
  await worker.measure();
  assert.deepEqual([await overdue('answering'), await overdue('failing')], [30, 0]);
});

test('periodic jobs tell how they ended', async (t) => {
  const { runtime } = await buildApp(t);
  t.mock.timers.enable({ apis: ['setInterval'] });
  const stop = startHousekeeping(runtime);
  t.mock.timers.tick(60_000);
  stop();
  const { registry } = runtime.metrics;
  const done = 'namjai_housekeeping_runs_total{task="check the clock",result="done"}';
  await until('the job is counted', async () => (await metricValue(registry, done)) === 1);
  const failed = 'namjai_housekeeping_runs_total{task="check the clock",result="failed"}';
  assert.equal(await metricValue(registry, failed), 0, 'failures are there before the first one');
});

test('a periodic job that fails is counted until it succeeds again', async (t) => {
  const { runtime } = await buildApp(t);
  t.mock.timers.enable({ apis: ['setInterval'] });
  let fails = true;
  const check = async () =>
    fails ? Promise.reject(new Error('the clock cannot be read')) : runtime.events.checkClock();
  const stop = startHousekeeping({ ...runtime, events: { ...runtime.events, checkClock: check } });
  t.after(stop);
  const inARow = 'namjai_housekeeping_consecutive_failures{task="check the clock"}';
  const becomes = (count: number) =>
    until(`${count} failures in a row`, async () => (await metricValue(runtime.metrics.registry, inARow)) === count);
  await becomes(0);
  t.mock.timers.tick(60_000);
  await becomes(1);
  t.mock.timers.tick(60_000);
  await becomes(2);
  fails = false;
  t.mock.timers.tick(60_000);
  await becomes(0);
});

test('a periodic job does not begin while its run before goes on', async (t) => {
  const { runtime } = await buildApp(t);
  t.mock.timers.enable({ apis: ['setInterval'] });
  const ends = Promise.withResolvers<void>();
  let begun = 0;
  const checkClock = async () => {
    begun += 1;
    await ends.promise;
    return runtime.events.checkClock();
  };
  t.after(startHousekeeping({ ...runtime, events: { ...runtime.events, checkClock } }));
  const done = 'namjai_housekeeping_runs_total{task="check the clock",result="done"}';
  const becomes = (count: number) =>
    until(`${count} runs`, async () => (await metricValue(runtime.metrics.registry, done)) === count);
  t.mock.timers.tick(60_000);
  t.mock.timers.tick(60_000);
  assert.equal(begun, 1);
  ends.resolve();
  await becomes(1);
  t.mock.timers.tick(60_000);
  await becomes(2);
  assert.equal(begun, 2);
});
