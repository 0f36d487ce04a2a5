import assert from 'node:assert/strict';
import { test } from 'node:test';
import { send } from '../../../test/api-cases.ts';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';
import { assertLedger } from '../../../test/ledger.ts';
import { neverEndDeadlocks } from '../../../test/postgres.ts';

const eventsOf = ({ runtime }: TestApp, creatorId: string) => runtime.events.after(creatorId, 0, 100);

test('a tip’s event is stored as the same bytes whatever it says, on either store', async (t) => {
  const app = await buildApp(t);
  const { creatorId, clientId } = await makePair(app.runtime);
  const message = 'a "quote", \\u0000 as text, "created_at":"2020-01-01T00:00:00.000Z"}}, น้ำใจ 🎉\n$8 \\';
  const { tip } = await app.runtime.tips.record({
    creatorId,
    app: { id: clientId, name: 'An "App" \\ ' },
    amount: 150.5,
    name: 'SOMCHAI',
    displayName: 'สมชาย',
    message,
  });
  const [event] = await eventsOf(app, creatorId);
  const { id } = JSON.parse(event!.body);
  const source = { type: 'api', client_id: clientId, app_name: 'An "App" \\ ' };
  assert.equal(
    event!.body,
    `{"id":"${id}","type":"tip.created","sequence":1,"test":false,"replay":false,"creator_id":"${creatorId}",` +
      `"created_at":"2026-11-15T04:00:00.000Z","data":{"tip":{"id":"${tip.id}","status":"recorded","amount":150.5,"amount_minor":15050,` +
      `"currency":"THB","name":"SOMCHAI","display_name":"สมชาย","message":${JSON.stringify(message)},` +
      `"source":${JSON.stringify(source)},"alert":{"status":"queued","shown_at":null,` +
      `"name":"สมชาย","message":${JSON.stringify(message)}},"voided_at":null,"void_reason":null,` +
      `"created_at":"2026-11-15T04:00:00.000Z"}}}`,
  );
  assert.deepEqual(JSON.parse(event!.body).data.tip, tip);
  assert.deepEqual(await app.runtime.tips.byId(creatorId, tip.id), tip);
});

test('the answer is the tip as its event has it and as it is read back, to the byte', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  const body = { amount: 0.07, name: 'SOMCHAI', display_name: 'ส "ม" \\', message: 'น้ำใจ 🎉\n\u2028' };
  const post = await send(app, pair, { method: 'POST', url: '/v1/tips', body });
  const get = await send(app, pair, { method: 'GET', url: String(post.headers.location) });
  assert.equal(post.body, get.body);
  assert.equal(post.headers['content-type'], get.headers['content-type']);
  const [event] = await eventsOf(app, pair.creatorId);
  assert.ok(event!.body.endsWith(`"data":{"tip":${post.body}}}`));
});

test('a node whose clock is behind records at the creator’s last time: in the tip, its event and the answer', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makePair(app.runtime);
  const input = { creatorId, app: null, amount: 1, name: 'CLI', displayName: null, message: null };
  app.clock.set('2026-12-01T00:00:00.007Z');
  await app.runtime.tips.record(input);
  app.clock.set('2026-11-30T16:59:59.999Z');
  const { tip } = await app.runtime.tips.record(input);
  assert.equal(tip.created_at, '2026-12-01T00:00:00.007Z');
  const last = JSON.parse((await eventsOf(app, creatorId)).at(-1)!.body);
  assert.deepEqual([last.created_at, last.data.tip], [tip.created_at, tip]);
  assert.equal((await app.runtime.tips.byId(creatorId, tip.id)).created_at, tip.created_at);
  assert.deepEqual(await assertLedger(app.runtime.db).then((ids) => ids.size), 2);
});

test('two hundred at once over two nodes for one creator, half of them with ten keys: each recorded once', async (t) => {
  const app = await buildApp(t);
  const other = await buildApp(t, app.env);
  const { creatorId, clientId } = await makePair(app.runtime);
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, i) => {
      const { tips } = (i % 4 < 2 ? app : other).runtime;
      const idempotencyKey = i % 2 ? `key ${i % 20}` : undefined;
      const about = { name: 'RACE', displayName: null, message: null, idempotencyKey };
      return tips.record({ creatorId, app: { id: clientId, name: 'App' }, amount: 1 + (i % 20), ...about });
    }),
  );
  const made = results.filter(({ replayed }) => !replayed).map(({ tip }) => tip.id);
  assert.equal(made.length, 110);
  assert.deepEqual(await assertLedger(app.runtime.db), new Set(made));
  for (const { tip } of results) assert.ok(made.includes(tip.id), 'a replay answers a tip that was recorded');
});

test('tips with keys, sent to two nodes at once in opposite orders, never wait for each other', async (t) => {
  const { runtime, env } = await buildApp(t);
  if (runtime.config.database.engine === 'postgres') await neverEndDeadlocks(runtime.config.database.url);
  const nodes = [await buildApp(t, env), await buildApp(t, env)];
  const pairs = await Promise.all(Array.from({ length: 5 }, () => makePair(runtime)));
  const inputs = Array.from({ length: 100 }, (_, i) => ({
    creatorId: pairs[i % 5]!.creatorId,
    app: { id: pairs[i % 5]!.clientId, name: 'App' },
    amount: 1,
    name: 'RACE',
    displayName: null,
    message: null,
    ...(i % 3 && { idempotencyKey: `key ${i % 30}` }),
  }));
  const sent = [inputs, inputs.toReversed()].map((list, i) =>
    list.map((input) => nodes[i]!.runtime.tips.record(input)),
  );
  const results = await Promise.all(sent.flat());
  const made = results.filter(({ replayed }) => !replayed).map(({ tip }) => tip.id);
  assert.deepEqual(await assertLedger(runtime.db), new Set(made));
});
