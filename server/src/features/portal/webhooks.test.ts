import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { verifyWebhook } from '@namjai/sdk/webhooks';
import { until } from '../../../../sdk/test/until.ts';
import { makeApp, makeCreator, makePair } from '../../../test/factories.ts';
import { openListener } from '../../../test/listeners.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { execute } from '../../../test/sql.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { buildWebhooks } from '../../../test/webhooks.ts';
import { hashSecret } from '../../platform/secrets.ts';

async function setup(t: Pick<TestContext, 'after'>) {
  const app = await buildWebhooks(t);
  const developer = await makeCreator(app.runtime);
  const own = await makeApp(app.runtime, 'Goal Bot', developer.creatorId);
  const creator = await makePair(app.runtime, { app: own });
  const visitor = await signedInVisitor(app, developer.creatorId);
  const path = `/developers/apps/${own.clientId}/webhooks`;
  const receiver = await startReceiver(t);
  return { ...app, developer, own, creator, visitor, path, receiver };
}

const secretIn = (body: string) => /whsec_[A-Za-z0-9+/]{43}(=|&#61;)/.exec(body)?.[0]?.replace('&#61;', '=');

test('a developer adds a webhook, sees its secret once, pings it and reads what came back', async (t) => {
  const { visitor, path, receiver, worker, runtime, own, clock } = await setup(t);
  assert.match((await visitor.get(path)).body, /No webhook yet/);
  const made = await visitor.post(path, { url: receiver.url, 'type.tip.created': 'on', description: 'Bot <b>' });
  assert.equal(made.statusCode, 201);
  const secret = secretIn(made.body);
  assert.ok(secret);
  assert.equal(made.headers['cache-control'], 'no-store');
  const [webhook] = await runtime.webhooks.list(own.clientId);
  assert.deepEqual([webhook!.types, webhook!.description], [['tip.created'], 'Bot <b>']);
  const page = `${path}/${webhook!.id}`;
  assert.equal(secretIn((await visitor.get(page)).body), undefined);
  assert.match((await visitor.get(path)).body, /Bot &#60;b&#62;/);

  receiver.answer = (response) => response.writeHead(200).end('<script>alert(1)</script>');
  assert.equal((await visitor.post(`${page}/ping`)).headers.location, page);
  await worker.pass();
  const [request] = receiver.requests;
  await verifyWebhook({ headers: request!.headers, body: request!.body, secret, now: clock });
  const list = await visitor.get(page);
  assert.match(list.body, /webhook\.ping[\s\S]*Succeeded/);
  const link = /href="([^"]+\/deliveries\/dlv_[^"]+)"/.exec(list.body)?.[1];
  const detail = await visitor.get(link ?? '');
  assert.match(detail.body, /Answered 200 after \d+ ms/);
  assert.match(detail.body, /&#60;script&#62;alert\(1\)/);
  assert.ok(detail.body.includes(JSON.parse(request!.body).id), 'what was sent');
  await visitor.post(`${link}/retry`);
  await worker.pass();
  assert.equal(receiver.requests.length, 2);
});

test('an address that cannot be used is refused beside its field, in the reader’s language, and kept', async (t) => {
  const { visitor, path, runtime, own } = await setup(t);
  const page = await visitor.post(path, { url: 'https://10.0.0.1/hook', description: 'kept' });
  assert.equal(page.statusCode, 422);
  assert.match(page.body, /The address must be public/);
  assert.match(page.body, /value="https:\/\/10\.0\.0\.1\/hook"/);
  assert.match(page.body, /value="kept"/);
  const thai = await visitor.post(path, { url: 'ftp://x.example' }, { 'accept-language': 'th' });
  assert.match(thai.body, /ที่อยู่ต้องขึ้นต้นด้วย https/);
  assert.equal(
    (await visitor.post(path, { url: 'https://receiver.test', description: 'x'.repeat(201) })).statusCode,
    422,
  );
  assert.deepEqual(await runtime.webhooks.list(own.clientId), []);
  for (let i = 0; i < 10; i++) await visitor.post(path, { url: 'https://receiver.test' });
  assert.match((await visitor.post(path, { url: 'https://receiver.test' })).body, /at most 10 webhooks/);
});

test('it is switched off and on, changed, given a new secret and removed', async (t) => {
  const { visitor, path, runtime, own, receiver } = await setup(t);
  const { id, secret } = await runtime.webhooks.add(own.clientId, {
    url: receiver.url,
    types: null,
    description: null,
  });
  const page = `${path}/${id}`;
  const now = () => runtime.webhooks.get(own.clientId, id);
  await visitor.post(`${page}/disable`);
  assert.equal((await now()).enabled, false);
  assert.match((await visitor.get(page)).body, /It is switched off/);
  await visitor.post(`${page}/enable`);
  assert.equal((await now()).enabled, true);
  await visitor.post(page, { url: 'https://receiver.test/new', 'type.alert.test': 'on' });
  assert.deepEqual([(await now()).url, (await now()).types], ['https://receiver.test/new', ['alert.test']]);
  const rotated = await visitor.post(`${page}/secret`);
  assert.ok(secretIn(rotated.body));
  assert.notEqual(secretIn(rotated.body), secret);
  await visitor.post(`${page}/delete`);
  assert.deepEqual(await runtime.webhooks.list(own.clientId), []);
});

test('a span of deliveries is sent again, by the platform’s clock and to the last minute', async (t) => {
  const { visitor, path, runtime, own, receiver, creator, tip, worker, clock } = await setup(t);
  const { id } = await runtime.webhooks.add(own.clientId, { url: receiver.url, types: null, description: null });
  const page = `${path}/${id}`;
  clock.advance(30_000);
  for (const name of ['MALI', 'NOK', 'SOMCHAI']) {
    await tip(creator.creatorId, name);
    await worker.pass();
    clock.advance(60_000);
  }
  assert.equal(receiver.requests.length, 3);
  const shown = await visitor.get(page);
  const value = (name: string) => new RegExp(`id="replay-${name}"[^>]* value="([^"]*)"`).exec(shown.body)?.[1];
  assert.deepEqual([value('from'), value('to')], ['2026-11-14T11:03', '2026-11-15T11:03'], 'the last 24 hours');
  assert.match(shown.body, /In the time zone Asia\/Bangkok/);

  const replay = async (from: string, to: string) => {
    const answer = await visitor.post(`${page}/replay`, { from, to });
    assert.equal(answer.headers.location, page, answer.body);
    await worker.pass();
    return (await visitor.get(page)).body;
  };
  assert.match(await replay('2026-11-15T11:01', '2026-11-15T11:02'), /On their way again: 2\./);
  const names = receiver.requests.slice(3).map(({ body }) => JSON.parse(body).data.tip.name);
  assert.deepEqual(names.sort(), ['NOK', 'SOMCHAI']);
  assert.match(await replay('2026-11-14T11:00', '2026-11-15T10:59'), /nothing in that span/);
  assert.equal(receiver.requests.length, 5);
  await runtime.webhooks.change(own.clientId, id, { enabled: false });
  assert.match(await replay('2026-11-14T11:00', '2026-11-15T11:03'), /notice error[\s\S]*Switch the webhook on/);
  assert.equal(receiver.requests.length, 5);
});

test('a span that is none is refused beside its field, in the reader’s language, and kept', async (t) => {
  const { visitor, path, runtime, own, receiver } = await setup(t);
  const { id } = await runtime.webhooks.add(own.clientId, { url: receiver.url, types: null, description: null });
  const error = (body: string, name: string) => new RegExp(`id="replay-${name}-error">([^<]*)<`).exec(body)?.[1];
  const [good, bad] = ['2026-11-15T11:00', '2026-02-30T11:00'];
  for (const [from, to, ...errors] of [
    ['', bad, 'Give a date and a time.', 'Give a date and a time.'],
    [good, 'tomorrow', undefined, 'Give a date and a time.'],
    [good, '2026-11-15T10:59', 'This must not be after the end.', undefined],
  ] as const) {
    const { statusCode, body } = await visitor.post(`${path}/${id}/replay`, { from, to });
    assert.deepEqual([statusCode, error(body, 'from'), error(body, 'to')], [422, ...errors]);
    for (const typed of [from, to]) assert.ok(body.includes(`value="${typed}"`), typed);
  }
  const thai = await visitor.post(`${path}/${id}/replay`, { from: good, to: '' }, { 'accept-language': 'th' });
  assert.equal(error(thai.body, 'to'), 'กรุณาระบุวันที่และเวลา');
});

test('the owner is warned a day before a failing webhook is switched off', async (t) => {
  const { visitor, path, runtime, own, receiver, creator, tip, worker, clock } = await setup(t);
  receiver.answer = (response) => response.writeHead(500).end();
  const { id } = await runtime.webhooks.add(own.clientId, { url: receiver.url, types: null, description: null });
  await tip(creator.creatorId);
  await worker.pass();
  const fourDays = 4 * 86_400_000;
  await execute(runtime.db, 'UPDATE webhook_endpoints SET failing_since = $1', [clock() - fourDays]);
  assert.match((await visitor.get(`${path}/${id}`)).body, /Nothing has arrived for four days/);
});

test('security 23: another developer’s webhook or delivery is not found in the portal', async (t) => {
  const app = await setup(t);
  const { runtime, own, path, receiver, worker, creator, tip } = app;
  const { id } = await runtime.webhooks.add(own.clientId, { url: receiver.url, types: null, description: null });
  await tip(creator.creatorId);
  await worker.pass();
  const { deliveries } = await runtime.webhooks.deliveries.page(own.clientId, id, {
    before: null,
    status: null,
    limit: 1,
  });
  const stranger = await makeCreator(runtime);
  const other = await makeApp(runtime, 'Other', stranger.creatorId);
  const visitor = await signedInVisitor(app, stranger.creatorId);
  for (const base of [path, path.replace(own.clientId, other.clientId)]) {
    for (const place of [`/${id}`, `/${id}/deliveries/${deliveries[0]!.id}`])
      assert.equal((await visitor.get(`${base}${place}`)).statusCode, 404, place);
    for (const act of [
      '',
      '/secret',
      '/ping',
      '/replay',
      '/enable',
      '/disable',
      '/delete',
      `/deliveries/${deliveries[0]!.id}/retry`,
    ])
      assert.equal((await visitor.post(`${base}/${id}${act}`, { url: 'https://receiver.test' })).statusCode, 404, act);
  }
  assert.equal((await runtime.webhooks.get(own.clientId, id)).url, receiver.url);
});

test('security 5, 30: without the CSRF token nothing changes, and a secret needs a recent sign-in', async (t) => {
  const { visitor, path, runtime, own, receiver, clock } = await setup(t);
  const { id } = await runtime.webhooks.add(own.clientId, { url: receiver.url, types: null, description: null });
  for (const act of ['', '/secret', '/ping', '/replay', '/disable', '/delete'])
    assert.equal(
      (await visitor.post(`${path}/${id}${act}`, { csrf: 'forged', url: 'https://receiver.test' })).statusCode,
      403,
    );
  assert.equal(
    (await visitor.post(path, { url: 'https://receiver.test' }, { origin: 'https://evil.example' })).statusCode,
    403,
  );
  clock.advance(11 * 60_000);
  for (const [place, fields] of [
    [path, { url: receiver.url }],
    [`${path}/${id}/secret`, {}],
  ] as const) {
    const answer = await visitor.post(place, fields);
    assert.equal(answer.statusCode, 303);
    assert.match(String(answer.headers.location), /^\/login/);
  }
  const list = await runtime.webhooks.list(own.clientId);
  assert.deepEqual(
    list.map(({ enabled, url }) => [enabled, url]),
    [[true, receiver.url]],
  );
});

test('the listener stands in the list with its log, without an address and without a switch', async (t) => {
  const { visitor, path, own, creator, worker, tip, http, runtime } = await setup(t);
  const listener = openListener(t, new URL(await http.listen({ host: '127.0.0.1', port: 0 })).host, own);
  const { endpoint_id: id } = await listener.ready;
  await tip(creator.creatorId);
  await worker.pass();
  assert.match((await visitor.get(path)).body, /Listener.*Listening/s);
  const page = await visitor.get(`${path}/${id}`);
  assert.match(page.body, /A program listens now.*tip\.created.*Succeeded/s);
  assert.doesNotMatch(page.body, /Switch off|name="url"/);
  const refused = await visitor.post(`${path}/${id}/disable`);
  assert.equal(refused.statusCode, 422);
  await listener.close();
  await until('it is closed', async () => !(await runtime.webhooks.get(own.clientId, id)).listening);
  assert.match((await visitor.get(`${path}/${id}`)).body, /No program listens/);
  assert.match((await visitor.get(path)).body, /Closed/);
});

test('a double click on “Make a new secret” makes one, which both answers show; the one before signs on', async (t) => {
  const { visitor, path, runtime, own, receiver } = await setup(t);
  const { id, secret: first } = await runtime.webhooks.add(own.clientId, {
    url: receiver.url,
    types: null,
    description: null,
  });
  const page = `${path}/${id}`;
  const formOf = async () => ({
    replaced:
      /name="replaced" value="([^"]+)"/.exec((await visitor.get(page)).body)?.[1]?.replaceAll('&#61;', '=') ?? '',
  });
  const isOld = async (secret: string) => (await visitor.post(`${page}/secret`, { replaced: hashSecret(secret) })).body;
  const form = await formOf();
  const answers = await Promise.all([1, 2, 3].map(() => visitor.post(`${page}/secret`, form)));
  answers.push(await visitor.post(`${page}/secret`, form));
  const shown = new Set(answers.map(({ body }) => secretIn(body)));
  assert.equal(shown.size, 1);
  const [made] = shown;
  assert.ok(made && made !== first);
  assert.equal(await runtime.webhooks.secretHash(own.clientId, id), hashSecret(made));
  assert.equal(secretIn(await isOld(first)), made, 'the first one is still the one before');

  const next = secretIn((await visitor.post(`${page}/secret`, await formOf())).body);
  assert.ok(next && next !== made);
  const outdated = await visitor.post(`${page}/secret`, form);
  assert.equal(outdated.headers.location, page);
  assert.equal(await runtime.webhooks.secretHash(own.clientId, id), hashSecret(next), 'an old form changes nothing');
});
