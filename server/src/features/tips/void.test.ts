import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { apiTable, guardCases, send } from '../../../test/api-cases.ts';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { makePair, type Pair } from '../../../test/factories.ts';
import { assertLedger } from '../../../test/ledger.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { execute } from '../../../test/sql.ts';
import { allTips } from './range.ts';
import type { TipPage } from './schemas.ts';

const day = 86_400_000;

async function open(t: TestContext) {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  return { app, pair, ...calls(app, pair) };
}

function calls(app: TestApp, pair: Pair) {
  const { creatorId, clientId } = pair;
  return {
    /** Recorded by the pair's app, without its limit. */
    record: async (amount = 100, idempotencyKey?: string) =>
      app.runtime.tips.record({
        creatorId,
        app: { id: clientId, name: 'App' },
        amount,
        name: 'SOMCHAI',
        displayName: null,
        message: null,
        idempotencyKey,
      }),
    voidTip: (id: string, body?: object) => send(app, pair, { method: 'POST', url: `/v1/tips/${id}/void`, body }),
    stats: () => app.runtime.tips.stats(creatorId),
    events: async () => (await app.runtime.events.after(creatorId, 0, 100)).map(({ body }) => JSON.parse(body)),
  };
}

const voidOf =
  (body?: object) =>
  async (app: TestApp, pair: Pair): Promise<{ url: string; body?: unknown }> => {
    const { tip } = await calls(app, pair).record();
    return { url: `/v1/tips/${tip.id}/void`, ...(body === undefined ? {} : { body }) };
  };

apiTable('POST /v1/tips/{id}/void', { method: 'POST', url: '/v1/tips/tip_unknown/void' }, [
  ...guardCases('tips.create'),
  { name: 'an unknown tip', status: 404, code: 'not_found' },
  {
    name: 'without a body',
    before: voidOf(),
    status: 200,
    check: (answer) => {
      const tip = answer.json();
      assert.deepEqual([tip.status, tip.void_reason, tip.alert.status], ['voided', null, 'skipped']);
      assert.equal(answer.headers['ratelimit-policy'], '"voids";q=10;w=60');
    },
  },
  {
    name: 'with a reason of 255 code points',
    before: voidOf({ reason: '😀'.repeat(255) }),
    status: 200,
    check: (answer) => assert.equal(answer.json().void_reason, '😀'.repeat(255)),
  },
  { name: 'with no reason but null', before: voidOf({ reason: null }), status: 200 },
  {
    name: 'an empty reason stays empty',
    before: voidOf({ reason: '' }),
    status: 200,
    check: (answer) => assert.equal(answer.json().void_reason, ''),
  },
  {
    name: 'a reason of 256 code points',
    before: voidOf({ reason: 'x'.repeat(256) }),
    status: 422,
    code: 'validation_failed',
    fields: ['reason'],
  },
  {
    name: 'a reason that is no text',
    before: voidOf({ reason: 5 }),
    status: 422,
    code: 'validation_failed',
    fields: ['reason'],
  },
]);

test('a voided tip leaves all totals, its alert is skipped first, and tip.voided tells it', async (t) => {
  const { app, record, voidTip, stats, events } = await open(t);
  const { tip: kept } = await record(1);
  const { tip } = await record(150.5);
  app.clock.advance(60_000);
  const answer = await voidTip(tip.id, { reason: 'Refunded' });
  assert.equal(answer.statusCode, 200);
  const voided = answer.json();
  assert.deepEqual(voided, {
    ...tip,
    status: 'voided',
    alert: { ...tip.alert, status: 'skipped' },
    voided_at: new Date(app.clock()).toISOString(),
    void_reason: 'Refunded',
  });
  const { all_time, current_month } = await stats();
  assert.deepEqual(all_time, { total: 1, total_minor: 100, count: 1 });
  assert.deepEqual([current_month.total_minor, current_month.count], [100, 1]);
  const [, , skipped, voidedEvent, ...rest] = await events();
  assert.deepEqual(
    [skipped.type, skipped.data],
    ['alert.skipped', { tip_id: tip.id, alert_id: null, shown_at: null, reason: 'voided' }],
  );
  assert.deepEqual([voidedEvent.type, voidedEvent.data, rest], ['tip.voided', { tip: voided }, []]);
  assert.equal((await app.runtime.tips.byId(voidedEvent.creator_id, kept.id)).status, 'recorded');
  await assertLedger(app.runtime.db);
});

test('a repeat returns the same tip, the first reason stays, and nothing more is told', async (t) => {
  const { app, record, voidTip, events } = await open(t);
  const { tip } = await record();
  const first = (await voidTip(tip.id, { reason: 'first' })).json();
  app.clock.advance(200 * day);
  const pair = await makePair(app.runtime, {
    creator: { creatorId: (await events())[0].creator_id, username: '' },
    app: { clientId: tip.source.client_id ?? '', clientSecret: '' },
  });
  const again = await calls(app, pair).voidTip(tip.id, { reason: 'second' });
  assert.deepEqual([again.statusCode, again.json()], [200, first]);
  assert.equal((await events()).filter(({ type }) => type === 'tip.voided').length, 1);
  await assert.rejects(app.runtime.overlays.replayTip(pair.creatorId, tip.id), { code: 'not_found' });
});

test('fifty voids of one tip at once take it back once', async (t) => {
  const { app, pair, record, stats, events } = await open(t);
  await record(7);
  const { tip } = await record(100);
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      app.runtime.tips.void(pair.creatorId, tip.id, { clientId: null, reason: `${i}` }),
    ),
  );
  assert.equal(new Set(answers.map(({ void_reason }) => void_reason)).size, 1);
  assert.deepEqual((await stats()).all_time, { total: 7, total_minor: 700, count: 1 });
  assert.deepEqual(
    (await events()).map(({ type }) => type),
    ['tip.created', 'tip.created', 'alert.skipped', 'tip.voided'],
  );
  await assertLedger(app.runtime.db);
});

test('an app voids its own tips of the last 90 days, the creator any', async (t) => {
  const { app, pair, record, voidTip } = await open(t);
  const { tip } = await record();
  const other = await makePair(app.runtime, { creator: pair });
  const foreign = await calls(app, other).voidTip(tip.id);
  assert.deepEqual([foreign.statusCode, foreign.json().error.code], [404, 'not_found']);
  const elsewhere = await makePair(app.runtime, { app: pair });
  assert.equal((await calls(app, elsewhere).voidTip(tip.id)).statusCode, 404, 'the same app for another creator');
  app.clock.advance(90 * day);
  const late = await makePair(app.runtime, { creator: pair, app: pair });
  const { tip: second } = await record();
  app.clock.advance(1);
  const refused = await calls(app, late).voidTip(tip.id);
  assert.deepEqual([refused.statusCode, refused.json().error.details[0].field], [422, 'id']);
  assert.equal((await voidTip(second.id)).statusCode, 401, 'the first token is long over');
  const { tip: byHand } = await app.runtime.tips.record({
    creatorId: pair.creatorId,
    app: 'creator',
    amount: 5,
    name: 'NOK',
    displayName: null,
    message: null,
  });
  assert.deepEqual(byHand.source, { type: 'creator', client_id: null, app_name: null });
  assert.equal((await calls(app, late).voidTip(byHand.id)).statusCode, 404, 'no app recorded it');
  for (const { id } of [tip, byHand])
    assert.equal((await app.runtime.tips.void(pair.creatorId, id, { clientId: null, reason: null })).status, 'voided');
});

test('a void takes from the month only what is of the head’s month after it', async (t) => {
  const { app, pair, record, stats } = await open(t);
  const takeBack = (id: string) => app.runtime.tips.void(pair.creatorId, id, { clientId: null, reason: null });
  app.clock.set('2026-10-31T16:59:00.000Z'); // still October in Bangkok
  const { tip: october } = await record(10);
  const { tip: alsoOctober } = await record(20);
  await takeBack(october.id);
  assert.equal((await stats()).current_month.total_minor, 2000);
  app.clock.set('2026-10-31T17:00:00.000Z');
  await takeBack(alsoOctober.id);
  assert.deepEqual((await stats()).all_time, { total: 0, total_minor: 0, count: 0 });
  assert.deepEqual([(await stats()).current_month.month, (await stats()).current_month.count], ['2026-11', 0]);
  const { tip: november } = await record(40);
  await record(50);
  await takeBack(november.id);
  const { current_month } = await stats();
  assert.deepEqual([current_month.total_minor, current_month.count], [5000, 1]);
});

test('a shown alert stays shown when its tip is voided', async (t) => {
  const { app, pair, record, voidTip, events } = await open(t);
  const { tip } = await record();
  await execute(app.runtime.db, "UPDATE tips SET alert_status = 'shown', alert_shown_at = 5 WHERE creator_id = $1", [
    pair.creatorId,
  ]);
  const { alert } = (await voidTip(tip.id)).json();
  assert.equal(alert.status, 'shown');
  assert.deepEqual(
    (await events()).map(({ type }) => type),
    ['tip.created', 'tip.voided'],
  );
});

test('an idempotent replay after a void returns the tip as it was recorded, and its key stays used', async (t) => {
  const { app, pair, record, voidTip, events } = await open(t);
  const { tip } = await record(100, 'payment-1');
  await voidTip(tip.id);
  assert.deepEqual(await record(100, 'payment-1'), { tip, replayed: true });
  await assert.rejects(record(101, 'payment-1'), { code: 'idempotency_key_reused' });
  assert.equal((await events()).length, 3);

  // An event from before tips had a status.
  const { status, voided_at, void_reason, ...old } = tip;
  const body = JSON.stringify({ ...(await events())[0], data: { tip: old } });
  await execute(app.runtime.db, 'UPDATE events SET body = $2 WHERE creator_id = $1 AND sequence = 1', [
    pair.creatorId,
    body,
  ]);
  assert.deepEqual(await record(100, 'payment-1'), { tip, replayed: true });
});

test('GET /v1/tips?status= lists what is recorded or voided, and the cursor holds to it', async (t) => {
  const { app, pair, record, voidTip } = await open(t);
  const ids: string[] = [];
  for (let i = 0; i < 8; i++) ids.unshift((await record(i + 1)).tip.id);
  const voided = ids.filter((_, i) => i % 2 === 0);
  for (const id of voided) await voidTip(id);
  const list = async (query: string) => send(app, pair, { url: `/v1/tips?${query}` });
  const idsOf = (answer: Awaited<ReturnType<typeof list>>) => answer.json().data.map(({ id }: { id: string }) => id);
  assert.deepEqual(idsOf(await list('status=voided')), voided);
  assert.deepEqual(
    idsOf(await list('status=recorded')),
    ids.filter((id) => !voided.includes(id)),
  );
  assert.deepEqual(idsOf(await list('')), ids);
  const first = await list('status=voided&limit=3');
  const cursor = encodeURIComponent(first.json().next_cursor);
  for (const rest of [`cursor=${cursor}`, `status=voided&cursor=${cursor}`])
    assert.deepEqual([...idsOf(first), ...idsOf(await list(rest))], voided);
  const both = encodeURIComponent((await list('limit=3')).json().next_cursor);
  for (const wrong of [`status=recorded&cursor=${cursor}`, `status=voided&cursor=${both}`, 'status=', 'status=lost']) {
    const refused = await list(wrong);
    assert.deepEqual([refused.statusCode, refused.json().error.details[0].field], [422, 'status'], wrong);
  }
});

test('security 41: a page of recorded tips passes over few voided ones, and its cursor leads to the rest', async (t) => {
  const { app, pair } = await open(t);
  const { runtime } = app;
  await makeManyTips(runtime, pair.creatorId, 2_500);
  await execute(runtime.db, 'UPDATE tips SET voided_at = created_at WHERE creator_id = $1 AND sequence > 60', [
    pair.creatorId,
  ]);
  const all = t.mock.method(runtime.db, 'all');
  const rowsRead = async () => {
    const results = await Promise.all(all.mock.calls.map(({ result }) => result ?? []));
    all.mock.resetCalls();
    return results.map(({ length }) => length);
  };
  const ids: string[] = [];
  let pages = 0;
  for (let cursor: string | null = ''; cursor !== null; pages += 1) {
    const query = cursor === '' ? 'status=recorded' : `cursor=${encodeURIComponent(cursor)}`;
    const answer = await send(app, pair, { url: `/v1/tips?${query}` });
    assert.equal(answer.statusCode, 200);
    const read = await rowsRead();
    assert.ok(Math.max(...read) <= 101 && read.reduce((sum, rows) => sum + rows) <= 1_100, read.join(' '));
    const { data, next_cursor }: TipPage = answer.json();
    ids.push(...data.map(({ id }) => id));
    cursor = next_cursor;
  }
  assert.deepEqual(
    ids,
    Array.from({ length: 60 }, (_, i) => `tip_${60 - i}`),
  );
  assert.equal(pages, 4);
  const found = await runtime.tips.search(
    pair.creatorId,
    { ...allTips, status: 'recorded', text: 'TIP 60', minMinor: null, maxMinor: null, source: null },
    null,
    50,
  );
  assert.deepEqual([found.tips.map(({ id }) => id), Math.max(...(await rowsRead()))], [['tip_60'], 50]);
});

test('the totals of days follow a void at once, also where they were read before', async (t) => {
  const { app, pair, record } = await open(t);
  const { tip } = await record(10);
  app.clock.advance(day);
  await record(20);
  const days = async () =>
    (await app.runtime.tips.days(pair.creatorId, 2)).map(({ totalMinor, count }) => [totalMinor, count]);
  assert.deepEqual(await days(), [
    [1000, 1],
    [2000, 1],
  ]);
  await calls(app, await makePair(app.runtime, { creator: pair, app: pair })).voidTip(tip.id);
  assert.deepEqual(await days(), [
    [0, 0],
    [2000, 1],
  ]);
});

test('on a node whose clock is behind, a tip is voided at the time of its event', async (t) => {
  const { app, record, voidTip, events } = await open(t);
  const { tip } = await record();
  app.clock.advance(-10_000);
  const voided = (await voidTip(tip.id)).json();
  assert.equal(voided.voided_at, (await events()).at(-1).created_at);
  assert.ok(voided.voided_at >= tip.created_at);
  assert.deepEqual((await voidTip(tip.id)).json(), voided, 'as it was stored');
});
