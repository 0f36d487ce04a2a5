import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEndpoints } from '../../../../test/endpoints.ts';
import { makePair } from '../../../../test/factories.ts';
import { startReceiver } from '../../../../test/receiver.ts';
import { execute } from '../../../../test/sql.ts';
import { buildWebhooks, type ShownDelivery } from '../../../../test/webhooks.ts';
import { firstId } from '../../../platform/ids.ts';

const day = 86_400_000;

test('the log of an app has a bound, divided among its endpoints, and the oldest deliveries are forgotten first', async (t) => {
  const { add, call, tip, worker, clock, runtime, pair } = await buildWebhooks(t);
  const receiver = await startReceiver(t);
  const others = [];
  for (let i = 0; i < 5; i++) others.push(await makePair(runtime, { app: pair }));
  const ids: string[] = [];
  for (let i = 0; i < 10; i++) ids.push((await add(receiver.url)).id);
  const [id = ''] = ids;
  const oldest = clock() - 29 * day;
  await execute(
    runtime.db,
    `WITH RECURSIVE n(i) AS (SELECT CAST($4 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < $3)
     INSERT INTO webhook_deliveries (creator_id, endpoint_id, event_id, id, event_type, status, created_at)
     SELECT '', $1, 'evt_' || i, $5 || (10000 + i), 'tip.created', CASE WHEN i < 9 THEN 'pending' ELSE 'failed' END, $2 FROM n`,
    [id, oldest, 12_500, 1, firstId('dlv', oldest)],
  );
  await tip();
  await worker.pass();
  const counted = async () => {
    await runtime.webhooks.prune();
    const rows = await runtime.db.all<{ endpoint_id: string; count: number }>(
      'SELECT endpoint_id, COUNT(*) AS count FROM webhook_deliveries GROUP BY endpoint_id',
    );
    return ids.map((each) => rows.find(({ endpoint_id }) => endpoint_id === each)?.count);
  };
  const small = Array.from({ length: 9 }, () => 1);
  // Six creators: 20,000 for each of them, over ten endpoints.
  assert.deepEqual(await counted(), [12_000, ...small]);
  const newest = (await call('GET', `/${id}/deliveries?limit=2`)).json().data;
  assert.deepEqual(
    newest.map((delivery: ShownDelivery) => [delivery.event_type, delivery.status]),
    [
      ['tip.created', 'succeeded'],
      ['tip.created', 'failed'],
    ],
  );
  for (const { creatorId, clientId } of others) await runtime.grants.revoke(creatorId, clientId, 'creator');
  assert.equal((await counted())[0], 10_000);
});

test('a page of the log is short, whatever the receivers have answered', async (t) => {
  const { add, call, tip, worker, clock, deliveries, runtime } = await buildWebhooks(t);
  const receiver = await startReceiver(t);
  receiver.answer = (response) => response.writeHead(500).end('\u0001'.repeat(5_000));
  const { id } = await add(receiver.url);
  await tip();
  for (let i = 0; i < 22; i++) {
    await worker.pass();
    const [delivery] = await deliveries(id);
    assert.equal((await call('POST', `/${id}/deliveries/${delivery?.id}/retry`)).statusCode, 202);
    clock.advance(60_000);
  }
  const page = (await call('GET', `/${id}/deliveries`)).body;
  const { attempts } = JSON.parse(page).data[0];
  assert.deepEqual(
    attempts.map(({ response_body }: ShownDelivery['attempts'][number]) => response_body?.length),
    [...Array.from({ length: 18 }, () => 100), 1024, 1024],
  );
  assert.ok(Buffer.byteLength(page) < 16_000, `${Buffer.byteLength(page)} bytes`);
  // The same a hundred times.
  await execute(
    runtime.db,
    `WITH RECURSIVE n(i) AS (SELECT CAST($3 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < $2)
     INSERT INTO webhook_deliveries (creator_id, endpoint_id, event_id, id, event_type, status, attempts, created_at)
     SELECT '', $1, 'evt_' || i, 'dlv_z' || (10000 + i), event_type, status, attempts, created_at
     FROM n JOIN webhook_deliveries ON endpoint_id = $1`,
    [id, 99, 1],
  );
  const seen: string[] = [];
  for (let cursor = ''; ; ) {
    const { data, next_cursor } = (await call('GET', `/${id}/deliveries?limit=100${cursor}`)).json();
    assert.ok(data.length > 0 && JSON.stringify(data).length < 300_000);
    seen.push(...data.map((delivery: ShownDelivery) => delivery.id));
    if (next_cursor === null) break;
    cursor = `&cursor=${next_cursor}`;
  }
  assert.deepEqual(seen, [...new Set(seen)].sort().reverse());
  assert.equal(seen.length, 100);
});

test('the log of a creator’s connections has the same bound', async (t) => {
  const { endpoints, tip, worker, clock, runtime } = await buildEndpoints(t, 'kofi');
  const receiver = await startReceiver(t);
  const ids: string[] = [];
  for (let i = 0; i < 10; i++) ids.push(await endpoints.add(receiver.url));
  const [id = ''] = ids;
  const oldest = clock() - 29 * day;
  await execute(
    runtime.db,
    `WITH RECURSIVE n(i) AS (SELECT CAST($4 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < $3)
     INSERT INTO webhook_deliveries (creator_id, endpoint_id, event_id, id, event_type, status, created_at)
     SELECT '', $1, 'evt_' || i, $5 || (10000 + i), 'tip.created', 'failed', $2 FROM n`,
    [id, oldest, 10_500, 1, firstId('dlv', oldest)],
  );
  await tip();
  await worker.pass();
  await runtime.webhooks.prune();
  const left = await runtime.db.all('SELECT id FROM webhook_deliveries WHERE endpoint_id = $1', [id]);
  assert.equal(left.length, 10_000);
  assert.equal((await endpoints.deliveries(id))[0]?.status, 'succeeded', 'the newest stay');
});
