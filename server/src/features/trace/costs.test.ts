import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { buildApp } from '../../../test/build-app.ts';
import { makeApp, makeCreator, makePair } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { execute } from '../../../test/sql.ts';
import { sendTip } from '../../../test/trace.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { textFor } from '../../platform/db/statement.ts';
import type { Trace } from './schemas.ts';

/** Tables that grow with every tip. */
const large = ['tips', 'events', 'webhook_deliveries'];

/** How each of these tables is read, by a plan of SQLite or PostgreSQL. */
function readsOf(plan: string): string[] {
  const found = [...plan.matchAll(/(SCAN|SEARCH) (\w+)[^"]*|(?:Index|Seq|Bitmap)[^"]* on (\w+)[^"]*/g)];
  return found.map(([read]) => read);
}

test('a trace is found by keys among many tips, events and deliveries, never by reading through them', async (t) => {
  const app = await buildApp(t);
  const { runtime } = app;
  const { db } = runtime;
  const pair = await makePair(runtime);
  const { creatorId, clientId } = pair;
  await makeManyTips(runtime, creatorId, 20_000);
  const hook = { url: 'https://app.example/hook', types: null, description: null };
  const { id: endpoint } = await runtime.webhooks.add(clientId, hook);
  await execute(
    db,
    `INSERT INTO events (creator_id, sequence, created_at, id, type, body)
     SELECT creator_id, sequence, created_at, 'evt_' || sequence, 'tip.created', '{}' FROM tips`,
  );
  await execute(
    db,
    `INSERT INTO webhook_deliveries (creator_id, endpoint_id, event_id, id, event_type, sequence, status, created_at)
     SELECT creator_id, $1, id, 'dlv_' || sequence, type, sequence, 'succeeded', created_at FROM events`,
    [endpoint],
  );
  app.clock.advance(1000);
  const { id } = await sendTip(app, pair);
  await runtime.overlays.skip(creatorId, id);
  if (db.engine === 'postgres') for (const table of large) await execute(db, `ANALYZE ${table}`);
  const [event] = await runtime.events.after(creatorId, 20_000, 1);

  const calls = [t.mock.method(db, 'all'), t.mock.method(db, 'get')];
  for (const reader of ['creator', 'operator', { clientId }] as const)
    await runtime.traces.ofTip(creatorId, id, reader);
  await runtime.traces.ofEvent(creatorId, JSON.parse(event?.body ?? '{}').id, 'creator');
  await runtime.traces.creatorOf(id);
  const statements = new Map(
    calls.flatMap(({ mock }) =>
      mock.calls.map(({ arguments: [sql, params] }) => [textFor(db.engine, sql), params ?? []] as const),
    ),
  );
  for (const { mock } of calls) mock.restore();

  assert.ok(statements.size >= 8, `${statements.size} statements`);
  const explain = db.engine === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN';
  for (const [text, params] of statements) {
    const plan = JSON.stringify(await db.all(`${explain} ${text}`, params));
    const reads = readsOf(plan).filter((read) => large.some((table) => new RegExp(`\\b${table}\\b`).test(read)));
    for (const read of reads) {
      assert.doesNotMatch(read, /^SCAN|Seq Scan/, `${text}\n${plan}`);
      assert.doesNotMatch(read, /\(creator_id=\?\)$/, `a whole log is read: ${text}\n${plan}`);
    }
    if (/WHERE subject_id/.test(text)) assert.match(plan, /events_subject/);
    if (/d\.event_id/.test(text)) assert.match(plan, /endpoint_id/, plan);
  }
});

/** A tip with 30 replays, sent to ten webhooks of each of six apps, each delivery tried 20 times. */
async function replayedOften(t: TestContext) {
  const app = await buildApp(t);
  const { runtime } = app;
  const { db, webhooks, newId } = runtime;
  const creator = await makeCreator(runtime);
  const { creatorId } = creator;
  const pairs = [];
  for (let n = 0; n < 6; n += 1)
    pairs.push(await makePair(runtime, { creator, app: await makeApp(runtime, `App ${n}`, creatorId) }));
  for (const { clientId } of pairs)
    for (let n = 0; n < 10; n += 1)
      await webhooks.add(clientId, { url: 'https://app.example/hook', types: null, description: null });
  app.clock.advance(1000);
  const { id } = await sendTip(app, pairs[0]!);
  for (let sequence = 2; sequence <= 31; sequence += 1)
    await execute(
      db,
      `INSERT INTO events (creator_id, sequence, created_at, id, type, body, subject_id)
       SELECT creator_id, $2, created_at, $3, 'alert.replayed', REPLACE(body, id, $3), $4 FROM events
       WHERE creator_id = $1 AND sequence = 1`,
      [creatorId, sequence, newId('evt'), id],
    );
  const attempt = { at: '2026-11-15T04:00:02.000Z', status_code: 500, duration_ms: 12, error: 'answered 500' };
  await execute(
    db,
    `INSERT INTO webhook_deliveries
       (creator_id, endpoint_id, event_id, id, event_type, sequence, status, due_at, created_at, attempts)
     SELECT v.creator_id, e.id, v.id, 'dlv_' || (1000 + v.sequence) || e.id, v.type, v.sequence, 'pending', v.created_at,
       v.created_at, $1 FROM events v CROSS JOIN webhook_endpoints e`,
    [JSON.stringify(Array.from({ length: 20 }, () => ({ ...attempt, response_body: 'x'.repeat(500) })))],
  );
  return { ...app, id, creatorId, pair: pairs[0]!, visitor: await signedInVisitor(app, creatorId) };
}

test('security 41: a tip that was replayed often, to many webhooks and by many attempts, has a trace of bounded length', async (t) => {
  const { http, runtime, id, pair, visitor } = await replayedOften(t);
  const trace: Trace = (await http.inject({ url: `/v1/tips/${id}/trace`, headers: pair.headers })).json();
  const attempts = trace.steps.filter((step) => step.kind === 'webhook');
  const lastAttempts = new Map(attempts.map(({ detail }) => [detail.delivery_id, detail]));
  assert.equal(lastAttempts.size, 10 * 21, 'each webhook, of the tip and of twenty replays');
  assert.ok(attempts.length <= 2 * lastAttempts.size, `${attempts.length} attempts`);
  for (const { attempt, next_attempt_at } of lastAttempts.values())
    assert.ok(attempt === 20 && next_attempt_at !== null);
  assert.deepEqual(
    trace.missing.filter(({ kind }) => kind === 'webhook'),
    [],
  );

  const all = t.mock.method(runtime.db, 'all');
  const page = await visitor.get(`/dashboard/tips/${id}`);
  const rows = await Promise.all(all.mock.calls.map(({ result }) => result));
  assert.ok(Math.max(...rows.map((read) => read?.length ?? 0)) <= 400);
  assert.ok(page.body.length < 400_000, `${page.body.length} characters`);
  assert.equal(page.statusCode, 200);
});

test('security 41: of many deliveries only what the trace tells is read, in steps between which others run', async (t) => {
  const { http, runtime, id, pair, visitor } = await replayedOften(t);
  const api = () => http.inject({ url: `/v1/tips/${id}/trace`, headers: pair.headers });
  const dashboard = () => visitor.get(`/dashboard/tips/${id}`);
  const portal = () => visitor.get(`/developers/apps/${pair.clientId}/trace?id=${id}`);
  for (const page of [api, dashboard, portal]) assert.equal((await page()).statusCode, 200);
  for (const [page, least] of [
    [api, 210 / 50 + 210 / 25],
    [dashboard, 400 / 50 + 400 / 25 + 400],
    [portal, 210 / 50 + 210 / 25 + 400],
  ] as const) {
    const all = t.mock.method(runtime.db, 'all');
    // Whatever is measured takes a millisecond.
    let time = performance.now();
    const now = t.mock.method(performance, 'now', () => (time += 1));
    let [iterations, done] = [0, false];
    const answer = page().finally(() => (done = true));
    for (; !done; iterations += 1) await nextIteration();
    now.mock.restore();
    assert.equal((await answer).statusCode, 200);
    const reads = await Promise.all(all.mock.calls.map(({ result }) => result));
    all.mock.restore();
    const bytes = reads.map((rows) => JSON.stringify(rows ?? []).length);
    assert.ok(Math.max(...bytes) < 60_000, `${Math.max(...bytes)} bytes in one read`);
    assert.ok(bytes.reduce((sum, read) => sum + read) < 400_000, `${bytes} bytes`);
    assert.ok(iterations >= least, `${page.name}: ${iterations} iterations of the event loop`);
  }
});

test('security 41: pages with a trace are shown 120 times a minute to one account', async (t) => {
  const app = await buildApp(t);
  const { creatorId: developerId } = await makeCreator(app.runtime);
  const pair = await makePair(app.runtime, { app: await makeApp(app.runtime, 'App', developerId) });
  const { id } = await sendTip(app, pair);
  const visitor = await signedInVisitor(app, pair.creatorId);
  const page = `/dashboard/tips/${id}`;
  for (let n = 0; n < 120; n += 1) assert.equal((await visitor.get(page)).statusCode, 200);
  const refused = await visitor.get(page);
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '60']);
  const developer = await signedInVisitor(app, developerId);
  const search = `/developers/apps/${pair.clientId}/trace`;
  for (let n = 0; n < 120; n += 1) assert.equal((await developer.get(`${search}?id=${id}`)).statusCode, 200);
  assert.equal((await developer.get(`${search}?id=${id}`)).statusCode, 429);
  assert.equal((await developer.get(search)).statusCode, 200, 'the form alone costs nothing');
  app.clock.advance(60_000);
  assert.equal((await visitor.get(page)).statusCode, 200);
});

test('a trace is told whatever texts its attempts have', async (t) => {
  const app = await buildApp(t);
  const { runtime } = app;
  const pair = await makePair(runtime);
  const hook = { url: 'https://app.example/hook', types: null, description: null };
  const { id: endpoint } = await runtime.webhooks.add(pair.clientId, hook);
  app.clock.advance(1000);
  const { id } = await sendTip(app, pair);
  const errors = ['a NUL \0', 'half an emoji \ud83d', 'usual'];
  const attempts = errors.map((error) => ({
    at: '2026-11-15T04:00:02.000Z',
    status_code: null,
    duration_ms: 12,
    error,
  }));
  await execute(
    runtime.db,
    `INSERT INTO webhook_deliveries
       (creator_id, endpoint_id, event_id, id, event_type, sequence, status, due_at, created_at, attempts)
     SELECT creator_id, $1, id, 'dlv_1', type, sequence, 'pending', created_at, created_at, $2 FROM events`,
    [endpoint, JSON.stringify(attempts)],
  );
  const trace = await runtime.traces.ofTip(pair.creatorId, id, 'operator');
  assert.match(JSON.stringify(trace), /usual/);
});
