import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { makeApp, makePair, type Pair } from '../../../test/factories.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { missingTexts, readTrace, sendTip, stepTexts } from '../../../test/trace.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { buildWebhooks } from '../../../test/webhooks.ts';
import { traceLines } from './lines.ts';
import type { Trace } from './schemas.ts';

const [second, hour, day] = [1000, 3_600_000, 86_400_000];

async function open(t: TestContext) {
  const app = await buildWebhooks(t);
  const receiver = await startReceiver(t);
  /** Sends what is due, until nothing is. */
  const pass = async (afterMs = 0) => {
    app.clock.advance(afterMs);
    await app.worker.pass();
  };
  return {
    ...app,
    receiver,
    pass,
    send: (pair: Pair = app.pair) => sendTip(app, pair),
    trace: (id: string, pair: Pair = app.pair) => readTrace(app, pair, id),
  };
}

const attempts = ({ steps }: Trace) => steps.flatMap((step) => (step.kind === 'webhook' ? [step] : []));
const webhookMissing = ({ missing }: Trace) => missing.filter(({ kind }) => kind === 'webhook');

test('each attempt of a webhook is a step: a failure with the time of the next, then the success', async (t) => {
  const { add, receiver, pass, send, trace, clock } = await open(t);
  const { id: webhook } = await add(receiver.url);
  receiver.answer = (response) => response.writeHead(503).end('secret words of the receiver');
  clock.advance(second);
  const { id } = await send();
  assert.deepEqual(missingTexts(await trace(id)), ['overlay no_overlay', 'webhook waiting']);
  await pass();
  const failed = await trace(id);
  const [first] = attempts(failed);
  const next = new Date(clock() + 5 * second).toISOString();
  const { delivery_id, event_id, duration_ms, ...detail } = first?.detail ?? {};
  assert.deepEqual(
    { ...first, detail },
    {
      at: new Date(clock()).toISOString(),
      kind: 'webhook',
      outcome: 'failed',
      detail: {
        webhook_id: webhook,
        event_type: 'tip.created',
        attempt: 1,
        status_code: 503,
        error: 'answered 503',
        next_attempt_at: next,
      },
    },
  );
  assert.match(`${delivery_id} ${event_id}`, /^dlv_\w+ evt_\w+$/);
  assert.deepEqual(webhookMissing(failed), []);
  assert.doesNotMatch(JSON.stringify(failed), /secret words/);
  receiver.answer = (response) => response.writeHead(204).end();
  await pass(5 * second);
  assert.deepEqual(
    attempts(await trace(id)).map(({ outcome, detail }) => [outcome, detail.attempt, detail.next_attempt_at]),
    [
      ['failed', 1, null],
      ['succeeded', 2, null],
    ],
  );
});

test('a webhook that fails to the end, and one whose receiver does not answer', async (t) => {
  const { add, receiver, pass, send, trace } = await open(t);
  const silent = await startReceiver(t);
  silent.answer = (response) => response.destroy();
  receiver.answer = (response) => response.writeHead(500).end();
  const { id: webhook } = await add(receiver.url);
  const { id: other } = await add(silent.url);
  const { id } = await send();
  for (let i = 0; i < 10; i++) await pass(i === 0 ? 0 : day);
  const found = attempts(await trace(id));
  const own = found.filter(({ detail }) => detail.webhook_id === webhook);
  assert.deepEqual([own.length, own.at(-1)?.outcome, own.at(-1)?.detail.next_attempt_at], [10, 'failed', null]);
  const none = found.find(({ detail }) => detail.webhook_id === other);
  assert.equal(none?.detail.status_code, null);
  assert.match(String(none?.detail.error), /\w/);
});

test('why a webhook got nothing: switched off, other types, added later, disconnected', async (t) => {
  const { add, call, receiver, pass, send, trace, clock, runtime, pair } = await open(t);
  const off = (await add(receiver.url)).id;
  // Ids of one millisecond are in no order.
  clock.advance(second);
  const others = (await add(receiver.url, { types: ['goal.reached'] })).id;
  clock.advance(second);
  const disabledAt = new Date(clock()).toISOString();
  assert.equal((await call('PATCH', `/${off}`, { enabled: false })).statusCode, 200);
  clock.advance(second);
  const { id } = await send();
  await pass();
  clock.advance(second);
  const late = (await add(receiver.url)).id;
  const addedAt = new Date(clock()).toISOString();
  const why = webhookMissing(await trace(id)).map(({ webhook_id, reason, since }) => [webhook_id, reason, since]);
  assert.deepEqual(why, [
    [off, 'disabled', disabledAt],
    [others, 'type_not_chosen', null],
    [late, 'added_later', addedAt],
  ]);
  assert.deepEqual(receiver.requests, []);

  const waiting = await startReceiver(t);
  waiting.answer = (response) => response.writeHead(500).end();
  const { id: retried } = await add(waiting.url);
  clock.advance(second);
  const second_ = await send();
  await pass();
  await runtime.grants.revoke(pair.creatorId, pair.clientId, 'creator');
  const endedAt = new Date(clock()).toISOString();
  await pass(hour);
  const cancelled = webhookMissing(await trace(second_.id)).find(({ webhook_id }) => webhook_id === retried);
  assert.deepEqual([cancelled?.reason, cancelled?.since], ['grant_ended', endedAt]);
});

test('a receiver that answers 410 is switched off by that attempt, and later tips say since when', async (t) => {
  const { add, receiver, pass, send, trace, clock } = await open(t);
  const { id: webhook } = await add(receiver.url);
  receiver.answer = (response) => response.writeHead(410).end();
  const first = await send();
  await pass();
  const goneAt = new Date(clock()).toISOString();
  assert.deepEqual(stepTexts(await trace(first.id)).at(-1), 'webhook failed 410');
  clock.advance(hour);
  const later = await send();
  await pass();
  const [why] = webhookMissing(await trace(later.id));
  assert.deepEqual([why?.webhook_id, why?.reason, why?.since], [webhook, 'disabled', goneAt]);
});

test('the trace of an app without the right to receive events says so', async (t) => {
  const { add, receiver, send, runtime, pair, http } = await open(t);
  await add(receiver.url);
  await runtime.grants.revoke(pair.creatorId, pair.clientId, 'creator');
  const reading = await makePair(runtime, { creator: pair, app: pair, scope: 'tips.read' });
  const { id } = await send(await makePair(runtime, { creator: pair }));
  const answer = await http.inject({ url: `/v1/tips/${id}/trace`, headers: reading.headers });
  assert.deepEqual(missingTexts(answer.json()), ['overlay no_overlay', 'webhook not_permitted']);
});

test('every pair of readers: an app sees its own deliveries and its own request, the creator all without addresses', async (t) => {
  const { receiver, pass, clock, runtime, http, ...app } = await open(t);
  const creator = app.pair;
  const owner = await makePair(runtime);
  const names = ['Alpha', 'Beta', 'Gamma'];
  const apps = await Promise.all(
    names.map(async (name) => makePair(runtime, { creator, app: await makeApp(runtime, name, owner.creatorId) })),
  );
  receiver.answer = (response) => response.writeHead(500).end();
  const hooks: string[] = [];
  for (const [i, pair] of apps.entries()) {
    const url = `${receiver.url}/secret-path-of-${names[i]}`;
    hooks.push((await app.call('POST', '', { url }, pair)).json().id);
  }
  const stranger = await makePair(runtime, { app: apps[0] ?? creator });
  clock.advance(second);
  const sent = await Promise.all(apps.map((pair) => sendTip({ ...app, runtime, clock, http }, pair)));
  await pass();
  const whole = { ...app, runtime, clock, http };
  for (const [i, reader] of apps.entries())
    for (const [j, tip] of sent.entries()) {
      const found = await readTrace(whole, reader, tip.id);
      const text = JSON.stringify(found);
      assert.equal(text.includes(hooks[i] ?? ''), true, `${names[i]} sees its own webhook`);
      for (const k of [0, 1, 2].filter((each) => each !== i)) {
        assert.ok(!text.includes(hooks[k] ?? ''), `${names[i]} sees nothing of ${names[k]}'s webhook`);
        assert.ok(!text.includes(sent[k]?.requestId ?? ''), `${names[i]} sees no request of ${names[k]}`);
      }
      assert.equal(text.includes(tip.requestId), i === j);
    }
  const visitor = await signedInVisitor(whole, creator.creatorId);
  for (const tip of sent) {
    const answer = await http.inject({ url: `/v1/tips/${tip.id}/trace`, headers: stranger.headers });
    assert.equal(answer.statusCode, 404, 'the same app for another creator');
    const page = await visitor.get(`/dashboard/tips/${tip.id}`);
    for (const name of names) assert.ok(page.body.includes(name), `the creator sees ${name}`);
    assert.ok(page.body.includes(tip.requestId));
    assert.doesNotMatch(page.body, /secret-path|127\.0\.0\.1|answered 500/);
    const operator = await runtime.traces.ofTip(creator.creatorId, tip.id, 'operator');
    for (const name of names) assert.ok(JSON.stringify(operator).includes(`secret-path-of-${name}`), name);
  }
  const other = await signedInVisitor(whole, stranger.creatorId);
  assert.equal((await other.get(`/dashboard/tips/${sent[0]?.id}`)).statusCode, 404);
});

test('an event is found by its id: the tip that it is about, or what became of a test alert', async (t) => {
  const { add, receiver, pass, clock, runtime, http, pair, send } = await open(t);
  await add(receiver.url);
  clock.advance(second);
  const { id } = await send();
  await http.inject({ method: 'POST', url: '/v1/alerts', headers: pair.headers });
  await pass();
  const events = (await runtime.events.after(pair.creatorId, 0, 10)).map(({ body }) => JSON.parse(body));
  const of = (type: string) => String(events.find((event) => event.type === type)?.id);
  assert.equal(await runtime.traces.creatorOf(of('tip.created')), pair.creatorId);
  assert.equal((await runtime.traces.ofEvent(pair.creatorId, of('tip.created'), 'creator')).id, id);
  const alert = await runtime.traces.ofEvent(pair.creatorId, of('alert.test'), 'creator');
  assert.deepEqual(
    alert.steps.map(({ kind, outcome }) => [kind, outcome]),
    [
      ['event', null],
      ['webhook', 'succeeded'],
    ],
  );
  assert.deepEqual(
    alert.missing.map(({ reason }) => reason),
    ['no_overlay'],
  );
  assert.match(traceLines(alert).join('\n'), /not at all +Overlay +No overlay was open then\./);
  const rehearsed = { creatorId: pair.creatorId, type: 'alert.replayed', test: true, replay: true } as const;
  await runtime.events.append(rehearsed, { tip: await runtime.tips.byId(pair.creatorId, id) });
  await pass();
  const [replayed] = (await runtime.events.after(pair.creatorId, 2, 1)).map(({ body }) => JSON.parse(body));
  const rehearsal = await runtime.traces.ofEvent(pair.creatorId, replayed.id, 'creator');
  assert.deepEqual(
    [rehearsal.tip, rehearsal.steps.map(({ kind }) => kind)],
    [null, ['event', 'webhook']],
    'a rehearsal is no part of the tip',
  );
  const other = await makePair(runtime);
  for (const [creatorId, event] of [
    [other.creatorId, of('alert.test')],
    [pair.creatorId, 'evt_unknown'],
    [pair.creatorId, runtime.newId('evt')],
  ] as const)
    await assert.rejects(runtime.traces.ofEvent(creatorId, event, 'operator'), /There is no tip or event/);
});
