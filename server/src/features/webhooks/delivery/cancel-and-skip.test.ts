/** An endpoint or a grant that ends with any number of pending deliveries. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../../sdk/test/until.ts';
import type { Pair } from '../../../../test/factories.ts';
import { execute } from '../../../../test/sql.ts';
import { buildWebhooks } from '../../../../test/webhooks.ts';
import type { Runtime } from '../../../runtime.ts';
import { accessTopic } from '../../oauth/index.ts';

/** Others wait for each write. */
const mostAtOnce = 200;
const count = 3 * mostAtOnce + 1;

/** Deliveries that wait for their next attempt, as of a receiver that is gone. */
async function addPending({ db, clock }: Runtime, { creatorId, clientId }: Pair, endpointId: string): Promise<void> {
  await execute(
    db,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $4)
     INSERT INTO webhook_deliveries
       (creator_id, endpoint_id, event_id, id, grant_id, event_type, sequence, status, due_at, created_at)
     SELECT $1, $2, 'evt_' || (100000 + i), 'dlv_' || (100000 + i), g.id, 'tip.created', i, 'pending',
       CAST($5 AS BIGINT) + 3600000, CAST($5 AS BIGINT)
     FROM n JOIN grants g ON g.creator_id = $1 AND g.client_id = $3 AND g.ended_at IS NULL`,
    [creatorId, endpointId, clientId, count, clock()],
  );
}

const countOf = async ({ db }: Runtime, status: string): Promise<number> =>
  (await db.all('SELECT id FROM webhook_deliveries WHERE status = $1', [status])).length;

/** How many fewer are pending afterwards. */
async function endedBy(runtime: Runtime, act: () => Promise<unknown>): Promise<number> {
  const before = await countOf(runtime, 'pending');
  await act();
  return before - (await countOf(runtime, 'pending'));
}

test('a grant ends in a write of few rows, and all that it left is cancelled soon', async (t) => {
  const { runtime, add, pair, worker } = await buildWebhooks(t);
  const { id } = await add('http://127.0.0.1:9999/');
  await addPending(runtime, pair, id);
  const end = () => runtime.grants.revoke(pair.creatorId, pair.clientId, 'creator');
  const ended = await endedBy(runtime, end);
  assert.ok(ended > 0 && ended <= mostAtOnce, `${ended} in one write`);
  await worker.start();
  runtime.hub.publish(accessTopic, pair.creatorId);
  await until('all are cancelled', async () => (await countOf(runtime, 'cancelled')) === count);
});

test('what is left of a grant that has ended is not sent', async (t) => {
  const { runtime, add, pair, worker, clock } = await buildWebhooks(t);
  const { id } = await add('http://127.0.0.1:9999/');
  await addPending(runtime, pair, id);
  await runtime.grants.revoke(pair.creatorId, pair.clientId, 'creator');
  clock.advance(2 * 3_600_000);
  await worker.pass();
  assert.equal(await countOf(runtime, 'cancelled'), count);
});

test('an endpoint is disabled by writes of few rows, and enabling it revives nothing', async (t) => {
  const { runtime, add, call, pair } = await buildWebhooks(t);
  const { id } = await add('http://127.0.0.1:9999/');
  await addPending(runtime, pair, id);
  const changes: number[] = [];
  const { write } = runtime.db;
  Object.assign(runtime.db, {
    write: async (...args: Parameters<typeof write>) => {
      let answer: unknown;
      changes.push(await endedBy(runtime, async () => (answer = await write(...args))));
      return answer;
    },
  });
  assert.equal((await call('PATCH', `/${id}`, { enabled: false })).statusCode, 200);
  await until('all are skipped', async () => (await countOf(runtime, 'skipped')) === count);
  assert.equal(Math.max(...changes), mostAtOnce);
});

test('what a crash left pending at a disabled endpoint is skipped before it is enabled, and by housekeeping', async (t) => {
  const { runtime, add, call, pair } = await buildWebhooks(t);
  const { id } = await add('http://127.0.0.1:9999/');
  await call('PATCH', `/${id}`, { enabled: false });
  await addPending(runtime, pair, id);
  await call('PATCH', `/${id}`, { enabled: true });
  assert.equal(await countOf(runtime, 'skipped'), count);
  await execute(runtime.db, `UPDATE webhook_deliveries SET status = 'pending', due_at = $1`, [runtime.clock()]);
  await execute(runtime.db, 'UPDATE webhook_endpoints SET enabled = 0');
  await runtime.webhooks.disableFailing();
  assert.equal(await countOf(runtime, 'skipped'), count);
});
