import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { execute } from '../../../test/sql.ts';
import { sendTip } from '../../../test/trace.ts';
import { textFor } from '../../platform/db/statement.ts';

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
