import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ApiCase, apiTable, guardCases, send } from '../../../test/api-cases.ts';
import { assertExactly } from '../../../test/assert-exactly.ts';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { makePair, type Pair } from '../../../test/factories.ts';
import { execute } from '../../../test/sql.ts';
import { main } from '../../cli/main.ts';
import { allTips } from './range.ts';
import { TipPage } from './schemas.ts';

async function record(
  { runtime }: Pick<TestApp, 'runtime'>,
  { creatorId }: Pick<Pair, 'creatorId'>,
  amounts: readonly number[],
) {
  const tips = [];
  for (const amount of amounts)
    tips.push(
      (await runtime.tips.record({ creatorId, app: null, amount, name: 'SOMCHAI', displayName: null, message: null }))
        .tip,
    );
  return tips;
}

const query = (name: string, text: string, status = 200): ApiCase => ({
  name: `${name}: ${text}`,
  url: `/v1/tips?${text}`,
  status,
  ...(status === 422 ? { code: 'validation_failed', fields: [name] } : {}),
});

apiTable('GET /v1/tips', { url: '/v1/tips' }, [
  {
    name: 'an empty history',
    status: 200,
    check: (answer) => assert.deepEqual(answer.json(), { data: [], next_cursor: null }),
  },
  {
    name: 'newest first, the source of the command line',
    status: 200,
    before: async (app, pair) => void (await record(app, pair, [1, 2])),
    check: (answer) => {
      const { data } = answer.json();
      assert.deepEqual(
        data.map(({ amount }: { amount: number }) => amount),
        [2, 1],
      );
      assert.deepEqual(data[0].source, { type: 'cli', client_id: null, app_name: null });
      assert.equal(answer.headers['ratelimit-policy'], '"read";q=120;w=60');
    },
  },
  {
    // It is written without the schema's serializer, which would leave out what the schema does not name.
    name: 'the fields of the schema and no others',
    url: '/v1/tips?limit=2',
    status: 200,
    before: async (app, pair) => {
      const { creatorId, clientId } = pair;
      const [, second] = await record(app, pair, [1, 2]);
      const full = { displayName: 'สมชาย', message: '"Great" stream!\n', app: { id: clientId, name: 'Goal Bot' } };
      await app.runtime.tips.record({ creatorId, amount: 0.07, name: 'SOMCHAI', ...full });
      await execute(app.runtime.db, "UPDATE tips SET alert_status = 'shown', alert_shown_at = 1 WHERE id = $1", [
        second!.id,
      ]);
    },
    check: (answer) => {
      assertExactly(TipPage, answer.json());
      const [{ id, created_at, ...tip }, older] = answer.json().data;
      const { name, message, ...outcome } = older.alert;
      assert.deepEqual([name, message], [older.display_name ?? older.name, older.message]);
      assert.deepEqual(outcome, { status: 'shown', shown_at: '1970-01-01T00:00:00.001Z' });
      assert.deepEqual(tip, {
        status: 'recorded',
        amount: 0.07,
        amount_minor: 7,
        currency: 'THB',
        name: 'SOMCHAI',
        display_name: 'สมชาย',
        message: '"Great" stream!\n',
        source: { type: 'api', client_id: tip.source.client_id, app_name: 'Goal Bot' },
        alert: { status: 'queued', shown_at: null, name: 'สมชาย', message: '"Great" stream!\n' },
        voided_at: null,
        void_reason: null,
      });
    },
  },
  {
    name: 'fifty are a page where nothing else is said',
    status: 200,
    before: async (app, pair) =>
      void (await record(
        app,
        pair,
        Array.from({ length: 51 }, (_, i) => i + 1),
      )),
    check: (answer) => {
      assert.equal(answer.json().data.length, 50);
      assert.equal(typeof answer.json().next_cursor, 'string');
    },
  },
  {
    name: 'one entry for each broken rule, whoever finds it',
    url: '/v1/tips?limit=0&from=soon&to=later&cursor=x',
    status: 422,
    code: 'validation_failed',
    fields: ['limit', 'from', 'to', 'cursor'],
  },
  {
    name: 'a parameter of the wrong kind is told once, beside the others',
    url: '/v1/tips?from=2026-11-01&from=2026-11-02&to=later',
    status: 422,
    code: 'validation_failed',
    fields: ['from', 'to'],
  },
  query('limit', 'limit=1'),
  query('limit', 'limit=100'),
  query('limit', 'limit=0', 422),
  query('limit', 'limit=101', 422),
  query('limit', 'limit=abc', 422),
  query('limit', 'limit=', 422),
  query('limit', 'limit=1.5', 422),
  query('limit', 'limit=1e1', 422),
  query('limit', 'limit=%201', 422),
  query('limit', 'limit=1&limit=2', 422),
  query('from', 'from=2026-11-01'),
  query('from', 'from=2028-02-29'),
  query('from', 'from=2026-02-29', 422),
  query('from', 'from=2026-02-30', 422),
  query('from', 'from=2026-13-01', 422),
  query('from', 'from=2026-00-10', 422),
  query('from', 'from=2026-11-31', 422),
  query('from', 'from=2026-1-1', 422),
  query('from', 'from=yesterday', 422),
  query('from', 'from=', 422),
  query('from', 'from=2026-11-01&from=2026-11-02', 422),
  query('from', 'from=2026-11-01T00:00:00Z'),
  query('from', 'from=2026-11-01t00:00:00.123456z'),
  query('from', 'from=2026-11-01T00:00:00%2B07:00'),
  query('from', 'from=2026-11-01T00:00:00+07:00'),
  query('from', 'from=2026-11-01T00:00:00', 422),
  query('from', 'from=2026-11-01T24:00:00Z', 422),
  query('from', 'from=2026-11-01T00:60:00Z', 422),
  query('to', 'to=2026-11-01T00:00:00%2B25:00', 422),
  query('to', 'to=2026-02-30T00:00:00Z', 422),
  query('from', 'from=2026-11-02&to=2026-11-01', 422),
  query('from', 'from=2026-11-01&to=2026-11-01'),
  query('cursor', 'cursor=abc', 422),
  query('cursor', 'cursor=', 422),
  { name: 'unknown parameters are ignored', url: '/v1/tips?creator_id=crt_x&page=2&page=3', status: 200 },
  { name: 'a path that cannot be decoded', url: '/v1/tips/%zz', status: 404, code: 'not_found' },
  {
    name: 'an unknown path, without a token',
    url: '/v1/nothing',
    headers: { authorization: '' },
    status: 404,
    code: 'not_found',
  },
  {
    name: 'POST of a path that is only read',
    url: '/v1/me',
    method: 'POST',
    status: 405,
    code: 'method_not_allowed',
    check: (answer) => assert.equal(answer.headers.allow, 'GET, HEAD'),
  },
  ...guardCases('tips.read'),
]);

apiTable('GET /v1/tips/{id}', { url: '/v1/tips/tip_0000000000000000000000000000' }, [
  {
    name: 'a tip of this creator',
    status: 200,
    before: async (app, pair) => ({ url: `/v1/tips/${(await record(app, pair, [5]))[0]?.id}` }),
    check: (answer) => assert.equal(answer.json().amount, 5),
  },
  {
    name: 'no such tip, and it counts',
    status: 404,
    code: 'not_found',
    check: (answer) => assert.equal(answer.headers.ratelimit, '"read";r=119;t=60'),
  },
  {
    name: 'a tip of another creator',
    status: 404,
    code: 'not_found',
    before: async (app) => ({ url: `/v1/tips/${(await record(app, await makePair(app.runtime), [5]))[0]?.id}` }),
  },
  ...guardCases('tips.read'),
]);

apiTable('GET /v1/tips/stats', { url: '/v1/tips/stats' }, [
  {
    name: 'nothing yet',
    status: 200,
    check: (answer, { clock }) =>
      assert.deepEqual(answer.json(), {
        currency: 'THB',
        timezone: 'Asia/Bangkok',
        all_time: { total: 0, total_minor: 0, count: 0 },
        current_month: {
          month: '2026-11',
          starts_at: '2026-10-31T17:00:00.000Z',
          ends_at: '2026-11-30T17:00:00.000Z',
          total: 0,
          total_minor: 0,
          count: 0,
        },
        as_of: new Date(clock()).toISOString(),
      }),
  },
  {
    name: 'exact to the satang',
    status: 200,
    before: async (app, pair) =>
      void (await record(
        app,
        pair,
        Array.from({ length: 30 }, () => 0.1),
      )),
    check: (answer) => assert.deepEqual(answer.json().all_time, { total: 3, total_minor: 300, count: 30 }),
  },
  ...guardCases('tips.read'),
]);

test('months end at midnight in Bangkok', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  const month = async () => {
    const { current_month } = await app.runtime.tips.stats(pair.creatorId);
    return [current_month.month, current_month.total_minor, current_month.count];
  };
  app.clock.set('2026-11-30T16:59:59.999Z');
  await record(app, pair, [10]);
  assert.deepEqual(await month(), ['2026-11', 1000, 1]);
  app.clock.set('2026-11-30T17:00:00.000Z');
  assert.deepEqual(await month(), ['2026-12', 0, 0], 'a new month begins empty before its first tip');
  await record(app, pair, [20]);
  assert.deepEqual(await month(), ['2026-12', 2000, 1]);
  app.clock.set('2026-12-31T17:00:00.000Z');
  await app.runtime.alerts.send({ creatorId: pair.creatorId });
  assert.deepEqual(await month(), ['2027-01', 0, 0], 'an alert begins the month too, without a tip');
  assert.equal((await app.runtime.tips.stats(pair.creatorId)).all_time.total_minor, 3000);

  app.clock.set('2026-12-31T16:00:00.000Z');
  const [late] = await record(app, pair, [5]);
  assert.equal(late?.created_at, '2026-12-31T17:00:00.000Z', 'time never runs backwards along the history');
  assert.deepEqual(await month(), ['2027-01', 500, 1]);
});

test('date bounds are whole days in Bangkok, instants are inclusive on both sides', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  const instants = [
    '2026-10-31T16:59:59.999Z',
    '2026-10-31T17:00:00.000Z',
    '2026-11-01T16:59:59.999Z',
    '2026-11-01T17:00:00.000Z',
  ];
  for (const [i, instant] of instants.entries()) {
    app.clock.set(instant);
    await record(app, pair, [i + 1]);
  }
  await app.runtime.grants.addByOperator(pair.creatorId, pair.clientId, 'tips.read');
  app.clock.set('2026-11-15T00:00:00Z');
  const { headers } = await makePair(app.runtime, { creator: pair, app: pair });
  const amounts = async (text: string) => {
    const answer = await send(app, { headers }, { url: `/v1/tips?${text}` });
    return answer.json().data.map(({ amount }: { amount: number }) => amount);
  };
  assert.deepEqual(await amounts('from=2026-11-01&to=2026-11-01'), [3, 2]);
  assert.deepEqual(await amounts('to=2026-10-31'), [1]);
  assert.deepEqual(await amounts('from=2026-11-02'), [4]);
  assert.deepEqual(await amounts('from=2026-10-31T17:00:00Z&to=2026-11-01T16:59:59.999Z'), [3, 2]);
  assert.deepEqual(await amounts('from=2026-10-31T17:00:00.0001Z'), [4, 3]);
  assert.deepEqual(await amounts('from=2026-11-02T00:00:00%2B07:00'), [4]);
});

test('paging returns each older tip exactly once while tips arrive', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  // Several tips in one millisecond, so that a page can end between them.
  for (let i = 0; i < 25; i++) {
    await record(app, pair, [1, 2, 3, 4]);
    app.clock.advance(i % 3);
  }
  const first = await app.runtime.tips.page(pair.creatorId, allTips, null, 100);
  const seen: string[] = [];
  let cursor = '';
  do {
    const answer = await send(app, pair, { url: `/v1/tips?limit=7${cursor && `&cursor=${cursor}`}` });
    assert.equal(answer.statusCode, 200, answer.body);
    seen.push(...answer.json().data.map(({ id }: { id: string }) => id));
    cursor = answer.json().next_cursor ?? '';
    await record(app, pair, [5]);
  } while (cursor);
  assert.deepEqual(
    seen,
    first.tips.map(({ id }) => id),
  );
});

test('security 23: a cursor that was altered, is another creator’s or has other bounds is refused', async (t) => {
  const app = await buildApp(t);
  const [pair, other] = [await makePair(app.runtime), await makePair(app.runtime)];
  await record(app, pair, [1, 2, 3]);
  const page = (who: Pick<Pair, 'headers'>, text: string) => send(app, who, { url: `/v1/tips?limit=1&${text}` });
  const { next_cursor: cursor } = (await page(pair, 'from=2026-11-01')).json();
  for (const text of [
    `cursor=${cursor}`,
    `cursor=${cursor}&from=2026-11-01`,
    `cursor=${cursor}&from=2026-10-31T17:00:00Z`,
  ])
    assert.equal((await page(pair, text)).statusCode, 200, text);
  for (const text of [
    `cursor=${cursor}&from=2026-11-02`,
    `cursor=${cursor}&to=2026-11-30`,
    `cursor=${cursor}A`,
    `cursor=${cursor}=`,
    `cursor=${cursor.slice(0, -1)}`,
  ])
    assert.equal((await page(pair, text)).statusCode, 422, text);
  for (let i = 0; i < cursor.length; i++) {
    const altered = cursor.slice(0, i) + (cursor[i] === 'A' ? 'B' : 'A') + cursor.slice(i + 1);
    if (i % 5 === 0 || i > cursor.length - 3)
      assert.equal((await page(pair, `cursor=${altered}`)).statusCode, 422, altered);
  }
  assert.equal((await page(other, `cursor=${cursor}`)).statusCode, 422);
});

test('a changed TIME_ZONE counts the month anew at the next start', async (t) => {
  const first = await buildApp(t);
  const pair = await makePair(first.runtime);
  first.clock.set('2026-10-31T18:00:00.000Z');
  await record(first, pair, [7]);
  const month = async () => (await first.runtime.tips.stats(pair.creatorId)).current_month.count;
  const ignored = { write: () => true };
  const command = { env: { ...first.env, LOG_LEVEL: 'silent', TIME_ZONE: 'UTC' }, stdout: ignored, stderr: ignored };
  assert.equal(await main(['creator', 'list'], command), 0);
  assert.equal(await month(), 1, 'the command line leaves it to the server');
  const second = await buildApp(t, { ...first.env, TIME_ZONE: 'UTC' });
  second.clock.set('2026-10-31T19:00:00.000Z');
  const october = (await second.runtime.tips.stats(pair.creatorId)).current_month;
  assert.deepEqual([october.month, october.total_minor, october.count], ['2026-10', 700, 1]);
  second.clock.set('2026-11-01T00:00:00.000Z');
  assert.equal((await second.runtime.tips.stats(pair.creatorId)).current_month.count, 0);
});
