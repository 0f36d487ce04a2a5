import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verifyWebhook } from '@namjai/sdk/webhooks';
import { Webhook } from 'standardwebhooks';
import { buildEndpoints, sentKinds } from '../../../../test/endpoints.ts';
import { makeCreator, makePair } from '../../../../test/factories.ts';
import { type Received, startReceiver } from '../../../../test/receiver.ts';
import { executeAll } from '../../../../test/sql.ts';
import { buildWebhooks } from '../../../../test/webhooks.ts';

const day = 86_400_000;
const types = (requests: readonly Received[]) => requests.map(({ body }) => JSON.parse(body).type);

test('an event arrives over TLS as the stored bytes, signed so that standardwebhooks and the SDK accept it', async (t) => {
  const { add, tip, worker, clock, pair, runtime, deliveries } = await buildWebhooks(t);
  clock.set(Date.now());
  const receiver = await startReceiver(t, { tls: true });
  const { id, secret } = await add(receiver.url);
  const recorded = await tip();
  await worker.pass();
  const [request, ...more] = receiver.requests;
  assert.ok(request);
  assert.equal(more.length, 0);
  const [stored] = await runtime.events.after(pair.creatorId, 0, 1);
  assert.equal(request.body, stored!.body);
  assert.equal(request.headers['content-type'], 'application/json');
  assert.equal(request.headers['webhook-id'], JSON.parse(request.body).id);
  const headers = request.headers as Record<string, string>;
  assert.deepEqual(new Webhook(secret).verify(request.body, headers), JSON.parse(request.body));
  const event = await verifyWebhook({ headers, body: request.body, secret });
  assert.deepEqual(event.data, { tip: recorded });
  assert.throws(() => new Webhook(secret).verify(`${request.body} `, headers));
  const [delivery] = await deliveries(id);
  assert.equal(delivery!.status, 'succeeded');
  assert.equal(delivery!.next_attempt_at, null);
  assert.deepEqual([delivery!.event_id, delivery!.event_type], [event.id, 'tip.created']);
  assert.deepEqual(
    delivery!.attempts.map(({ status_code, error }) => [status_code, error]),
    [[204, null]],
  );
});

test('for 24 hours after a rotation two signatures, then one', async (t) => {
  const { add, call, tip, worker, clock } = await buildWebhooks(t);
  clock.set(Date.now());
  const receiver = await startReceiver(t);
  const { id, secret } = await add(receiver.url);
  const rotated = (await call('POST', `/${id}/rotate-secret`)).json();
  assert.equal(Date.parse(rotated.previous_valid_until), clock() + day);
  await tip();
  await worker.pass();
  const [request] = receiver.requests;
  assert.equal(String(request!.headers['webhook-signature']).split(' ').length, 2);
  for (const live of [secret, rotated.secret])
    new Webhook(live).verify(request!.body, request!.headers as Record<string, string>);
  clock.advance(day);
  await tip();
  await worker.pass();
  const later = receiver.requests[1]!;
  assert.equal(String(later.headers['webhook-signature']).split(' ').length, 1);
  await verifyWebhook({ headers: later.headers, body: later.body, secret: rotated.secret, now: clock });
  await assert.rejects(verifyWebhook({ headers: later.headers, body: later.body, secret, now: clock }));
});

test('a new secret or address holds for the next delivery, also of an endpoint that was just sent to', async (t) => {
  const { add, call, tip, worker, clock } = await buildWebhooks(t);
  clock.set(Date.now());
  const [old, next] = [await startReceiver(t), await startReceiver(t)];
  const { id } = await add(old.url);
  await tip();
  await worker.pass();
  const rotated = (await call('POST', `/${id}/rotate-secret`)).json();
  await tip();
  await worker.pass();
  await call('PATCH', `/${id}`, { url: next.url });
  await tip();
  await worker.pass();
  assert.deepEqual([old.requests.length, next.requests.length], [2, 1]);
  for (const { body, headers } of [old.requests[1]!, next.requests[0]!])
    new Webhook(rotated.secret).verify(body, headers as Record<string, string>);
});

test('only events committed after the creation, of the types asked for, of creators who let the app receive them', async (t) => {
  const { add, tip, worker, runtime, pair, otherApp } = await buildWebhooks(t);
  const [all, alerts, foreign] = [await startReceiver(t), await startReceiver(t), await startReceiver(t)];
  // The clock stands still: what was there before carries the same time.
  await tip();
  await add(all.url);
  await add(alerts.url, { types: ['alert.test'] });
  const stranger = await otherApp();
  await runtime.webhooks.add(stranger.clientId, { url: foreign.url, types: null, description: null });
  const [silent, unconnected] = [await makeCreator(runtime), await makeCreator(runtime)];
  await makePair(runtime, { app: pair, creator: silent, scope: 'tips.read tips.create' });
  const second = await makePair(runtime, { app: pair });

  await tip(pair.creatorId, 'FIRST');
  await tip(silent.creatorId);
  await tip(unconnected.creatorId);
  await tip(second.creatorId, 'SECOND');
  await runtime.alerts.send({ creatorId: pair.creatorId });
  await worker.pass();
  const names = all.requests.map(({ body }) => JSON.parse(body).data).map(({ tip, alert }) => tip?.name ?? alert.type);
  assert.deepEqual(names.sort(), ['FIRST', 'SECOND', 'alert.test']);
  assert.deepEqual(types(alerts.requests), ['alert.test']);
  assert.equal(foreign.requests.length, 0);

  // Who grants it later is heard from then on.
  await makePair(runtime, { app: pair, creator: silent });
  await tip(silent.creatorId, 'LATER');
  await worker.pass();
  assert.deepEqual(
    all.requests.slice(3).map(({ body }) => JSON.parse(body).data.tip.name),
    ['LATER'],
  );
});

test('a ping goes to the pinged endpoint only, whatever it asks for', async (t) => {
  const { add, call, worker, deliveries } = await buildWebhooks(t);
  const [one, two] = [await startReceiver(t), await startReceiver(t)];
  const { id } = await add(one.url, { types: ['tip.created'] });
  await add(two.url);
  const answer = await call('POST', `/${id}/ping`);
  assert.equal(answer.statusCode, 202);
  assert.equal(answer.json().status, 'pending');
  await worker.pass();
  const { id: eventId, created_at, ...event } = JSON.parse(one.requests[0]!.body);
  assert.deepEqual(event, {
    type: 'webhook.ping',
    sequence: null,
    test: false,
    replay: false,
    creator_id: null,
    data: {},
  });
  assert.equal(eventId, answer.json().event_id);
  assert.ok(created_at);
  assert.equal(two.requests.length, 0);
  assert.deepEqual(
    (await deliveries(id)).map(({ id, status }) => [id, status]),
    [[answer.json().id, 'succeeded']],
  );
});

for (const kind of sentKinds)
  test(`${kind}: 410 disables; what happens meanwhile is skipped, and sent after all if it is asked for`, async (t) => {
    const { endpoints, tip, worker, clock } = await buildEndpoints(t, kind);
    const receiver = await startReceiver(t);
    receiver.answer = (response) => response.writeHead(500).end();
    const id = await endpoints.add(receiver.url);
    await tip();
    await worker.pass();
    receiver.answer = (response) => response.writeHead(410).end();
    clock.advance(1000);
    await tip();
    await worker.pass();
    const { enabled, reason } = await endpoints.state(id);
    assert.deepEqual([enabled, reason], [false, 'gone']);
    clock.advance(1000);
    await tip();
    await worker.pass();
    assert.deepEqual((await endpoints.deliveries(id)).map(({ status }) => status).sort(), [
      'failed',
      'skipped',
      'skipped',
    ]);
    clock.advance(10 * day);
    await worker.pass();
    assert.equal(receiver.requests.length, 2, 'nothing goes to a disabled endpoint');
    const [skipped] = await endpoints.deliveries(id, 'skipped');
    await assert.rejects(endpoints.retry(id, skipped?.id ?? ''));
    receiver.answer = (response) => response.writeHead(200).end();
    await endpoints.enable(id, true);
    await worker.pass();
    assert.equal(receiver.requests.length, 2, 'nor what was skipped, by itself');
    await endpoints.retry(id, skipped?.id ?? '');
    await worker.pass();
    assert.equal((await endpoints.deliveries(id, 'succeeded')).length, 1);
  });

test('410 disables; what happens meanwhile is skipped and can be replayed', async (t) => {
  const { add, call, tip, worker, clock, deliveries } = await buildWebhooks(t);
  const receiver = await startReceiver(t);
  receiver.answer = (response) => response.writeHead(500).end();
  const { id } = await add(receiver.url);
  await tip();
  await worker.pass();
  receiver.answer = (response) => response.writeHead(410).end();
  clock.advance(1000);
  await tip();
  await worker.pass();
  const off = (await call('GET', `/${id}`)).json();
  assert.deepEqual([off.enabled, off.disabled_reason], [false, 'gone']);
  clock.advance(1000);
  await tip();
  await call('POST', `/${id}/ping`);
  await worker.pass();
  assert.deepEqual((await deliveries(id)).map(({ status }) => status).sort(), [
    'failed',
    'skipped',
    'skipped',
    'skipped',
  ]);
  assert.deepEqual(
    (await deliveries(id, '?status=skipped')).length,
    3,
    'the ping, the tip, and the retry that was pending',
  );
  clock.advance(10 * day);
  await worker.pass();
  assert.equal(receiver.requests.length, 2, 'nothing goes to a disabled endpoint');
  const span = { from: new Date(clock() - 20 * day).toISOString(), to: new Date(clock()).toISOString() };
  assert.equal((await call('POST', `/${id}/replay`, span)).statusCode, 422);

  receiver.answer = (response) => response.writeHead(200).end();
  await call('PATCH', `/${id}`, { enabled: true });
  const replay = await call('POST', `/${id}/replay`, span);
  assert.deepEqual([replay.statusCode, replay.json()], [202, { queued: 3, next_from: null }]);
  await worker.pass();
  assert.deepEqual(types(receiver.requests.slice(2)), ['tip.created', 'tip.created', 'tip.created']);
  assert.equal((await deliveries(id, '?status=succeeded')).length, 3);
  const partly = { from: span.from, to: (await deliveries(id)).at(-1)!.created_at };
  assert.deepEqual((await call('POST', `/${id}/replay`, partly)).json(), { queued: 1, next_from: null });
});

for (const kind of sentKinds)
  test(`${kind}: attempts but no success for five days disable it, with a warning a day ahead; enabling starts the count anew`, async (t) => {
    const { endpoints, tip, worker, clock, runtime } = await buildEndpoints(t, kind);
    const receiver = await startReceiver(t);
    receiver.answer = (response) => response.writeHead(500).end();
    const id = await endpoints.add(receiver.url);
    const started = clock();
    const at = async (days: number) => {
      clock.set(started + days * day);
      await tip();
      await worker.pass();
      await runtime.webhooks.disableFailing();
      const { enabled, reason, disablesAt } = await endpoints.state(id);
      return [enabled, reason, disablesAt];
    };
    assert.deepEqual(await at(0), [true, null, null]);
    assert.deepEqual(await at(3.99), [true, null, null]);
    const end = new Date(started + 5 * day).toISOString();
    assert.deepEqual(await at(4), [true, null, end]);
    assert.deepEqual(await at(4.99), [true, null, end]);
    assert.deepEqual(await at(5), [false, 'failing', null]);
    await endpoints.enable(id, true);
    assert.deepEqual(await at(9.9), [true, null, null]);
    receiver.answer = (response) => response.writeHead(200).end();
    assert.deepEqual(await at(10), [true, null, null]);
    receiver.answer = (response) => response.writeHead(500).end();
    assert.deepEqual(await at(14.9), [true, null, null]);
    assert.deepEqual(await at(14.95), [true, null, null], 'a success started the count anew');
  });

for (const kind of sentKinds)
  test(`${kind}: retry of one sends it now, also one that has succeeded`, async (t) => {
    const { endpoints, tip, worker } = await buildEndpoints(t, kind);
    const receiver = await startReceiver(t);
    receiver.answer = (response) => response.writeHead(500).end();
    const id = await endpoints.add(receiver.url);
    await tip();
    await worker.pass();
    receiver.answer = (response) => response.writeHead(200).end('thanks');
    for (const attempts of [2, 3]) {
      const [{ id: delivery } = { id: '' }] = await endpoints.deliveries(id);
      await endpoints.retry(id, delivery);
      assert.equal((await endpoints.deliveries(id))[0]?.status, 'pending');
      await worker.pass();
      const [after] = await endpoints.deliveries(id);
      assert.equal(after!.status, 'succeeded');
      assert.equal(after!.attempts.length, attempts);
      assert.equal(after!.attempts.at(-1)!.response_body, 'thanks');
    }
    await assert.rejects(endpoints.retry(id, 'dlv_unknown'));
  });

for (const kind of sentKinds)
  test(`${kind}: a retry while an attempt is under way sends it again at once if that fails, not if it succeeds`, async (t) => {
    const { endpoints, tip, worker, clock } = await buildEndpoints(t, kind);
    const receiver = await startReceiver(t);
    const id = await endpoints.add(receiver.url);
    await tip();
    receiver.answer = (response) => response.writeHead(500).end();
    for (let attempts = 1; attempts < 10; attempts++) {
      await worker.pass();
      clock.advance(2 * day);
    }
    for (const [status, sent, left] of [
      [500, 10, 'pending'],
      [200, 11, 'succeeded'],
    ] as const) {
      const asked = Promise.withResolvers<() => void>();
      receiver.answer = (response) => asked.resolve(() => response.writeHead(status).end());
      const sending = worker.pass();
      const answer = await asked.promise;
      const [{ id: delivery } = { id: '' }] = await endpoints.deliveries(id);
      await endpoints.retry(id, delivery);
      receiver.answer = (response) => response.writeHead(500).end();
      answer();
      await sending;
      const [after] = await endpoints.deliveries(id);
      assert.deepEqual([after?.attempts.length, after?.status], [sent, left]);
    }
    await worker.pass();
    assert.equal(receiver.requests.length, 11);
  });

test('when a grant ends its deliveries are cancelled for good, its bodies hidden, and the app is told', async (t) => {
  const { add, call, tip, worker, clock, runtime, pair, deliveries } = await buildWebhooks(t);
  const receiver = await startReceiver(t);
  const { id } = await add(receiver.url);
  await add(receiver.url, { types: ['tip.created'] });
  await call('PATCH', `/${id}`, { types: null });
  await tip();
  await worker.pass();
  const [sent] = await deliveries(id);
  receiver.answer = (response) => response.writeHead(500).end();
  await tip();
  await worker.pass();
  await tip();
  const { deliveries: log } = runtime.webhooks;
  assert.match((await log.withBody(pair.clientId, id, sent!.id)).body ?? '', /"tip\.created"/);

  receiver.requests.length = 0;
  receiver.answer = (response) => response.writeHead(200).end();
  await runtime.grants.revoke(pair.creatorId, pair.clientId, 'creator');
  const statuses = () => deliveries(id).then((list) => list.map(({ event_type, status }) => `${event_type} ${status}`));
  assert.deepEqual(
    (await statuses()).sort(),
    ['grant.revoked pending', 'tip.created cancelled', 'tip.created succeeded'],
    'at once',
  );
  clock.advance(day);
  await worker.pass();
  assert.deepEqual(types(receiver.requests), ['grant.revoked']);
  const event = JSON.parse(receiver.requests[0]!.body);
  assert.deepEqual([event.sequence, event.data], [null, { creator_id: pair.creatorId, reason: 'creator' }]);
  assert.equal((await log.withBody(pair.clientId, id, sent!.id)).body, null);
  for (const delivery of await deliveries(id))
    if (delivery.event_type === 'tip.created')
      assert.equal((await call('POST', `/${id}/deliveries/${delivery.id}/retry`)).statusCode, 422);
  const span = { from: '2026-11-01', to: '2026-11-30' };
  assert.deepEqual(
    (await call('POST', `/${id}/replay`, span)).json(),
    { queued: 1, next_from: null },
    'grant.revoked alone',
  );

  // A new grant revives nothing old.
  await worker.pass();
  await makePair(runtime, { app: pair, creator: pair });
  assert.deepEqual((await call('POST', `/${id}/replay`, span)).json(), { queued: 1, next_from: null });
  assert.equal((await log.withBody(pair.clientId, id, sent!.id)).body, null);
});

test('a grant that loses events.subscribe cancels what is pending; its end is then told to nobody', async (t) => {
  const { add, tip, worker, clock, runtime, pair, deliveries } = await buildWebhooks(t);
  const receiver = await startReceiver(t);
  receiver.answer = (response) => response.writeHead(500).end();
  const { id } = await add(receiver.url);
  await tip();
  await worker.pass();
  await makePair(runtime, { app: pair, creator: pair, scope: 'tips.read' });
  assert.deepEqual(
    (await deliveries(id)).map(({ status }) => status),
    ['cancelled'],
  );
  await tip();
  await runtime.grants.revoke(pair.creatorId, pair.clientId, 'operator');
  clock.advance(day);
  await worker.pass();
  assert.equal(receiver.requests.length, 1);
});

for (const kind of sentKinds)
  test(`${kind}: while app or creator is suspended deliveries wait; restoring sends them`, async (t) => {
    const { endpoints, tip, worker, clock, runtime, pair } = await buildEndpoints(t, kind);
    const receiver = await startReceiver(t);
    await endpoints.add(receiver.url);
    const { grants } = runtime;
    for (const [sent, suspend] of [
      ...(kind === 'http' ? [(at: number | null) => grants.suspend('app', pair.clientId, at)] : []),
      (at: number | null) => grants.suspend('creator', pair.creatorId, at),
    ].entries()) {
      await tip();
      await suspend(clock());
      await worker.pass();
      clock.advance(3_600_000);
      await worker.pass();
      assert.equal(receiver.requests.length, sent);
      await suspend(null);
      clock.advance(60_000);
      await worker.pass();
      assert.equal(receiver.requests.length, sent + 1);
    }
  });

for (const kind of sentKinds)
  test(`${kind}: deliveries are forgotten after 30 days, and with their endpoint`, async (t) => {
    const { endpoints, tip, worker, clock, runtime } = await buildEndpoints(t, kind);
    const receiver = await startReceiver(t);
    const [id, gone] = [await endpoints.add(receiver.url), await endpoints.add(receiver.url)];
    await tip();
    await worker.pass();
    clock.advance(30 * day - 1);
    await tip();
    await worker.pass();
    await endpoints.remove(gone);
    await runtime.webhooks.prune();
    assert.equal((await endpoints.deliveries(id)).length, 2);
    clock.advance(2);
    await runtime.webhooks.prune();
    assert.equal((await endpoints.deliveries(id)).length, 1);
    const left = await runtime.db.all('SELECT id FROM webhook_deliveries WHERE endpoint_id = $1', [gone]);
    assert.equal(left.length, 0);
  });

test('security 39: a look for a status reads a bounded part of the log, and its cursor goes on from there', async (t) => {
  const { add, call, tip, worker, runtime, clock } = await buildWebhooks(t);
  const receiver = await startReceiver(t);
  const { id } = await add(receiver.url);
  await tip();
  await worker.pass();
  // 2,500 more that succeeded, and the oldest of all failed.
  await executeAll(
    runtime.db,
    [`UPDATE webhook_deliveries SET status = 'failed' WHERE endpoint_id = $1`, [id]],
    [
      `WITH RECURSIVE n(i) AS (SELECT CAST($4 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < $3)
       INSERT INTO webhook_deliveries (creator_id, endpoint_id, event_id, id, event_type, status, created_at)
       SELECT '', $1, 'evt_' || i, 'dlv_z' || (10000 + i), 'tip.created', 'succeeded', $2 FROM n`,
      [id, clock(), 2_500, 1],
    ],
  );
  const all = t.mock.method(runtime.db, 'all');
  const pages: number[] = [];
  for (let cursor = ''; ; ) {
    const page = (await call('GET', `/${id}/deliveries?status=failed${cursor}`)).json();
    pages.push(page.data.length);
    if (page.next_cursor === null) break;
    cursor = `&cursor=${page.next_cursor}`;
  }
  assert.deepEqual(pages, [0, 0, 1]);
  for (const { arguments: args } of all.mock.calls) assert.match(String(args[0]), /id >= \$3|webhook_endpoints/);
  all.mock.restore();
  assert.equal((await call('GET', `/${id}/deliveries?limit=100`)).json().data.length, 100);
});

test('security 39: pages of long answers are read as far as they are shown, one at a time, and leave none out', async (t) => {
  const { add, call, runtime, clock } = await buildWebhooks(t);
  const { id } = await add((await startReceiver(t)).url);
  const answer = { at: '2026-11-15T00:00:00.000Z', status_code: 500, duration_ms: 1, error: null };
  const attempts = (length: number) => JSON.stringify([{ ...answer, response_body: '\u{fffd}'.repeat(length) }]);
  const insert = `WITH RECURSIVE n(i) AS (SELECT CAST($4 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < $3)
     INSERT INTO webhook_deliveries (creator_id, endpoint_id, event_id, id, event_type, status, created_at, attempts)
     SELECT '', $1, 'evt_' || i, 'dlv_z' || (10000 + i), 'tip.created', 'failed', $2, $5 FROM n`;
  await executeAll(
    runtime.db,
    [insert, [id, clock(), 98, 1, attempts(4_000)]],
    // Each of these is longer than a page.
    [insert, [id, clock(), 100, 99, attempts(30_000)]],
  );
  const read: number[] = [];
  let [reading, most] = [0, 0];
  let [inIteration, mostInIteration] = [0, 0];
  const { all } = runtime.db;
  t.mock.method(runtime.db, 'all', async (...args: Parameters<typeof all>) => {
    if (!String(args[0]).includes('OCTET_LENGTH(attempts)')) return all(...args);
    reading += 1;
    most = Math.max(most, reading);
    if (inIteration === 0) setImmediate(() => (inIteration = 0));
    inIteration += 1;
    mostInIteration = Math.max(mostInIteration, inIteration);
    const rows = await all(...args).finally(() => (reading -= 1));
    read.push(rows.length);
    return rows;
  });
  const ids: string[] = [];
  for (let cursor = ''; ; ) {
    const page = (await call('GET', `/${id}/deliveries?limit=100${cursor}`)).json();
    ids.push(...page.data.map((delivery: { id: string }) => delivery.id));
    if (page.next_cursor === null) break;
    cursor = `&cursor=${page.next_cursor}`;
  }
  assert.equal(new Set(ids).size, 100, 'each once');
  assert.equal(ids.length, 100);
  assert.deepEqual(ids, ids.toSorted().reverse());
  assert.ok(read.length > 3 && Math.max(...read) < 30, `${read}`);
  const atOnce = await Promise.all(Array.from({ length: 20 }, () => call('GET', `/${id}/deliveries?limit=100`)));
  assert.ok(atOnce.every(({ statusCode }) => statusCode === 200));
  assert.equal(most, 1);
  // The next iteration may read its page before it resets the count.
  assert.ok(mostInIteration <= 2, `${mostInIteration} pages in one iteration of the event loop`);
});
