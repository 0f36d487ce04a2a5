/** What one developer's webhooks take from others: the writes that tips and other apps' deliveries wait for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { makeApp, makePair, type Pair } from '../../../test/factories.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { buildWebhooks } from '../../../test/webhooks.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Runtime } from '../../runtime.ts';
import { createLeaseQueue, EndpointQueue } from './delivery/endpoint-queue.ts';
import { newWebhookSecret, sealContext, signedFormat } from './delivery/format.ts';
import { createLeases } from './delivery/leases.ts';
import type { Lease } from './delivery/repo.ts';
import { RequestSlots } from './delivery/request-slots.ts';
import { createSettler } from './delivery/settle.ts';
import type { Transport } from './delivery/transport.ts';
import { usualJudge } from './delivery/verdict.ts';
import { WaitingCounts } from './delivery/waiting-counts.ts';
import { createDispatcher } from './dispatch/dispatcher.ts';
import { createWebhookWorker } from './worker.ts';

/** A row costs SQLite about 20 µs, and every other write waits for all rows of one. */
const mostRows = 400;

async function recordTips({ tips }: Runtime, { creatorId }: Pair, count: number): Promise<void> {
  const tip = { creatorId, app: null, amount: 1, name: 'LOAD', displayName: null, message: null };
  await Promise.all(Array.from({ length: count }, () => tips.record(tip)));
}

/** A worker whose writes are looked at: each as it begins, with how many are under way. */
function watchedWorker(runtime: Runtime, onWrite: (name: string, args: readonly unknown[], atOnce: number) => void) {
  let under = 0;
  const write: Database['write'] = async (named, ...args) => {
    under += 1;
    onWrite(named.name, args, under);
    try {
      return await runtime.db.write(named, ...args);
    } finally {
      under -= 1;
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
    // SQLite runs one write after another: a tip waits for all of the worker's that are before it.
    assert.ok(most.atOnce <= (runtime.db.engine === 'sqlite' ? 2 : 8), `${most.atOnce} at once, with ${name}`);
  }
  assert.deepEqual([...seen.keys()].sort(), ['createDeliveries', 'leaseDue', 'settle']);
});

test('security 39: the endpoints of one developer have few deliveries in memory, and an app alone as many as it sends', async (t) => {
  const { runtime } = await buildWebhooks(t);
  const leased: Record<string, number> = { many: 0, few: 0 };
  /** Every endpoint has any number of deliveries, and no receiver answers. */
  const write = async (_: unknown, id: string, limit: number, lease: Lease) => {
    const [owner = ''] = id.split(' ');
    leased[owner] = (leased[owner] ?? 0) + limit;
    const delivery = { creator_id: '', event_id: '', body: '', attempts: '[]', tries: 0 };
    const deliveries = Array.from({ length: limit }, (_, i) => ({ ...delivery, id: `${lease.token} ${i}` }));
    const sealed_secret = runtime.vault.seal(newWebhookSecret(), sealContext(id));
    const old = { sealed_old_secret: null, old_secret_until: null, failing_since: null };
    return { endpoint: { id, owner, kind: 'http', url: receiver, sealed_secret, ...old }, deliveries, more: true };
  };
  const receiver = 'http://127.0.0.1:8080/';
  const transport: Transport = { send: () => new Promise(() => {}) };
  const kind = { format: signedFormat, judge: usualJudge, transport, maxRequests: 16 };
  const parts = {
    clock: runtime.clock,
    vault: runtime.vault,
    db: { ...runtime.db, write } as unknown as Database,
    kinds: { http: kind, listener: kind },
    leases: createLeases(runtime.clock),
    slots: new RequestSlots(),
    leaseQueue: createLeaseQueue(),
    waiting: new WaitingCounts(),
    settler: createSettler({
      onDisabled() {},
      ...runtime,
      random: () => 0.5,
      onError: assert.ifError,
      metrics: { registry: new Registry() },
    }),
    sessionOf: () => null,
    onError: assert.ifError,
  };
  const ids = ['few 1', ...Array.from({ length: 200 }, (_, i) => `many ${i}`)];
  const queues = ids.map((id) => new EndpointQueue(id, parts));
  for (const queue of queues) queue.wake();
  for (let before = -1; before !== leased.many; await nextIteration()) before = leased.many ?? 0;
  assert.ok((leased.many ?? 0) >= 2_048 && (leased.many ?? 0) <= 2_048 + 200 * 16 + 64, `${leased.many} of many`);
  assert.ok((leased.few ?? 0) > 100, `${leased.few} of an app with one endpoint`);
  assert.equal(parts.waiting.of('many') + 64, leased.many, 'what is being sent waits no more');
});

function rowsOf(name: string, args: readonly unknown[], endpoints: number): number {
  if (name === 'createDeliveries') return (args[0] as { limit: number }).limit * endpoints;
  if (name === 'leaseDue') return args[1] as number;
  return JSON.parse((args[1] as { text: string }).text).length;
}

test('a creator with a long log takes turns with others', async (t) => {
  const { runtime, pair } = await buildWebhooks(t);
  const other = await makePair(runtime);
  for (const { clientId } of [pair, other])
    await runtime.webhooks.add(clientId, { url: 'http://127.0.0.1:8080/', types: null, description: null });
  await recordTips(runtime, pair, 2_500);
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
  const queue = { isFull: false, room: 0, hasRoom: async () => {}, add() {}, wake() {} };
  const dispatcher = createDispatcher({
    db: { ...runtime.db, write },
    leases: createLeases(runtime.clock),
    connections: runtime.connections,
    queueOf: () => queue,
    sessionOf: () => null,
    announce() {},
    onError: assert.ifError,
  });
  dispatcher.hint(pair.creatorId);
  await dispatcher.idle();
  const rows = await runtime.db.all('SELECT id FROM webhook_deliveries');
  assert.equal(rows.length, 2_501);
  // The third write may have begun before the other creator was heard of.
  const turn = order.indexOf(other.creatorId);
  assert.ok(order.length > 5 && (turn === 2 || turn === 3), order.join(' '));
});

test('security 39: of many endpoints that want the same event, few are sent it in one iteration', async (t) => {
  const { runtime, pair, worker } = await buildWebhooks(t);
  await addEndpoints(runtime, pair, 4, (await startReceiver(t)).url);
  let [inIteration, most, all] = [0, 0, 0];
  const { post } = runtime.fetch;
  t.mock.method(runtime.fetch, 'post', (...args: Parameters<typeof post>) => {
    if (inIteration === 0) setImmediate(() => (inIteration = 0));
    inIteration += 1;
    most = Math.max(most, inIteration);
    all += 1;
    return post(...args);
  });
  await recordTips(runtime, pair, 1);
  await worker.pass();
  assert.equal(all, 40);
  // The next iteration may begin its requests before it resets the count.
  assert.ok(most <= 8, `${most} requests in one iteration of the event loop`);
});
