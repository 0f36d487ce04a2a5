import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { until } from '../../../../../sdk/test/until.ts';
import { buildApp } from '../../../../test/build-app.ts';
import { makeApp, makeCreator, type Pair } from '../../../../test/factories.ts';
import { startReceiver } from '../../../../test/receiver.ts';
import { connect, listen, socketToken } from '../../../../test/sockets.ts';
import { execute } from '../../../../test/sql.ts';
import { signedInVisitor } from '../../../../test/visitor.ts';
import { buildWebhooks } from '../../../../test/webhooks.ts';
import { eventTypes } from '../../events/index.ts';
import { allScopes } from '../../oauth/index.ts';

type Built = Awaited<ReturnType<typeof buildApp>>;

async function withSandbox<App extends Built>(app: App) {
  const { runtime } = app;
  const developer = await makeCreator(runtime);
  const client = await makeApp(runtime, 'Goal Bot', developer.creatorId);
  const { id, username } = await runtime.sandbox.create(developer.creatorId, 'Trial');
  const tokens = await runtime.sandbox.connect(developer.creatorId, id, client.clientId, allScopes);
  assert.ok(tokens);
  const { access_token: accessToken, refresh_token: refreshToken } = tokens;
  const headers = { authorization: `Bearer ${accessToken}` };
  const pair: Pair = { creatorId: id, username, ...client, accessToken, refreshToken, headers };
  const visitor = await signedInVisitor(app, developer.creatorId);
  const path = `/developers/sandbox/${id}`;
  const send = (request: unknown) => visitor.post(`${path}/send`, { json: JSON.stringify(request) });
  const events = async () =>
    (await runtime.events.after(id, 0, 100)).map(({ body }) => JSON.parse(body) as { type: string; data: Data });
  const happened = async () => textOf((await visitor.get(`${path}/happened`)).body);
  const lastTip = async () => {
    const tip = (await events()).findLast(({ type }) => type === 'tip.created')?.data.tip;
    assert.ok(tip);
    return tip;
  };
  return { ...app, developer, client, pair, id, visitor, path, send, events, happened, lastTip };
}

interface Data {
  readonly tip?: { readonly id: string; readonly name: string; readonly amount: number };
  readonly reason?: string;
}

const setup = async (t: Pick<TestContext, 'after'>) => withSandbox(await buildApp(t));
const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
const tip = (amount = 150.5) => ({ type: 'tip.created', amount, name: 'SOMCHAI', message: 'สวัสดี' });

test('every type of the event table is caused through the console, by the real services', async (t) => {
  const { send, events, runtime, id, client, clock, lastTip } = await setup(t);
  const { screening, overlays } = runtime;
  const hold = (everything: boolean) =>
    screening.change(id, (rules) => ({ ...rules, hold: { ...rules.hold, everything } }));
  const sent = async (request: unknown) => {
    clock.advance(7_000);
    const answer = await send(request);
    assert.equal(answer.statusCode, 303, textOf(answer.body));
  };
  await sent(tip());
  await sent({ type: 'alert.shown', sequence: 1 });
  await sent({ type: 'alert.replayed', sequence: 1 });
  await sent({ type: 'alert.test', amount: 20, display_name: 'ทดสอบ' });
  await sent({ type: 'goal.reached', title: 'A goal' });
  await sent(tip(1));
  await sent({ type: 'alert.skipped', tip_id: (await lastTip()).id });
  await hold(true);
  await sent(tip(2));
  await sent({ type: 'alert.skipped', tip_id: (await lastTip()).id, reason: 'rejected' });
  await sent(tip(3));
  await sent({ type: 'alert.approved', tip_id: (await lastTip()).id });
  await hold(false);
  await overlays.saveSettings(id, { ...(await overlays.get(id)).settings, minimumMinor: 1000 });
  await sent(tip(4));
  await sent({ type: 'alert.skipped', tip_id: (await lastTip()).id, reason: 'below_minimum' });
  await sent({ type: 'tip.voided', tip_id: (await lastTip()).id, reason: 'Refunded' });
  const log = await events();
  const caused = new Set(log.map(({ type }) => type));
  assert.deepEqual(
    Object.keys(eventTypes).filter((type) => !caused.has(type)),
    ['grant.revoked', 'webhook.ping'],
  );
  assert.deepEqual(
    log.filter(({ type }) => type === 'alert.skipped').map(({ data }) => data.reason),
    ['by_creator', 'rejected', 'below_minimum'],
  );
  await sent({ type: 'grant.revoked', client_id: client.clientId });
  assert.deepEqual(await runtime.grants.connections(id), []);
  // The totals are those of a real creator: five tips, of which one is void.
  const { all_time } = await runtime.tips.stats(id);
  assert.deepEqual([all_time.count, all_time.total], [4, 156.5]);
  assert.deepEqual(await runtime.goals.open(id), [], 'a goal that is reached does not stay open');
});

test('what a real creator cannot cause is refused, and nothing is written', async (t) => {
  const { send, events, runtime, developer, lastTip, visitor, path } = await setup(t);
  await send(tip());
  const before = await events();
  const { id: tip_id } = await lastTip();
  const other = await runtime.sandbox.create(developer.creatorId, 'Other');
  const foreign = { ...tip(), creatorId: other.id, app: null, displayName: null };
  const { tip: otherTip } = await runtime.tips.record(foreign);
  for (const request of [
    { type: 'alert.shown', sequence: 2 },
    { type: 'alert.approved', tip_id },
    { type: 'alert.skipped', tip_id, reason: 'rejected' },
    { type: 'alert.skipped', tip_id, reason: 'below_minimum' },
    { type: 'alert.skipped', tip_id: otherTip.id },
    { type: 'alert.approved', tip_id: otherTip.id },
    { type: 'tip.voided', tip_id: otherTip.id },
    { type: 'alert.replayed', sequence: 9 },
    { type: 'grant.revoked', client_id: 'app_01kaxk2t5v7f9sd3n8q6w4y0zr' },
  ]) {
    const answer = await send(request);
    assert.equal(answer.statusCode, 303, JSON.stringify(request));
    assert.match(textOf((await visitor.get(path)).body), /Nothing was sent/, JSON.stringify(request));
  }
  assert.deepEqual(await events(), before);
  assert.equal((await runtime.tips.byId(other.id, otherTip.id)).status, 'recorded');
});

test('a malformed request is refused as the API refuses it, with what was typed', async (t) => {
  const { visitor, path, events } = await setup(t);
  for (const [json, expected] of [
    ['{"type":"tip.created","amount":"5","name":"SOMCHAI"}', /amount must be a number/],
    ['{"type":"tip.created","amount":0.001,"name":"SOMCHAI"}', /amount must have at most two decimals/],
    ['{"type":"tip.created","amount":1000000,"name":"SOMCHAI"}', /amount must be at most 100000/],
    ['{"type":"tip.created","amount":5,"name":"som"}', /name must contain only/],
    ['{"type":"tip.created","amount":5,"name":"AB","sequence":9}', /sequence is not a field of tip.created/],
    ['{"type":"tip.created","amount":5,"name":"AB","message":"\\u0000"}', /must not contain the character NUL/],
    ['{"type":"tip.created","__proto__":{}}', /must not have a field named __proto__/],
    ['{"type":"webhook.ping"}', /type must be one of/],
    ['{"type":"constructor"}', /type must be one of/],
    ['{"type":"alert.skipped","tip_id":"tip_1"}', /tip_id must be the id of a tip/],
    ['{"type":"alert.skipped","tip_id":"tip_01kaxk2t5v7f9sd3n8q6w4y0zr","reason":"voided"}', /reason must be one of/],
    ['[]', /must be an object/],
    ['{', /must be well-formed JSON/],
  ] as const) {
    const answer = await visitor.post(`${path}/send`, { json });
    assert.equal(answer.statusCode, 422, json);
    assert.match(textOf(answer.body), expected, json);
  }
  const form = await visitor.post(`${path}/send`, { type: 'tip.created', amount: 'much', name: 'som', message: 'ok' });
  assert.equal(form.statusCode, 422);
  assert.match(form.body, /id="field-amount-error"/);
  assert.match(form.body, /id="field-name-error"/);
  assert.match(form.body, /value="much"/);
  assert.deepEqual(await events(), []);
});

test('the form sends tips and test alerts of any text and amount', async (t) => {
  const { visitor, path, events } = await setup(t);
  const fields = { name: 'SOMCHAI', display_name: '<b>สม</b>', message: '<script>\r\n"' };
  await visitor.post(`${path}/send`, { type: 'tip.created', amount: '1,234.50', ...fields });
  await visitor.post(`${path}/send`, { type: 'alert.test', amount: '', name: '', display_name: '', message: '' });
  const [first, second] = await events();
  assert.deepEqual([first?.data.tip?.amount, first?.type, second?.type], [1234.5, 'tip.created', 'alert.test']);
  assert.doesNotMatch((await visitor.get(path)).body, /<script>\n"|<b>สม/);
});

test('the limits of a creator hold in the console, and it has one of its own', async (t) => {
  const { send, events, visitor, path, clock, id, http, pair } = await setup(t);
  for (let n = 0; n < 11; n++) await send(tip());
  assert.match(textOf((await visitor.get(path)).body), /a little too fast/);
  assert.equal((await events()).length, 10);
  // What an app records has its own count, that of app and creator.
  const posted = {
    method: 'POST',
    url: '/v1/tips',
    headers: pair.headers,
    payload: { amount: 1, name: 'AB' },
  } as const;
  const codes: number[] = [];
  for (let n = 0; n < 11; n++) codes.push((await http.inject(posted)).statusCode);
  assert.deepEqual([codes.filter((code) => code === 201).length, codes.at(-1)], [10, 429]);
  clock.advance(61_000);
  for (let n = 0; n < 61; n++) await send({ type: 'alert.approved', tip_id: 'tip_01kaxk2t5v7f9sd3n8q6w4y0zr' });
  assert.match(textOf((await visitor.get(path)).body), /a little too fast/);
  await send(tip());
  assert.equal((await events()).length, 20, id);
});

test('looking is limited too, over all consoles of a developer', async (t) => {
  const { visitor, path } = await setup(t);
  const codes = new Set<number>();
  for (let n = 0; n < 301; n++) codes.add((await visitor.get(`${path}/happened`)).statusCode);
  assert.deepEqual([...codes], [200, 429]);
  assert.equal((await visitor.get(path)).statusCode, 429);
});

test('what happened tells of the overlay: waits and why, shown, held, approved, void', async (t) => {
  const { send, happened, runtime, id, lastTip, visitor, path } = await setup(t);
  await send(tip());
  assert.match(await happened(), /No overlay is open/);
  assert.match(await happened(), /No delivery: no webhook is for this type/);
  assert.match(await happened(), /tip.created SOMCHAI ฿150.50 Sequence 1 .* Waits: no overlay is open/);
  await visitor.post(`${path}/choices`, { paused: 'on' });
  assert.match(await happened(), /Waits: no overlay is open Waits: alerts are paused/);
  await send({ type: 'alert.shown', sequence: 1 });
  assert.match(await happened(), /alert.shown Sequence 2 .* tip.created .* Overlay Shown/);
  await visitor.post(`${path}/choices`, { hold_all: 'on' });
  await send(tip(7));
  assert.match(await happened(), /฿7.00 .* held by screening .* Approve Reject Void/);
  await send({ type: 'alert.approved', tip_id: (await lastTip()).id });
  assert.match(await happened(), /alert.approved SOMCHAI ฿7.00 Sequence 4 .* Waits: no overlay is open/);
  assert.match(await happened(), /tip.created SOMCHAI ฿7.00 Sequence 3 .* Held, then approved: see alert.approved/);
  await send({ type: 'tip.voided', tip_id: (await lastTip()).id });
  assert.match(await happened(), /Not shown: voided/);
  assert.equal((await runtime.tips.byId(id, (await lastTip()).id)).status, 'voided');
});

test('what happened tells which sockets are open, and which of them were sent an event', async (t) => {
  const app = await withSandbox(await listen(t));
  const { send, happened, pair, address } = app;
  await send(tip());
  assert.match(await happened(), /No socket and no stream is open/);
  const client = connect(t, address, { token: await socketToken(app, pair) });
  await client.frame(1);
  await until('the connection is listed', async () => /Goal Bot: socket, at sequence 1/.test(await happened()));
  assert.match(await happened(), /No connection that is open now was sent it/, 'it began after the tip');
  await send(tip(2));
  await client.frame(2);
  await until('the second tip is listed as sent', async () => /Goal Bot: sent to 1 of 1/.test(await happened()));
  assert.match(await happened(), /Goal Bot: socket, at sequence 2/);
});

test('what happened tells of each webhook and each attempt', async (t) => {
  const { worker, ...app } = await withSandbox(await buildWebhooks(t));
  const { send, happened, runtime, client, clock } = app;
  const receiver = await startReceiver(t);
  await runtime.webhooks.add(client.clientId, { url: receiver.url, types: ['tip.created'], description: null });
  receiver.answer = (response) => response.writeHead(503).end();
  await send(tip());
  assert.match(await happened(), /Webhooks On its way/);
  await worker.pass();
  await until('the failure is listed', async () =>
    /Goal Bot http:\S+ Pending 1. attempt: .*503.* ms next attempt/.test(await happened()),
  );
  receiver.answer = (response) => response.writeHead(204).end();
  clock.advance(10_000);
  await worker.pass();
  await until('the success is listed', async () =>
    /Goal Bot http:\S+ Delivered 1. attempt.* 2. attempt: 204/.test(await happened()),
  );
});

test('security 41: with many webhooks, tried many times, the console lists fewer events and the newest attempts', async (t) => {
  const { runtime, developer, id, client, visitor, path } = await setup(t);
  const clients = [client];
  for (let n = 0; n < 4; n += 1) {
    clients.push(await makeApp(runtime, `Bot ${n}`, developer.creatorId));
    await runtime.sandbox.connect(developer.creatorId, id, clients.at(-1)?.clientId ?? '', allScopes);
  }
  for (const { clientId } of clients)
    for (let n = 0; n < 10; n += 1)
      await runtime.webhooks.add(clientId, { url: 'https://app.example/hook', types: null, description: null });
  const tipOf = { creatorId: id, app: null, amount: 1, name: 'SOMCHAI', displayName: null, message: null };
  for (let n = 0; n < 20; n += 1) await runtime.tips.record(tipOf);
  const attempt = { at: '2026-11-15T04:00:02.000Z', status_code: 500, duration_ms: 12, error: 'answered 500' };
  await execute(
    runtime.db,
    `INSERT INTO webhook_deliveries
       (creator_id, endpoint_id, event_id, id, event_type, sequence, status, due_at, created_at, attempts)
     SELECT v.creator_id, e.id, v.id, 'dlv_' || v.sequence || e.id, v.type, v.sequence, 'pending', v.created_at,
       v.created_at, $1 FROM events v CROSS JOIN webhook_endpoints e`,
    [JSON.stringify(Array.from({ length: 20 }, () => ({ ...attempt, response_body: 'x' })))],
  );
  const page = (await visitor.get(`${path}/happened`)).body;
  const count = (found: RegExp) => page.match(found)?.length;
  assert.equal(count(/data-key="evt_/g), 4);
  assert.equal(count(/\/deliveries\/dlv_/g), 200);
  assert.deepEqual([count(/>16\. attempt/g), count(/>20\. attempt/g), count(/>15\. attempt/g)], [200, 200, undefined]);
});
