/** What one developer's webhooks take from others: the writes that tips and other apps' deliveries wait for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { makeApp, makePair, type Pair } from '../../../test/factories.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { buildWebhooks } from '../../../test/webhooks.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Runtime } from '../../runtime.ts';
import { createLeases } from './delivery/endpoint-queue.ts';
import { createDispatcher } from './dispatch/dispatcher.ts';
import { createWebhookWorker } from './worker.ts';

/** A row costs SQLite about 20 µs, and every other write waits for all rows of one. */
const mostRows = 400;

async function recordTips({ tips }: Runtime, { creatorId }: Pair, count: number): Promise<void> {
  const tip = { creatorId, app: null, amount: 1, name: 'LOAD', displayName: null, message: null };
  await Promise.all(Array.from({ length: count }, () => tips.record(tip)));
}

/** A worker whose writes are looked at: each as it begins, with how many of the same kind are under way. */
function watchedWorker(runtime: Runtime, onWrite: (name: string, args: readonly unknown[], atOnce: number) => void) {
  const under = new Map<string, number>();
  const write: Database['write'] = async (named, ...args) => {
    const { name } = named;
    const count = (under.get(name) ?? 0) + 1;
    under.set(name, count);
    onWrite(name, args, count);
    try {
      return await runtime.db.write(named, ...args);
    } finally {
      under.set(name, (under.get(name) ?? 1) - 1);
    }
  };
  const metrics = { registry: new Registry() };
  return createWebhookWorker({ ...runtime, metrics, db: { ...runtime.db, write } });
}

/** An app of this account with so many endpoints, all for the events of one creator. */
async function addEndpoints(runtime: Runtime, owner: Pair, apps: number, url: string): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < apps; i += 1) {
    const app = await makeApp(runtime, `App ${i}`, owner.creatorId);
    const { clientId } = await makePair(runtime, { creator: owner, app });
    for (let e = 0; e < 10; e += 1)
      ids.push((await runtime.webhooks.add(clientId, { url, types: null, description: null })).id);
  }
  return ids;
}

test('security 39: the deliveries of a developer with many endpoints are written few at a time', async (t) => {
  const { runtime, pair } = await buildWebhooks(t);
  const receiver = await startReceiver(t);
  const ids = await addEndpoints(runtime, pair, 4, receiver.url);
  const seen = new Map<string, { rows: number; atOnce: number }>();
  const worker = watchedWorker(runtime, (name, args, atOnce) => {
    const rows = rowsOf(name, args, ids.length);
    const most = seen.get(name) ?? { rows: 0, atOnce: 0 };
    seen.set(name, { rows: Math.max(most.rows, rows), atOnce: Math.max(most.atOnce, atOnce) });
  });
  t.after(() => worker.stop());
  await recordTips(runtime, pair, 20);
  await worker.pass();
  assert.equal(receiver.requests.length, ids.length * 20);
  const { db, clock, webhooks } = runtime;
  const rows = await db.all<{ client_id: string; id: string }>('SELECT client_id, id FROM webhook_endpoints');
  const span = { from: clock() - 60_000, to: clock() + 60_000 };
  await Promise.all(rows.map(({ client_id, id }) => webhooks.deliveries.replay(client_id, id, span)));
  await worker.pass();
  assert.equal(receiver.requests.length, ids.length * 20 * 2);
  for (const [name, most] of seen) {
    assert.ok(most.rows <= mostRows, `${name} of ${most.rows} rows`);
    assert.ok(most.atOnce <= 4, `${most.atOnce} of ${name} at once`);
  }
  assert.deepEqual([...seen.keys()].sort(), ['createDeliveries', 'leaseDue', 'settle']);
});

function rowsOf(name: string, args: readonly unknown[], endpoints: number): number {
  if (name === 'createDeliveries') return (args[0] as { limit: number }).limit * endpoints;
  if (name === 'leaseDue') return args[1] as number;
  return JSON.parse((args[0] as { text: string }).text).length;
}

test('a creator with a long log takes turns with others', async (t) => {
  const { runtime, pair } = await buildWebhooks(t);
  const other = await makePair(runtime);
  for (const { clientId } of [pair, other])
    await runtime.webhooks.add(clientId, { url: 'http://127.0.0.1:8080/', types: null, description: null });
  await recordTips(runtime, pair, 1_000);
  const order: string[] = [];
  const write: Database['write'] = async (named, ...args) => {
    order.push((args[0] as { creator_id: string }).creator_id);
    if (order.length === 2) {
      await recordTips(runtime, other, 1);
      dispatcher.hint(other.creatorId);
    }
    return runtime.db.write(named, ...args);
  };
  // As of receivers that do not answer: never full, and without room.
  const queue = { isFull: false, room: 0, low: async () => {}, add() {}, wake() {} };
  const dispatcher = createDispatcher({
    db: { ...runtime.db, write },
    leases: createLeases(runtime.clock),
    queueOf: () => queue,
    sessionOf: () => null,
    announce() {},
    onError: assert.ifError,
  });
  dispatcher.hint(pair.creatorId);
  await dispatcher.idle();
  const rows = await runtime.db.all('SELECT id FROM webhook_deliveries');
  assert.equal(rows.length, 1_001);
  assert.equal(order.indexOf(other.creatorId), 2, order.join(' '));
});
