import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { verifyWebhook } from '@namjai/sdk/webhooks';
import { buildApp } from '../../../../test/build-app.ts';
import { basic, makePair } from '../../../../test/factories.ts';
import { startReceiver } from '../../../../test/receiver.ts';
import { makeSandboxPair } from '../../../../test/sandbox-pair.ts';
import { execute } from '../../../../test/sql.ts';
import { buildWebhooks } from '../../../../test/webhooks.ts';
import { decide, noShares } from './decide.ts';
import { wasLate } from './repo.ts';

async function setup(t: TestContext, options: Parameters<typeof buildWebhooks>[1] = {}) {
  const receiver = await startReceiver(t);
  const app = await buildWebhooks(t, options);
  const pair = await makeSandboxPair(app.runtime);
  const added = await app.http.inject({
    method: 'POST',
    url: '/v1/webhooks',
    headers: basic(pair),
    payload: { url: receiver.url },
  });
  assert.equal(added.statusCode, 201, added.body);
  const { secret, id }: { secret: string; id: string } = added.json();
  const statuses = async (): Promise<string[]> => {
    const list = await app.http.inject({ url: `/v1/webhooks/${id}/deliveries`, headers: basic(pair) });
    return list.json().data.map(({ status }: { status: string }) => status);
  };
  return { app, pair, chaos: app.runtime.chaos, receiver, secret, statuses };
}

const idOf = ({ headers }: { headers: Record<string, unknown> }): string => String(headers['webhook-id']);

test('webhook_twice sends the same delivery twice and says so; those of other creators come once', async (t) => {
  const { app, pair, chaos, receiver, secret, statuses } = await setup(t);
  const real = await makePair(app.runtime, { app: pair });
  await chaos.save(pair, 'seed', { webhook_twice: 1000 });
  await app.tip(pair.creatorId);
  await app.worker.pass();
  const [first, second, ...more] = receiver.requests;
  assert.ok(first && second);
  assert.deepEqual(more, []);
  assert.deepEqual([first.headers, first.body], [second.headers, second.body]);
  assert.equal(first.headers['namjai-chaos'], 'webhook_twice');
  const event = await verifyWebhook({ secret, headers: first.headers, body: first.body, now: app.clock });
  assert.equal(event.type, 'tip.created');
  assert.deepEqual(await statuses(), ['succeeded']);
  const [fault] = await chaos.faults(pair, 10);
  assert.deepEqual([fault?.kind, fault?.n, fault?.subject.slice(0, 4)], ['webhook_twice', 1, 'dlv_']);

  await app.tip(real.creatorId);
  await app.worker.pass();
  assert.equal(receiver.requests.length, 3);
  assert.equal(receiver.requests[2]?.headers['namjai-chaos'], undefined);
});

test('webhook_twice sends a delivery once that is not answered in time: a second attempt could outlast the lease', async (t) => {
  const { app, pair, chaos, receiver, statuses } = await setup(t, { timeoutMs: 5_000 });
  await chaos.save(pair, 'seed', { webhook_twice: 1000 });
  receiver.answer = () => {};
  await app.tip(pair.creatorId);
  await app.worker.pass();
  assert.deepEqual([receiver.requests.length, await statuses()], [1, ['pending']]);
});

test('webhook_late comes later, once, and says so', async (t) => {
  const { app, pair, chaos, receiver, statuses } = await setup(t);
  await chaos.save(pair, 'seed', { webhook_late: 1000 });
  await app.tip(pair.creatorId);
  await app.worker.pass();
  assert.equal(receiver.requests.length, 0);
  assert.deepEqual(await statuses(), ['pending']);
  app.clock.advance(4_900);
  await app.worker.pass();
  assert.equal(receiver.requests.length, 0, 'it waits for five seconds at least');
  app.clock.advance(25_200);
  await app.worker.pass();
  assert.equal(receiver.requests.length, 1, 'after thirty seconds it has come, and is not late again');
  assert.deepEqual(await statuses(), ['succeeded']);
  assert.equal(receiver.requests[0]?.headers['namjai-chaos'], 'webhook_late');
  assert.equal((await chaos.of(pair))?.deliveries, 1, 'it was counted once');
});

test('the same seed picks the same deliveries', async (t) => {
  const { app, pair, chaos, receiver } = await setup(t);
  const shares = { ...noShares, webhook_twice: 400 };
  await chaos.save(pair, 'picks', shares);
  const expected: string[] = [];
  for (let n = 1; n <= 12; n += 1) {
    await app.tip(pair.creatorId);
    await app.worker.pass();
    const id = idOf(receiver.requests.at(-1) ?? assert.fail('nothing has come'));
    expected.push(...(decide('picks', shares, 'delivery', n) ? [id, id] : [id]));
  }
  assert.deepEqual(receiver.requests.map(idOf), expected);
  assert.ok(expected.length > 12);
});

test('a receiver that fails once more is tried again by the schedule, and chaos counts each attempt', async (t) => {
  const { app, pair, chaos, receiver, statuses } = await setup(t);
  await chaos.save(pair, 'seed', { webhook_twice: 1000 });
  receiver.answer = (response) => response.writeHead(500).end();
  await app.tip(pair.creatorId);
  await app.worker.pass();
  assert.deepEqual([receiver.requests.length, await statuses()], [2, ['pending']]);
  receiver.answer = (response) => response.writeHead(204).end();
  await chaos.stop(pair);
  app.clock.advance(10_000);
  await app.worker.pass();
  assert.deepEqual([receiver.requests.length, await statuses()], [3, ['succeeded']]);
});

test('security 39: whether a delivery was late is found by a key, among the 2,000 faults that are kept', async (t) => {
  const { runtime } = await buildApp(t);
  const { db } = runtime;
  const pair = await makeSandboxPair(runtime);
  await execute(
    db,
    `WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
     INSERT INTO chaos_faults (creator_id, client_id, number, n, kind, at, subject)
     SELECT $1, $2, i, i, 'webhook_late', 1, 'dlv_' || i FROM n`,
    [pair.creatorId, pair.clientId],
  );
  if (db.engine === 'postgres') await execute(db, 'ANALYZE chaos_faults');
  const get = t.mock.method(db, 'get');
  assert.deepEqual([await wasLate(db, pair, 'dlv_7'), await wasLate(db, pair, 'dlv_2001')], [true, false]);
  const [sql, params] = get.mock.calls[0]?.arguments ?? [];
  get.mock.restore();
  assert.ok(typeof sql === 'string');
  const explain = db.engine === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN';
  assert.match(JSON.stringify(await db.all(`${explain} ${sql}`, params)), /chaos_faults_late/);
});
