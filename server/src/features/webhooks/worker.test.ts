import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { until } from '../../../../sdk/test/until.ts';
import { assertBelow } from '../../../test/assert-below.ts';
import { createTestClock, onNodes, storageSettings } from '../../../test/build-app.ts';
import { buildEndpoints, sentKinds } from '../../../test/endpoints.ts';
import { basic, makeApp, makePair, type Pair } from '../../../test/factories.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { execute } from '../../../test/sql.ts';
import { buildWebhooks } from '../../../test/webhooks.ts';
import { readConfig } from '../../config.ts';
import type { Database } from '../../platform/db/database.ts';
import { createLog } from '../../platform/log.ts';
import { createRuntime, type Runtime } from '../../runtime.ts';
import { accessTopic } from '../oauth/index.ts';
import { leaseMs } from './delivery/leases.ts';
import { createWebhookWorker } from './worker.ts';

/** Several nodes on one database, each with a clock of its own. */
async function nodes(t: { after(fn: () => Promise<void>): void }, count: number) {
  const config = readConfig({ ...(await storageSettings(t)), WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' });
  const made = [];
  for (let i = 0; i < count; i++) {
    const clock = createTestClock();
    const runtime = await createRuntime(config, { clock, log: createLog({ level: 'silent' }), withinMs: 60_000 });
    const worker = createWebhookWorker(runtime);
    t.after(async () => {
      await worker.stop();
      await runtime.close();
    });
    made.push({ clock, runtime, worker });
  }
  return made;
}

const endpointOf = (runtime: Runtime, { clientId }: Pair, url: string) =>
  runtime.webhooks.add(clientId, { url, types: null, description: null });

const tips = async (runtime: Runtime, { creatorId }: Pair, count: number) => {
  await Promise.all(
    Array.from({ length: count }, () =>
      runtime.tips.record({ creatorId, app: null, amount: 1, name: 'LOAD', displayName: null, message: null }),
    ),
  );
};

const statusesOf = async ({ db }: Runtime) =>
  (await db.all<{ status: string }>('SELECT status FROM webhook_deliveries')).map(({ status }) => status);

test('two nodes on one database share the work: every event once, both send', async (t) => {
  const [one, two] = await nodes(t, 2);
  const receiver = await startReceiver(t);
  const senders: string[] = [];
  // Nobody is answered before both have sent, so that neither could do it all while the other looks away.
  const both = () => new Set(senders).size === 2;
  const held: (() => void)[] = [];
  receiver.answer = (response) => {
    held.push(() => response.writeHead(204).end());
    if (both()) for (const answer of held.splice(0)) answer();
  };
  for (const node of [one!, two!]) {
    const { post } = node.runtime.fetch;
    const name = node === one ? 'one' : 'two';
    Object.assign(node.runtime.fetch, {
      post: (request: Parameters<typeof post>[0]) => {
        senders.push(name);
        return post(request);
      },
    });
  }
  const pair = await makePair(one!.runtime);
  await endpointOf(one!.runtime, pair, receiver.url);
  await tips(one!.runtime, pair, 200);
  const share = ({ worker }: { worker: { pass(): Promise<void> } }) =>
    until('both nodes have sent', async () => {
      await worker.pass();
      return both();
    });
  await Promise.all([share(one!), share(two!)]);
  await Promise.all([one!.worker.pass(), two!.worker.pass()]);
  const ids = receiver.requests.map(({ headers }) => headers['webhook-id']);
  assert.equal(ids.length, 200);
  assert.equal(new Set(ids).size, 200);
  assert.deepEqual([...new Set(senders)].sort(), ['one', 'two']);
  assert.deepEqual(new Set(await statusesOf(one!.runtime)), new Set(['succeeded']));
});

test('a node that sleeps past its lease loses its leases and settles nothing', async (t) => {
  const [sleeper, other] = await nodes(t, 2);
  const receiver = await startReceiver(t);
  const pair = await makePair(sleeper!.runtime);
  await endpointOf(sleeper!.runtime, pair, receiver.url);
  await tips(sleeper!.runtime, pair, 1);
  let wakeUp = () => {};
  receiver.answer = (response) => {
    wakeUp = () => response.writeHead(200).end('too late');
  };
  const asleep = sleeper!.worker.pass();
  await receiver.waitFor(1);

  receiver.answer = (response) => response.writeHead(503).end('in time');
  await other!.worker.pass();
  assert.equal(receiver.requests.length, 1, 'while the lease lives nobody else sends');
  other!.clock.advance(leaseMs);
  await other!.worker.pass();
  assert.equal(receiver.requests.length, 2);
  wakeUp();
  await asleep;
  const rows = await other!.runtime.db.all<{ status: string; attempts: string }>(
    'SELECT status, attempts FROM webhook_deliveries',
  );
  assert.deepEqual(
    rows.map(({ status }) => status),
    ['pending'],
  );
  assert.deepEqual(
    JSON.parse(rows[0]!.attempts).map((attempt: { response_body: string }) => attempt.response_body),
    ['in time'],
  );
});

test('one receiver that never answers leaves the others’ latency unchanged', async (t) => {
  const { runtime, worker, pair, tip, clock, call } = await buildWebhooks(t, { timeoutMs: 3_000 });
  clock.set(Date.now());
  const [dead, quick] = [await startReceiver(t), await startReceiver(t)];
  dead.answer = () => {};
  const arrived = new Map<string, number>();
  quick.answer = (response, { body }) => {
    arrived.set(JSON.parse(body).data.tip.id, performance.now());
    response.writeHead(204).end();
  };
  await call('POST', '', { url: quick.url });
  await worker.start();
  const measure = async () => {
    const latencies: number[] = [];
    for (let i = 0; i < 30; i++) {
      const recorded = await tip();
      const started = performance.now();
      await until('it has arrived', () => arrived.has(recorded.id));
      latencies.push(arrived.get(recorded.id)! - started);
    }
    return latencies.sort((a, b) => a - b)[15]!;
  };
  const alone = await measure();
  // Nine dead ones, and more for each than its queue has room for.
  for (let i = 0; i < 9; i++) await call('POST', '', { url: `${dead.url}/${i}` });
  await tips(runtime, pair, 50);
  await dead.waitFor(9);
  await quick.waitFor(80);
  // Where one waits for the dead, each delivery takes three seconds.
  const beside = await assertBelow('median ms', 4 * alone + 50, measure);
  t.diagnostic(`median ${beside.toFixed(1)} ms, ${alone.toFixed(1)} ms without nine receivers that never answer`);
});

for (const kind of sentKinds)
  test(`${kind}: security 32: a receiver that never answers costs one slot, however much waits for it`, async (t) => {
    const { runtime, worker, pair, endpoints } = await buildEndpoints(t, kind, { timeoutMs: 300 });
    const dead = await startReceiver(t);
    dead.answer = () => {};
    await endpoints.add(dead.url);
    let [inFlight, most] = [0, 0];
    const { post } = runtime.fetch;
    t.mock.method(runtime.fetch, 'post', async (request: Parameters<typeof post>[0]) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      return post(request).finally(() => (inFlight -= 1));
    });
    await worker.start();
    await tips(runtime, pair, 50);
    await dead.waitFor(5);
    assert.equal(most, 1);
  });

for (const kind of sentKinds)
  test(`${kind}: security 32: a receiver that sends no end of a body succeeds or fails like any other, and its log stays short`, async (t) => {
    const { endpoints, tip, worker } = await buildEndpoints(t, kind, { timeoutMs: 3_000 });
    const receiver = await startReceiver(t);
    receiver.answer = (response) => {
      response.writeHead(500);
      const more = () => {
        while (!response.destroyed) if (!response.write('x'.repeat(65_536))) return void response.once('drain', more);
      };
      more();
    };
    const id = await endpoints.add(receiver.url);
    await tip();
    await worker.pass();
    const [delivery] = await endpoints.deliveries(id);
    assert.equal(delivery!.status, 'pending');
    assert.deepEqual(
      delivery!.attempts.map(({ status_code, response_body }) => [status_code, response_body?.length]),
      [[500, 1024]],
    );
  });

test('stopping lets what is under way end and gives back the rest', async (t) => {
  const { runtime, add, pair, http } = await buildWebhooks(t);
  const leaving = createWebhookWorker({
    ...runtime,
    metrics: { registry: new (await import('prom-client')).Registry() },
  });
  const receiver = await startReceiver(t);
  const held: (() => void)[] = [];
  receiver.answer = (response) => held.push(() => response.writeHead(204).end());
  const { id } = await add(receiver.url);
  const count = 40;
  await tips(runtime, pair, count);
  const passing = leaving.pass();
  await receiver.waitFor(1);
  const stopped = leaving.stop();
  receiver.answer = (response) => response.writeHead(204).end();
  for (const release of held) release();
  await Promise.all([passing, stopped]);
  const sent = receiver.requests.length;
  assert.equal(sent, 1, 'before the first answer one request is under way');
  const list = await http.inject({ url: `/v1/webhooks/${id}/deliveries?limit=100`, headers: basic(pair) });
  const rows: { status: string; next_attempt_at: string }[] = list.json().data;
  const pending = rows.filter(({ status }) => status === 'pending');
  assert.deepEqual([rows.length - pending.length, pending.length], [sent, count - sent]);
  assert.ok(rows.every(({ status }) => status === 'pending' || status === 'succeeded'));
  const now = new Date(runtime.clock()).toISOString();
  for (const row of pending) assert.equal(row.next_attempt_at, now, 'due at once');
});

test('an endpoint of a deleted app gets nothing more', async (t) => {
  const { runtime, worker, add, tip, pair } = await buildWebhooks(t);
  const receiver = await startReceiver(t);
  await add(receiver.url);
  await makeApp(runtime);
  await tip();
  await execute(runtime.db, 'UPDATE apps SET deleted_at = 1 WHERE id = $1', [pair.clientId]);
  await worker.pass();
  assert.equal(receiver.requests.length, 0);
});

test('what waits to be sent is not sent any more once its grant has ended or its endpoint is off', async (t) => {
  const { runtime, worker, add, pair, call } = await buildWebhooks(t);
  const second = await makePair(runtime, { app: pair });
  const receiver = await startReceiver(t);
  const held: (() => void)[] = [];
  receiver.answer = (response) => held.push(() => response.writeHead(204).end());
  const { id } = await add(receiver.url, { types: ['tip.created'] });
  await worker.start();
  // One is under way and holds the queue; the others wait behind it.
  await tips(runtime, pair, 1);
  await receiver.waitFor(1);
  await tips(runtime, second, 3);
  await until('there are 4 deliveries', async () => (await statusesOf(runtime)).length === 4);
  await runtime.grants.revoke(second.creatorId, pair.clientId, 'creator');
  await new Promise((resolve) => setImmediate(resolve));
  await tips(runtime, pair, 3);
  await until('there are 7 deliveries', async () => (await statusesOf(runtime)).length === 7);
  await call('PATCH', `/${id}`, { enabled: false });
  await new Promise((resolve) => setImmediate(resolve));
  for (const release of held) release();
  await until('none is pending', async () => !(await statusesOf(runtime)).includes('pending'));
  assert.equal(receiver.requests.length, 1);
  assert.deepEqual((await statusesOf(runtime)).sort(), [
    ...Array(3).fill('cancelled'),
    ...Array(3).fill('skipped'),
    'succeeded',
  ]);
});

test('what waits to be sent is not sent any more once another process has ended its grant', {
  skip: onNodes ? 'with many nodes the command line tells them by Redis' : false,
}, async (t) => {
  const [server, commandLine] = await nodes(t, 2);
  assert.ok(server && commandLine);
  const { runtime, worker } = server;
  const pair = await makePair(runtime);
  const receiver = await startReceiver(t);
  const held: (() => void)[] = [];
  receiver.answer = (response) => held.push(() => response.writeHead(204).end());
  await endpointOf(runtime, pair, receiver.url);
  await worker.start();
  await tips(runtime, pair, 1);
  await receiver.waitFor(1);
  await tips(runtime, pair, 3);
  await until('there are 4 deliveries', async () => (await statusesOf(runtime)).length === 4);
  const noticed = Promise.withResolvers<void>();
  t.after(runtime.db.onExternalChange?.(noticed.resolve) ?? (() => {}));
  await commandLine.runtime.grants.revoke(pair.creatorId, pair.clientId, 'operator');
  await noticed.promise;
  for (const release of held) release();
  // The end of the grant is told to the app.
  await receiver.waitFor(2);
  held[1]?.();
  await until('none is pending', async () => !(await statusesOf(runtime)).includes('pending'));
  assert.deepEqual(
    receiver.requests.map(({ body }) => JSON.parse(body).type),
    ['tip.created', 'grant.revoked'],
  );
});

test('what is recalled while its lease is on its way from the database is not sent either', async (t) => {
  const { runtime, add, call, pair, deliveries } = await buildWebhooks(t);
  const receiver = await startReceiver(t);
  const { id } = await add(receiver.url, { types: ['tip.created'] });
  const { db } = runtime;
  let [held, written, letGo] = ['', () => {}, Promise.resolve()];
  const slowly: Database['write'] = async (write, ...args) => {
    const answer = await db.write(write, ...args);
    if (write.name === held) {
      written();
      await letGo;
    }
    return answer;
  };
  const metrics = { registry: new Registry() };
  const worker = createWebhookWorker({ ...runtime, metrics, db: { ...db, write: slowly } });
  t.after(() => worker.stop());
  await worker.start();
  const revokeDuring = async (write: string, begin: () => Promise<unknown>) => {
    const [recorded, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    [held, written, letGo] = [write, recorded.resolve, released.promise];
    await begin();
    await recorded.promise;
    const announced = new Promise<void>((resolve) =>
      runtime.hub.subscribe(accessTopic, (creatorId) => creatorId === pair.creatorId && resolve()),
    );
    await runtime.grants.revoke(pair.creatorId, pair.clientId, 'creator');
    await announced;
    released.resolve();
    await worker.pass();
  };

  await revokeDuring('createDeliveries', () => tips(runtime, pair, 1));
  assert.equal(receiver.requests.length, 0);
  held = '';
  await makePair(runtime, { app: pair, creator: pair });
  await tips(runtime, pair, 1);
  await receiver.waitFor(1);
  await until('none is pending', async () => !(await statusesOf(runtime)).includes('pending'));
  const [delivered] = await deliveries(id, '?status=succeeded');
  await revokeDuring('leaseDue', () => call('POST', `/${id}/deliveries/${delivered!.id}/retry`));
  assert.equal(receiver.requests.length, 1);
  assert.deepEqual(await statusesOf(runtime), ['cancelled', 'cancelled']);
});

test('an endpoint’s former address, late from the database, does not take the place of the new one', async (t) => {
  const { runtime, add, call, pair } = await buildWebhooks(t);
  const [former, current] = [await startReceiver(t), await startReceiver(t)];
  const { id } = await add(former.url, { types: ['tip.created'] });
  const { db } = runtime;
  const [written, letGo] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slowly: Database['write'] = async (write, ...args) => {
    const answer = await db.write(write, ...args);
    if (write.name === 'createDeliveries') {
      written.resolve();
      await letGo.promise;
    }
    return answer;
  };
  const metrics = { registry: new Registry() };
  const worker = createWebhookWorker({ ...runtime, metrics, db: { ...db, write: slowly } });
  t.after(() => worker.stop());
  await worker.start();
  await tips(runtime, pair, 1);
  await written.promise;
  await call('PATCH', `/${id}`, { url: current.url });
  // One is under way and holds the queue; the others wait behind it.
  const held: (() => void)[] = [];
  current.answer = (response) => held.push(() => response.writeHead(204).end());
  await runtime.webhooks.deliveries.ping(pair.clientId, id);
  await current.waitFor(1);
  for (let i = 0; i < 3; i++) await runtime.webhooks.deliveries.ping(pair.clientId, id);
  const leased = async () => (await db.all('SELECT id FROM webhook_deliveries WHERE lease IS NOT NULL')).length;
  await until('all are leased', async () => (await leased()) === 5);
  letGo.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  current.answer = (response) => response.writeHead(204).end();
  for (const release of held) release();
  await until('none is pending', async () => !(await statusesOf(runtime)).includes('pending'));
  assert.deepEqual([former.requests.length, current.requests.length], [0, 5]);
});

test('the log keeps what a receiver has no room for, and it is leased as it is made', async (t) => {
  const { runtime, add, pair } = await buildWebhooks(t);
  const receiver = await startReceiver(t);
  const held: (() => void)[] = [];
  receiver.answer = (response) => held.push(() => response.writeHead(204).end());
  await add(receiver.url);
  const called: string[] = [];
  const write: Database['write'] = (named, ...args) => {
    called.push(named.name);
    return runtime.db.write(named, ...args);
  };
  const metrics = { registry: new Registry() };
  const worker = createWebhookWorker({ ...runtime, metrics, db: { ...runtime.db, write } });
  t.after(() => worker.stop());
  await tips(runtime, pair, 400);
  const passing = worker.pass();
  await receiver.waitFor(1);
  const made = (await statusesOf(runtime)).length;
  assert.ok(made > 0 && made < 200, `${made} were made of 400`);
  receiver.answer = (response) => response.writeHead(204).end();
  for (const release of held) release();
  await passing;
  assert.equal(receiver.requests.length, 400);
  assert.deepEqual(await statusesOf(runtime), Array(400).fill('succeeded'));
  assert.ok(!called.includes('leaseDue'), 'none needed a lease of its own');
});

test('a receiver that does not answer keeps nothing in the log from another', async (t) => {
  const { runtime, worker, add, pair } = await buildWebhooks(t);
  const [silent, quick] = [await startReceiver(t), await startReceiver(t)];
  const held: (() => void)[] = [];
  silent.answer = (response) => held.push(() => response.writeHead(204).end());
  await add(silent.url);
  await add(quick.url);
  await tips(runtime, pair, 400);
  const passing = worker.pass();
  await quick.waitFor(400);
  assert.equal(silent.requests.length, 1);
  silent.answer = (response) => response.writeHead(204).end();
  for (const release of held) release();
  await passing;
  assert.equal(silent.requests.length, 400);
});

test('nor for long from itself: once it is given up, what waited for room is made and stays due', async (t) => {
  const { runtime, worker, add, pair } = await buildWebhooks(t, { timeoutMs: 500 });
  const silent = await startReceiver(t);
  silent.answer = () => {};
  await add(silent.url);
  await tips(runtime, pair, 400);
  // Looks at every log once.
  const passing = worker.pass();
  await until('there are 400 deliveries', async () => (await statusesOf(runtime)).length === 400);
  await worker.stop();
  await passing;
  assert.deepEqual(await statusesOf(runtime), Array(400).fill('pending'));
});

test('an event whose delivery exists is not delivered again, and those made beside it are not lost', async (t) => {
  const { runtime, worker, add, pair, clock } = await buildWebhooks(t);
  const receiver = await startReceiver(t);
  await add(receiver.url);
  await tips(runtime, pair, 2);
  await worker.pass();
  await execute(runtime.db, 'UPDATE webhook_positions SET sequence = 0');
  await tips(runtime, pair, 1);
  await worker.pass();
  clock.advance(leaseMs);
  await worker.pass();
  const ids = receiver.requests.map(({ headers }) => headers['webhook-id']);
  assert.deepEqual([ids.length, new Set(ids).size], [3, 3]);
  assert.deepEqual(await statusesOf(runtime), Array(3).fill('succeeded'));
});

for (const kind of sentKinds)
  test(`${kind}: the queue of a removed endpoint goes, though its receiver never answered`, async (t) => {
    const { runtime, worker, endpoints, tip } = await buildEndpoints(t, kind, { timeoutMs: 2_000 });
    const dead = await startReceiver(t);
    dead.answer = () => {};
    const given = await Promise.all(Array.from({ length: 5 }, () => endpoints.add(dead.url)));
    const inFlight = await Promise.all(Array.from({ length: 5 }, () => endpoints.add(dead.url)));
    await worker.start();
    await tip();
    await dead.waitFor(10);
    await Promise.all(inFlight.map(endpoints.remove));
    // The API would refuse so many reads.
    const sql = 'SELECT attempts FROM webhook_deliveries WHERE endpoint_id = $1';
    const isGivenUp = async (id: string) => {
      const delivery = await runtime.db.get<{ attempts: string }>(sql, [id]);
      return JSON.parse(delivery?.attempts ?? '[]').length === 1;
    };
    await until('the others are given up', async () => (await Promise.all(given.map(isGivenUp))).every(Boolean));
    await worker.pass();
    await until('only those of endpoints that exist are left', () => worker.queueCount() === given.length);
    await Promise.all(given.map(endpoints.remove));
    await until('none is left', () => worker.queueCount() === 0);
  });

test('a queue that nothing has happened to for an hour goes, though its receiver asked for a pause or never answered', async (t) => {
  const { worker, endpoints, add, runtime, tip, clock } = await buildEndpoints(t, 'discord', { timeoutMs: 5_000 });
  const [dead, limiting] = [await startReceiver(t), await startReceiver(t)];
  dead.answer = () => {};
  limiting.answer = (response) => response.writeHead(429, { 'retry-after': '7200' }).end();
  await add(dead.url);
  await endpoints.add(limiting.url);
  await tip();
  await worker.pass();
  assert.deepEqual([dead.requests.length, limiting.requests.length], [1, 1]);
  // As housekeeping does after an app or an account has ended.
  await execute(runtime.db, 'DELETE FROM webhook_deliveries');
  await worker.pass();
  assert.equal(worker.queueCount(), 2, 'they are slow and paused');
  clock.advance(3_600_000);
  await worker.pass();
  assert.equal(worker.queueCount(), 1, 'the pause is longer');
  clock.advance(3_600_000);
  await worker.pass();
  assert.equal(worker.queueCount(), 0);
});

test('an endpoint whose secret cannot be opened keeps nothing from others, and gets its own once it can be', async (t) => {
  const { worker, add, runtime, pair, tip, clock } = await buildWebhooks(t);
  const other = await makePair(runtime, { app: pair });
  const receivers = [await startReceiver(t), await startReceiver(t), await startReceiver(t)] as const;
  const { id } = await add(receivers[0].url);
  for (const { url } of receivers.slice(1)) await add(url);
  const before = await runtime.db.get<{ sealed_secret: Uint8Array }>(
    'SELECT sealed_secret FROM webhook_endpoints WHERE id = $1',
    [id],
  );
  const setSecret = (sealed: Uint8Array) =>
    execute(runtime.db, 'UPDATE webhook_endpoints SET sealed_secret = $2 WHERE id = $1', [id, sealed]);
  await setSecret(runtime.vault.seal('whsec_x', 'another context'));
  await tip();
  await tip(other.creatorId);
  await worker.pass();
  const counts = () => receivers.map(({ requests }) => requests.length);
  assert.deepEqual(counts(), [0, 2, 2]);
  await setSecret(before!.sealed_secret);
  clock.advance(leaseMs);
  await worker.pass();
  assert.deepEqual(counts(), [2, 2, 2]);
});
