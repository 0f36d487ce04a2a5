import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { until } from '../../../../../sdk/test/until.ts';
import { buildApp } from '../../../../test/build-app.ts';
import { basic, makeApp, makePair } from '../../../../test/factories.ts';
import { ok, openListener, refusedUpgrade } from '../../../../test/listeners.ts';
import { startReceiver } from '../../../../test/receiver.ts';
import { execute } from '../../../../test/sql.ts';
import { startStopwatch } from '../../../../test/stopwatch.ts';
import { buildWebhooks } from '../../../../test/webhooks.ts';
import { createWebhookWorker } from '../worker.ts';

async function build(t: TestContext, options: Parameters<typeof buildWebhooks>[1] = {}) {
  const app = await buildWebhooks(t, options);
  const address = new URL(await app.http.listen({ host: '127.0.0.1', port: 0 })).host;
  const statuses = async (id: string) => (await app.deliveries(id)).map(({ status }) => status);
  return { ...app, address, statuses };
}

test('a listener gets what an HTTP endpoint would get, signed with a secret that stays, and its log tells', async (t) => {
  const { address, pair, worker, tip, deliveries, call, add, clock } = await build(t);
  // The verifier looks at the real time.
  clock.set(Date.now());
  const receiver = await startReceiver(t);
  const http = await add(receiver.url);
  const listener = openListener(t, address, pair);
  const { endpoint_id: id, secret } = await listener.ready;
  await tip();
  await worker.pass();
  const [delivery] = listener.deliveries;
  assert.ok(delivery);
  assert.equal(delivery.body, receiver.requests[0]?.body);
  assert.deepEqual(new Webhook(secret).verify(delivery.body, delivery.headers), JSON.parse(delivery.body));
  for (const name of ['content-type', 'user-agent', 'webhook-id', 'webhook-timestamp'])
    assert.equal(delivery.headers[name], receiver.requests[0]?.headers[name], name);
  const [logged] = await deliveries(id);
  assert.equal(logged?.id, delivery.id);
  assert.equal(logged?.status, 'succeeded');
  const [attempt] = logged?.attempts ?? [];
  assert.deepEqual(
    [attempt?.status_code, attempt?.duration_ms, attempt?.error, attempt?.response_body],
    [200, 7, null, 'ok'],
  );

  assert.deepEqual(
    (await call('GET', '')).json().data.map((webhook: { id: string; kind: string }) => [webhook.id, webhook.kind]),
    [[http.id, 'http']],
    'it is listed only on request',
  );
  const all: { id: string; kind: string; url: string | null }[] = (await call('GET', '?kind=all')).json().data;
  assert.deepEqual(
    all.find(({ kind }) => kind === 'listener'),
    { ...all.find(({ kind }) => kind === 'listener'), id, url: null, enabled: true, types: null },
  );
  assert.equal((await call('GET', '?kind=none')).statusCode, 422);

  await listener.close();
  const again = openListener(t, address, pair);
  assert.deepEqual(await again.ready, { type: 'ready', endpoint_id: id, secret }, 'the same over connections');
  const { secret: rotated } = (await call('POST', `/${id}/rotate-secret`)).json();
  await tip();
  await worker.pass();
  assert.equal(again.deliveries.length, 1);
  for (const each of [secret, rotated])
    new Webhook(each).verify(String(again.deliveries[0]?.body), again.deliveries[0]?.headers ?? {});
});

test('attempts follow the schedule; retry, replay and ping reach the listener', async (t) => {
  const { address, pair, worker, tip, deliveries, call, clock } = await build(t);
  const listener = openListener(t, address, pair);
  const { endpoint_id: id } = await listener.ready;
  listener.answer = () => ({ ...ok, status_code: null, error: 'ECONNREFUSED', response_body: null });
  await tip();
  await worker.pass();
  const [failed] = await deliveries(id);
  assert.equal(failed?.status, 'pending');
  assert.equal(failed?.attempts[0]?.error, 'ECONNREFUSED');
  assert.equal(failed?.next_attempt_at, new Date(clock() + 5000).toISOString());
  clock.advance(5000);
  listener.answer = () => ({ ...ok, status_code: 410 });
  await worker.pass();
  const [gone] = await deliveries(id);
  assert.equal(gone?.status, 'failed');
  assert.equal((await call('GET', `/${id}`)).json().enabled, true, 'a listener is never disabled');

  listener.answer = () => ok;
  assert.equal((await call('POST', `/${id}/deliveries/${gone?.id}/retry`)).statusCode, 202);
  await worker.pass();
  assert.equal((await deliveries(id))[0]?.status, 'succeeded');
  const span = { from: '2026-11-15T00:00:00Z', to: '2026-11-16T00:00:00Z' };
  assert.equal((await call('POST', `/${id}/replay`, span)).json().queued, 1);
  await worker.pass();
  assert.equal(listener.deliveries.length, 4);
  assert.equal(new Set(listener.deliveries.map((each) => each.headers['webhook-id'])).size, 1);
  assert.equal((await call('POST', `/${id}/ping`)).statusCode, 202);
  await worker.pass();
  assert.equal(JSON.parse(String(listener.deliveries[4]?.body)).type, 'webhook.ping');

  for (const change of [{ enabled: false }, { url: 'https://app.example/' }])
    assert.equal((await call('PATCH', `/${id}`, change)).statusCode, 422);
  assert.equal((await call('PATCH', `/${id}`, { types: ['alert.test'] })).statusCode, 200);
  await tip();
  await worker.pass();
  assert.equal(listener.deliveries.length, 5, 'it asks for other types');
});

test('wrong credentials are no upgrade, and every connection is counted', async (t) => {
  const { address, pair, http, runtime } = await build(t);
  const other = await makeApp(runtime);
  const wrong = { ...pair, clientSecret: other.clientSecret };
  assert.equal(await refusedUpgrade(address, basic(wrong)), 401);
  assert.equal(await refusedUpgrade(address, {}), 401);
  assert.equal(await refusedUpgrade(address, pair.headers), 401, 'a token is no client');
  const plain = await http.inject({ url: '/v1/webhooks/listen', headers: basic(pair) });
  assert.deepEqual([plain.statusCode, plain.json().error.code], [426, 'upgrade_required']);
  const listener = openListener(t, address, pair);
  const upgraded = new Promise<string | undefined>((resolve) =>
    listener.webSocket.on('upgrade', ({ headers }) => resolve(String(headers.ratelimit))),
  );
  await listener.ready;
  assert.equal(await upgraded, '"manage";r=118;t=60');
  for (let i = 0; i < 118; i++) await http.inject({ url: '/v1/webhooks', headers: basic(pair) });
  assert.equal(await refusedUpgrade(address, basic(pair)), 429);
});

test('a newer listener replaces the older one, which is told 4409, and what was in flight reaches the newer', async (t) => {
  const { address, pair, worker, tip, statuses } = await build(t);
  const older = openListener(t, address, pair);
  const { endpoint_id: id } = await older.ready;
  older.answer = () => undefined;
  await tip();
  const passed = worker.pass();
  await older.waitFor(1);
  const newer = openListener(t, address, pair);
  assert.equal(await older.closed, 4409);
  await newer.ready;
  await passed;
  await until('the newer one has it', async () => {
    await worker.pass();
    return newer.deliveries.length === 1;
  });
  assert.deepEqual(newer.deliveries[0]?.id, older.deliveries[0]?.id);
  assert.deepEqual(await statuses(id), ['succeeded']);
});

test('an app whose secret cannot be opened has no listener, and its socket is told to connect again', async (t) => {
  const { address, pair, runtime } = await build(t);
  const first = openListener(t, address, pair);
  const { endpoint_id: id } = await first.ready;
  await first.close();
  const isListening = async () => (await runtime.webhooks.get(pair.clientId, id)).listening;
  await until('it is closed', async () => !(await isListening()));
  const other = runtime.vault.seal('whsec_x', 'another context');
  await execute(runtime.db, 'UPDATE webhook_endpoints SET sealed_secret = $2 WHERE id = $1', [id, other]);
  assert.equal(await openListener(t, address, pair).closed, 1012);
  assert.equal(await isListening(), false);
  assert.equal(runtime.listeners.sessionOf(id), null);
});

test('events while it is closed are not its; what is pending waits 60 seconds for it, then is cancelled', async (t) => {
  const { address, pair, worker, tip, clock, statuses, call, runtime, deliveries } = await build(t);
  const first = openListener(t, address, pair);
  const { endpoint_id: id } = await first.ready;
  first.answer = () => undefined;
  clock.advance(1);
  await tip();
  const passed = worker.pass();
  await first.waitFor(1);
  // This one has not become a delivery when the socket closes, but it happened before.
  await tip();
  clock.advance(1);
  await first.close();
  await passed;
  await until('it is closed', async () => !(await runtime.webhooks.get(pair.clientId, id)).listening);
  clock.advance(1);
  await tip();
  await worker.pass();
  assert.deepEqual(await statuses(id), ['pending', 'pending']);
  clock.advance(50_000);
  const second = openListener(t, address, pair);
  await second.ready;
  await worker.pass();
  assert.equal(second.deliveries.length, 2);
  assert.deepEqual(await statuses(id), ['succeeded', 'succeeded']);

  second.answer = () => ({ ...ok, status_code: 500 });
  clock.advance(1);
  await tip();
  await worker.pass();
  await second.close();
  await until('it is closed', async () => !(await runtime.webhooks.get(pair.clientId, id)).listening);
  const closedAt = clock();
  clock.set(closedAt + 59_999);
  await worker.pass();
  assert.equal((await statuses(id))[0], 'pending');
  clock.set(closedAt + 60_000);
  await worker.pass();
  assert.deepEqual(await statuses(id), ['cancelled', 'succeeded', 'succeeded']);
  assert.equal((await deliveries(id))[0]?.next_attempt_at, null);

  // Asked for while it is closed: waits as long.
  assert.equal((await call('POST', `/${id}/ping`)).statusCode, 202);
  await worker.pass();
  assert.equal((await statuses(id))[0], 'pending');
  clock.advance(60_000);
  await worker.pass();
  assert.equal((await statuses(id))[0], 'cancelled');
  assert.equal(await runtime.grants.revoke(pair.creatorId, pair.clientId, 'creator'), true);
  await worker.pass();
  assert.equal((await deliveries(id))[0]?.event_type, 'webhook.ping', 'the end of a grant was not its, either');
});

test('at most ten are unanswered, and a result that does not come within the time is a failed attempt', async (t) => {
  const { address, pair, worker, tip, deliveries, clock } = await build(t, { timeoutMs: 5_000 });
  const listener = openListener(t, address, pair);
  const { endpoint_id: id } = await listener.ready;
  for (let i = 0; i < 40; i++) await tip();
  const held: string[] = [];
  let most = 0;
  const answerAll = () => {
    most = Math.max(most, held.length);
    for (const id of held.splice(0)) listener.result(id);
  };
  // Whatever the server has sent with the tenth comes before its pong.
  listener.webSocket.on('pong', answerAll);
  listener.answer = ({ id }) => {
    held.push(id);
    // The first few at once, so that the queue sends more of them; then in groups.
    if (listener.deliveries.length < 8 || listener.deliveries.length > 30) answerAll();
    else if (held.length === 10) listener.webSocket.ping();
    return undefined;
  };
  await worker.pass();
  assert.equal(listener.deliveries.length, 40);
  assert.equal(most, 10);
  listener.answer = () => undefined;
  clock.advance(1);
  await tip();
  await worker.pass();
  const [late] = await deliveries(id);
  assert.equal(late?.status, 'pending');
  assert.deepEqual(late?.attempts[0]?.error, 'no result within 5 seconds');
  listener.result(String(late?.id));
  listener.result('dlv_unknown');
  listener.answer = () => ok;
  clock.advance(1);
  await tip();
  await worker.pass();
  assert.equal((await deliveries(id))[0]?.status, 'succeeded', 'late and unknown results change nothing');
  assert.equal((await deliveries(id))[1]?.status, 'pending');
});

test('a result that succeeded has no error, whatever text came with it, and its trace tells of a success', async (t) => {
  const { address, worker, pair, tip, deliveries, runtime } = await build(t);
  const listener = openListener(t, address, pair);
  const { endpoint_id } = await listener.ready;
  listener.answer = () => ({ status_code: 200, error: 'the body was cut off', response_body: 'thanks' });
  const { id } = await tip();
  await worker.pass();
  const [delivery] = await deliveries(endpoint_id);
  assert.equal(delivery?.status, 'succeeded');
  assert.deepEqual(
    delivery?.attempts.map(({ status_code, error, response_body }) => [status_code, error, response_body]),
    [[200, null, 'thanks']],
  );
  const { steps } = await runtime.traces.ofTip(pair.creatorId, id, 'operator');
  assert.deepEqual(
    steps.filter(({ kind }) => kind === 'webhook').map(({ outcome }) => outcome),
    ['succeeded'],
  );
});

test('an event waits for an open listener until the dispatcher has passed it', async (t) => {
  const { address, worker, pair, tip, runtime, clock } = await build(t);
  const listener = openListener(t, address, pair);
  await listener.ready;
  clock.advance(1);
  const reasonOf = async (id: string) =>
    (await runtime.traces.ofTip(pair.creatorId, id, 'operator')).missing.find(({ kind }) => kind === 'webhook')?.reason;
  const first = await tip();
  assert.equal(await reasonOf(first.id), 'waiting');
  await worker.pass();
  assert.equal(await reasonOf(first.id), undefined);
  await listener.close();
  await until('it is closed', async () => !(await runtime.webhooks.list(pair.clientId, 'all'))[0]?.listening);
  clock.advance(1);
  const second = await tip();
  await worker.pass();
  assert.equal(await reasonOf(second.id), 'listener_closed');
});

test('texts of a result are cut; what is no result closes the socket', async (t) => {
  const { address, pair, worker, tip, deliveries } = await build(t);
  const listener = openListener(t, address, pair);
  const { endpoint_id: id } = await listener.ready;
  listener.answer = () => ({
    status_code: 500,
    duration_ms: 1e300,
    error: 'e'.repeat(900),
    response_body: 'ก'.repeat(2000),
  });
  await tip();
  await worker.pass();
  const [attempt] = (await deliveries(id))[0]?.attempts ?? [];
  assert.ok(Buffer.byteLength(String(attempt?.response_body)) <= 1026);
  assert.equal(attempt?.error?.length, 300);
  assert.equal(attempt?.duration_ms, 60_000);
  listener.webSocket.close();
  const frames = [
    'x',
    '[]',
    '{"type":"ping"}',
    '{"type":"result"}',
    '{"type":"result","id":"x","status_code":99,"duration_ms":1}',
    '{"type":"result","id":"x","status_code":"200","duration_ms":1}',
    '{"type":"result","id":"x","status_code":null,"duration_ms":1,"error":null}',
    '{"type":"result","id":"x","status_code":200,"duration_ms":-1}',
    `{"type":"result","id":"x","status_code":200,"response_body":"${'x'.repeat(9000)}"}`,
  ];
  for (const frame of frames) {
    const each = openListener(t, address, pair);
    await each.ready;
    each.webSocket.send(frame);
    assert.equal(await each.closed, 4400, frame.slice(0, 80));
  }
  const flood = openListener(t, address, pair);
  await flood.ready;
  for (let i = 0; i < 500; i++) flood.result(`dlv_${i}`);
  assert.equal(await flood.closed, 4400, 'results that nobody asked for');
});

test('texts of a result are stored without what PostgreSQL refuses: a NUL, half an emoji', async (t) => {
  const { address, pair, worker, tip, deliveries } = await build(t);
  const listener = openListener(t, address, pair);
  const { endpoint_id: id } = await listener.ready;
  // Cut after 300, in the middle of the last.
  const texts = { error: `\0${'e'.repeat(298)}😀`, response_body: 'a\0b' };
  listener.answer = () => ({ status_code: 500, duration_ms: 1, ...texts });
  await tip();
  await worker.pass();
  const [attempt] = (await deliveries(id))[0]?.attempts ?? [];
  assert.equal(attempt?.error, `\ufffd${'e'.repeat(298)}\ufffd`);
  assert.equal(attempt?.response_body, 'a\ufffdb');
});

test('security 51: two apps do not see each other; suspension, deletion and the end of an old secret close within a second', async (t) => {
  const { address, pair, worker, tip, clock, runtime } = await build(t);
  const other = await makePair(runtime);
  const owner = await makePair(runtime);
  const owned = await makePair(runtime, { app: await makeApp(runtime, 'Owned', owner.creatorId) });
  const rotated = await makePair(runtime);
  await runtime.apps.rotateSecret(rotated.clientId);
  // Shortly before the end of the old secret: a longer step of the clock would end every listener's session.
  clock.advance(24 * 3_600_000 - 10_000);
  const open = async (each: typeof pair) => {
    const listener = openListener(t, address, each);
    await listener.ready;
    return listener;
  };
  const [mine, theirs, deleted, old] = [await open(pair), await open(other), await open(owned), await open(rotated)];
  await worker.start();
  await tip();
  await mine.waitFor(1);
  await runtime.grants.suspend('app', pair.clientId, clock());
  assert.equal(await mine.closed, 4403);
  assert.equal(await refusedUpgrade(address, basic(pair)), 401);
  await runtime.grants.deleteApp(owner.creatorId, owned.clientId);
  assert.equal(await deleted.closed, 4403);
  clock.advance(10_001);
  assert.equal(await old.closed, 4401);
  assert.equal(await refusedUpgrade(address, basic(rotated)), 401);
  assert.equal(theirs.webSocket.readyState, theirs.webSocket.OPEN);
  assert.deepEqual(theirs.deliveries, []);
});

test('the listener is no one of the ten, ends with its endpoint, and a closing server says so', async (t) => {
  const { address, pair, http, add, call, runtime } = await build(t);
  const listener = openListener(t, address, pair);
  const { endpoint_id: id, secret } = await listener.ready;
  for (let i = 0; i < 10; i++) await add(`http://127.0.0.1:9000/${i}`);
  assert.equal((await call('DELETE', `/${id}`)).statusCode, 204);
  assert.equal(await listener.closed, 1012);
  const again = openListener(t, address, pair);
  assert.notEqual((await again.ready).secret, secret);
  await http.close();
  assert.equal(await again.closed, 1012);
  const [endpoint] = (await runtime.webhooks.list(pair.clientId, 'all')).filter(({ kind }) => kind === 'listener');
  assert.equal(endpoint?.listening, false, 'it is closed in the store before the server is');
});

test('a node that has died loses its listener once its time is over, and only the node with the socket leases', async (t) => {
  const one = await build(t);
  const listener = openListener(t, one.address, one.pair);
  const { endpoint_id: id } = await listener.ready;
  const { runtime: two, clock, worker } = await otherNode(t, one.env);
  let taken = 0;
  const { send } = two.listeners;
  Object.assign(two.listeners, {
    send(sending: Parameters<typeof send>[0]) {
      taken += 1;
      return send(sending);
    },
  });
  await one.tip();
  await worker.pass();
  assert.deepEqual([listener.deliveries, taken], [[], 0], 'the other node has made the delivery, and has not taken it');
  assert.deepEqual(await one.statuses(id), ['pending']);
  await one.worker.pass();
  assert.equal(listener.deliveries.length, 1);
  assert.deepEqual(await one.statuses(id), ['succeeded']);

  clock.advance(29_000);
  await worker.pass();
  assert.equal((await two.webhooks.get(one.pair.clientId, id)).listening, true);
  one.clock.advance(29_000);
  await one.worker.pass();
  clock.advance(29_000);
  await worker.pass();
  assert.equal((await two.webhooks.get(one.pair.clientId, id)).listening, true, 'the node has renewed it');
  clock.advance(2_000);
  await worker.pass();
  assert.equal((await two.webhooks.get(one.pair.clientId, id)).listening, false, 'the node is believed dead');
  await one.worker.pass();
  one.clock.advance(10_000);
  await one.worker.pass();
  assert.equal(await listener.closed, 1012, 'the sleeper notices');
});

test('a newer listener at another node replaces the one here', async (t) => {
  const one = await build(t);
  const older = openListener(t, one.address, one.pair);
  const { endpoint_id: id, secret } = await older.ready;
  const two = await otherNode(t, one.env);
  const newer = openListener(t, await two.listen(), one.pair);
  assert.deepEqual(await newer.ready, { type: 'ready', endpoint_id: id, secret });
  // SQLite has no hints between processes; there the next renewal tells.
  for (const { clock } of [one, two]) clock.advance(10_000);
  await one.worker.pass();
  assert.equal(await older.closed, 4409);
  await one.tip();
  await one.worker.pass();
  await until('the other node sends', async () => {
    await two.worker.pass();
    return newer.deliveries.length === 1;
  });
  assert.deepEqual(older.deliveries, []);
});

/** Another process on the same database, with a clock of its own. */
async function otherNode(t: TestContext, env: Record<string, string>) {
  t.after(() => worker.stop());
  const app = await buildApp(t, env);
  const worker = createWebhookWorker(app.runtime);
  return {
    ...app,
    worker,
    listen: async () => new URL(await app.http.listen({ host: '127.0.0.1', port: 0 })).host,
  };
}

test('a suspended app is closed within a second or two, however long others take to cancel', async (t) => {
  const { address, pair, runtime, clock, worker } = await build(t);
  const other = openListener(t, address, await makeApp(runtime));
  const { endpoint_id } = await other.ready;
  await other.close();
  await until('the close is stored', async () => {
    const sql = 'SELECT id FROM webhook_endpoints WHERE id = $1 AND cancel_at IS NOT NULL';
    return (await runtime.db.get(sql, [endpoint_id])) !== undefined;
  });
  clock.advance(61_000);
  const listener = openListener(t, address, pair);
  await listener.ready;
  const { write } = runtime.db;
  let cancelling = false;
  t.mock.method(runtime.db, 'write', (...args: Parameters<typeof write>) => {
    if (args[0].name !== 'cancelClosed') return write.apply(runtime.db, args);
    cancelling = true;
    return new Promise(() => {});
  });
  await worker.start();
  await until('a cancellation goes on', () => cancelling);
  const stopwatch = startStopwatch();
  await runtime.grants.suspend('app', pair.clientId, clock());
  assert.equal(await Promise.race([listener.closed, sleep(60_000, 'still open', { ref: false })]), 4403);
  assert.ok(stopwatch() < 5_000, `closed after ${stopwatch()} ms`);
});
