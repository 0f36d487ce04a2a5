import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { makeCreator, makePair } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { execute } from '../../../test/sql.ts';
import { storedBytes } from '../../../test/stored-bytes.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { buildWebhooks } from '../../../test/webhooks.ts';
import { jobs } from '../../housekeeping.ts';
import { StorageUnavailable } from '../../platform/db/database.ts';
import { overlayTopic } from '../overlay/index.ts';
import { nameKey } from '../screening/index.ts';
import { leaseMs } from '../webhooks/delivery/leases.ts';
import { createErasure } from './index.ts';

const words = { name: 'ZEBRA_QUAGGA', display_name: 'ม้าลายลายพร้อย', message: 'a message nobody else would write' };
const texts = [...Object.values(words), nameKey(words.display_name)];
const other = { name: 'OKAPI', display_name: 'Gentle Okapi', message: 'these words stay' };

/** Which of the texts are stored anywhere: in a row, or in a file of the embedded store. */
async function storedTexts(app: TestApp, wanted: readonly string[]): Promise<string[]> {
  if (app.runtime.db.truncateLog)
    await until('the log is truncated', () => jobs['truncate the log of the database']?.run(app.runtime));
  const bytes = await storedBytes(app);
  return wanted.filter((text) => bytes.includes(text));
}

const erased = { name: 'ERASED', display_name: null, message: null };
const wordsOf = ({ name, display_name, message }: typeof words) => ({ name, display_name, message });

test('erased words are stored nowhere, whatever became of the tip before', async (t) => {
  const app = await buildWebhooks(t);
  const { http, runtime, pair, worker, clock } = app;
  const { creatorId } = pair;
  const echo = await startReceiver(t);
  echo.answer = (response, { body }) => response.writeHead(200).end(body);
  const failing = await startReceiver(t);
  failing.answer = (response, { body }) => response.writeHead(500).end(body);
  const { id: echoId } = await app.add(echo.url);
  await app.add(failing.url);
  const hold = (everything: boolean) =>
    runtime.screening.change(creatorId, (rules) => ({ ...rules, hold: { ...rules.hold, everything } }));
  const post = async (body: object, key: string) => {
    clock.advance(10_000);
    const headers = { ...pair.headers, 'idempotency-key': key };
    const response = await http.inject({ method: 'POST', url: '/v1/tips', headers, payload: { amount: 10, ...body } });
    assert.equal(response.statusCode, 201, response.body);
    return response.json();
  };
  const shown = await post(words, 'first-key');
  const voided = await post(words, 'second-key');
  const queued = await post(words, 'third-key');
  const kept = await post(other, 'fourth-key');
  await runtime.overlays.acknowledge(creatorId, 'a page', [{ sequence: 1, outcome: 'shown' }]);
  await runtime.overlays.replayTip(creatorId, shown.id);
  await runtime.tips.void(creatorId, voided.id, { clientId: null, reason: null });
  await hold(true);
  const approved = await post(words, 'fifth-key');
  await runtime.overlays.approve(creatorId, approved.id);
  const held = await post(words, 'sixth-key');
  await hold(false);
  await worker.pass();
  const top = async () => (await runtime.tips.top(creatorId, 'all', 10)).map(({ name, count }) => [name, count]);
  assert.deepEqual(await top(), [
    [words.display_name, 3],
    [other.display_name, 1],
  ]);
  const before = await runtime.tips.stats(creatorId);
  assert.deepEqual(await storedTexts(app, texts), texts);
  const bodies = async () =>
    (await runtime.events.after(creatorId, 0, 100)).map(({ body }) => JSON.parse(body)).filter(({ data }) => data.tip);
  const eventsBefore = await bodies();

  const visitor = await signedInVisitor(app, creatorId);
  for (const { id } of [shown, voided, queued, approved, held]) {
    const asked = await visitor.get(`/dashboard/tips/${id}/erase`);
    assert.equal(asked.statusCode, 200);
    const done = await visitor.post(`/dashboard/tips/${id}/erase`, { what: 'tip' });
    assert.equal(done.headers.location, `/dashboard/tips/${id}`);
  }

  assert.deepEqual(await storedTexts(app, texts), []);
  assert.deepEqual(await storedTexts(app, Object.values(other)), Object.values(other));
  assert.deepEqual((await runtime.tips.stats(creatorId)).all_time, before.all_time);
  assert.deepEqual(await top(), [[other.display_name, 1]]);
  const eventsAfter = await bodies();
  assert.equal(eventsAfter.length, eventsBefore.length);
  for (const [index, { data, ...event }] of eventsBefore.entries()) {
    const { alert, ...tip } = data.tip;
    const words = tip.id === kept.id ? {} : erased;
    const shownWords = tip.id === kept.id ? {} : { name: 'ERASED', message: null };
    assert.deepEqual(eventsAfter[index], {
      ...event,
      data: { tip: { ...tip, ...words, alert: { ...alert, ...shownWords } } },
    });
  }

  // The same request again gets the same tip, and another one with its key is refused.
  const headers = { ...pair.headers, 'idempotency-key': 'first-key' };
  const repeat = (payload: object) => http.inject({ method: 'POST', url: '/v1/tips', headers, payload });
  const again = await repeat({ amount: 10, ...words });
  assert.equal(again.statusCode, 201);
  assert.equal(again.json().id, shown.id);
  assert.deepEqual(wordsOf(again.json()), erased);
  assert.equal((await repeat({ amount: 11, ...words })).json().error.code, 'idempotency_key_reused');

  // The log of deliveries and the next attempts.
  const log = await app.deliveries(echoId);
  assert.ok(log.some(({ attempts }) => attempts.some((attempt) => attempt.response_body?.includes(other.message))));
  failing.requests.length = 0;
  clock.advance(60_000);
  await worker.pass();
  await failing.waitFor(2);
  assert.ok(failing.requests.every(({ body }) => texts.every((text) => !body.includes(text))));
  assert.deepEqual(await storedTexts(app, texts), []);
});

test('erased words that wait to be sent are not sent any more: the event comes without them', async (t) => {
  const { worker, add, runtime, pair, clock } = await buildWebhooks(t);
  const { creatorId } = pair;
  const receiver = await startReceiver(t);
  let letGo = () => {};
  receiver.answer = (response) => {
    letGo = () => response.writeHead(204).end();
  };
  await add(receiver.url, { types: ['tip.created'] });
  const record = async ({ name, display_name: displayName, message }: typeof words) =>
    (await runtime.tips.record({ creatorId, app: null, amount: 1, name, displayName, message })).tip;
  const deliveries = () =>
    runtime.db.all<{ status: string; lease: string | null }>('SELECT status, lease FROM webhook_deliveries');
  await worker.start();
  await record(other);
  await receiver.waitFor(1);
  const { id } = await record(words);
  await until('the second waits for the answer to the first', async () => {
    const rows = await deliveries();
    return rows.length === 2 && rows.every(({ lease }) => lease !== null);
  });
  const laterHint = new Promise((resolve) => t.after(runtime.hub.subscribe('a later hint', resolve)));
  assert.equal(await runtime.erasure.one(creatorId, id), true);
  // Hints come in their order, so the worker has that of the erasure before this one.
  runtime.hub.publish('a later hint', '');
  await laterHint;
  receiver.answer = (response) => response.writeHead(204).end();
  letGo();
  await until('the first is settled', async () => (await deliveries()).some(({ status }) => status === 'succeeded'));
  clock.advance(leaseMs);
  await receiver.waitFor(2);
  const [first, second] = receiver.requests.map(({ body }) => body);
  assert.ok(first?.includes(other.message));
  assert.match(second ?? '', /"ERASED"/);
  for (const text of texts) assert.ok(!second?.includes(text), text);
});

test('a tip without words still counts, is shown nowhere, and can be voided', async (t) => {
  const app = await buildApp(t);
  const { runtime } = app;
  const { creatorId } = await makeCreator(runtime);
  const { tips, overlays, erasure } = runtime;
  const record = async (displayName: string) =>
    (await tips.record({ creatorId, app: null, amount: 25.25, name: 'NOK', displayName, message: 'hi' })).tip;
  const [first, second] = [await record('Bird'), await record('Bird')];
  await overlays.acknowledge(creatorId, 'a page', [{ sequence: 1, outcome: 'shown' }]);
  await tips.top(creatorId, 'all', 10);
  const hints: string[] = [];
  t.after(runtime.hub.subscribe(overlayTopic(creatorId), (hint) => hints.push(hint)));

  assert.equal(await erasure.one(creatorId, first.id), true);
  assert.equal(await erasure.one(creatorId, second.id), true);
  assert.equal(await erasure.one(creatorId, second.id), false, 'there is nothing left to erase');
  await until('open pages are told', () => hints.length >= 2);
  assert.deepEqual((await overlays.voided(creatorId)).sort(), [first.id, second.id].sort());
  assert.deepEqual(await overlays.skipped(creatorId), [second.id]);
  assert.equal((await tips.byId(creatorId, first.id)).alert.status, 'shown');
  assert.deepEqual(await tips.latest(creatorId, 10), []);
  assert.deepEqual(await tips.top(creatorId, 'all', 10), []);
  const span = { from: 0, to: app.clock() };
  assert.equal(await tips.countShowable(creatorId, span, 10), 0, 'a rehearsal passes over it');
  await assert.rejects(overlays.replayTip(creatorId, first.id), { code: 'not_found' });
  const events = (await runtime.events.after(creatorId, 0, 100)).map(({ type }) => type);
  assert.deepEqual(events, ['tip.created', 'tip.created', 'alert.shown', 'alert.skipped']);

  assert.equal((await tips.stats(creatorId)).all_time.total_minor, 5050);
  const voided = await tips.void(creatorId, first.id, { clientId: null, reason: null });
  assert.equal(voided.name, 'ERASED');
  const third = await record('Bird');
  assert.equal((await tips.stats(creatorId)).all_time.total_minor, 5050);
  assert.deepEqual(await tips.top(creatorId, 'all', 10), [{ name: 'Bird', totalMinor: 2525, count: 1 }]);
  assert.equal((await tips.byId(creatorId, third.id)).display_name, 'Bird');
});

test('a name that was erased is new again where new names are held', async (t) => {
  const { runtime } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  const record = async () => {
    const sent = { amount: 5, name: 'NOK', displayName: 'Bird', message: null };
    return (await runtime.tips.record({ creatorId, app: null, ...sent })).tip;
  };
  await runtime.screening.change(creatorId, (rules) => ({ ...rules, hold: { ...rules.hold, newNames: true } }));
  const first = await record();
  assert.equal(first.alert.status, 'held');
  await runtime.overlays.approve(creatorId, first.id);
  assert.equal((await record()).alert.status, 'queued');
  await runtime.erasure.one(creatorId, first.id);
  assert.equal((await record()).alert.status, 'held');
});

test('all tips of a name are erased, however it is spelled, also if it is interrupted', async (t) => {
  const app = await buildApp(t);
  const { runtime, clock } = app;
  const pair = await makePair(runtime);
  const neighbour = await makeCreator(runtime);
  const { creatorId } = pair;
  const count = 2_600;
  await makeManyTips(runtime, creatorId, count);
  await runtime.tips.record({ ...{ creatorId: neighbour.creatorId, app: null, amount: 1 }, ...sent('Zebra น้ำ') });
  const spellings = ['Zebra น้ำ', 'ZEBRA น้ํา', 'zebra น้ำ'];
  for (const [index, spelling] of spellings.entries())
    await execute(
      runtime.db,
      'UPDATE tips SET display_name = $2 WHERE creator_id = $1 AND sequence % 100 = CAST($3 AS BIGINT)',
      [creatorId, spelling, index],
    );
  const wanted = 26 * spellings.length;
  const named = async (of = creatorId): Promise<number> =>
    (await runtime.db.all('SELECT id FROM tips WHERE creator_id = $1 AND display_name IS NOT NULL', [of])).length;
  assert.equal(await named(), wanted);

  let writes = 0;
  const { db } = runtime;
  const interrupted = createErasure({
    ...runtime,
    db: {
      all: (...read) => db.all(...read),
      get: (...read) => db.get(...read),
      write: (...write) => (++writes < 12 ? db.write(...write) : Promise.reject(new StorageUnavailable('gone'))),
    },
  });
  assert.equal(await interrupted.start(creatorId, 'ZEBRA น้ำ'), true);
  await until('the storage fails', () => writes >= 12);
  await interrupted.stop();
  const left = await named();
  assert.ok(left > 0 && left < wanted, `${left} of ${wanted} are left`);

  const visitor = await signedInVisitor(app, creatorId);
  const running = await visitor.get('/dashboard/tips/erasing');
  assert.match(running.body, /Names and messages are being erased/);
  assert.equal(running.headers.refresh, '3');
  const found = await visitor.get('/dashboard/tips?q=zebra');
  const path = /\/dashboard\/tips\/tip_\d+\/erase/.exec(found.body)?.[0] ?? '';
  assert.match((await visitor.get(path)).body, /All tips from zebra น้ำ/i);
  await visitor.post(path, { what: 'display_name' });
  assert.match((await visitor.get('/dashboard/tips/erasing')).body, /Those of another supporter are being erased/);

  clock.advance(61_000);
  await jobs['continue erasing words']?.run(runtime);
  const { erasure } = runtime;
  await until('it is done', async () => (await erasure.last(creatorId))?.finished_at !== null);
  const last = await erasure.last(creatorId);
  assert.deepEqual([last?.name, last?.total, last?.searched], [null, count, count]);
  assert.equal(await named(), 0);
  assert.equal(await named(neighbour.creatorId), 1, 'nothing of another creator changes');
  const others = await db.all('SELECT id FROM tips WHERE creator_id = $1 AND erased_at IS NULL', [creatorId]);
  assert.equal(others.length, count - wanted);
  assert.match((await visitor.get('/dashboard/tips/erasing')).body, /Name and message of \d+ tips are erased/);

  // By the page, and by the name as it was sent: TIP 2590, not TIP 259.
  const started = await visitor.post('/dashboard/tips/tip_2590/erase', { what: 'name' });
  assert.equal(started.headers.location, '/dashboard/tips/erasing');
  await until('it is done', async () => (await erasure.last(creatorId))?.finished_at !== null);
  assert.match((await visitor.get('/dashboard/tips/erasing')).body, /Name and message of 1 tip are erased/);
  assert.equal((await runtime.tips.byId(creatorId, 'tip_259')).name, 'TIP 259');
});

const sent = (displayName: string) => ({ name: 'NOK', displayName, message: null });

test('only the creator erases words, after the page has asked', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const { tip } = await app.runtime.tips.record({ creatorId, app: null, amount: 1, ...sent('<i>Bird</i>') });
  const path = `/dashboard/tips/${tip.id}/erase`;
  const stranger = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
  assert.equal((await stranger.get(path)).statusCode, 404);
  assert.equal((await stranger.post(path, { what: 'tip' })).statusCode, 404);
  const visitor = await signedInVisitor(app, creatorId);
  const { body } = await visitor.get(path);
  assert.match(body, /It cannot be undone/);
  assert.match(body, /&#60;i&#62;Bird/);
  assert.equal((await visitor.post(path, { what: 'tip' }, { origin: 'https://evil.example' })).statusCode, 403);
  for (const fields of [{}, { what: 'everything' }])
    assert.equal((await visitor.post(path, fields)).headers.location, path);
  assert.equal((await app.runtime.tips.byId(creatorId, tip.id)).display_name, '<i>Bird</i>');
  assert.match((await visitor.get('/dashboard/tips/erasing')).body, /Nothing is being erased/);
  await visitor.post(path, { what: 'tip' });
  const page = await visitor.get(`/dashboard/tips/${tip.id}`);
  assert.match(page.body, /Name and message are erased/);
  assert.doesNotMatch(page.body, /tips\/tip_\w+\/erase|Play again/);
  assert.equal((await visitor.get(path)).statusCode, 303, 'there is nothing to ask');
  // A form that was open before: the name is gone, and no other tip is touched.
  await visitor.post(path, { what: 'name' });
  assert.equal(await app.runtime.erasure.last(creatorId), undefined);
});
