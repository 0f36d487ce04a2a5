import assert from 'node:assert/strict';
import { decodeJwt } from 'jose';
import { type Answer, type ApiCase, apiTable, guardCases, send } from '../../../test/api-cases.ts';
import type { TestApp } from '../../../test/build-app.ts';
import type { Pair } from '../../../test/factories.ts';

apiTable('GET /v1/socket/token', { url: '/v1/socket/token' }, [
  {
    name: 'a token for ten minutes that is no access token',
    status: 200,
    check: async (answer, app, { creatorId }) => {
      const { socket_token, ...rest } = answer.json();
      assert.deepEqual(rest, {
        expires_in: 600,
        expires_at: new Date(app.clock() + 600_000).toISOString(),
        url: 'ws://localhost:8080/v1/socket',
      });
      assert.equal(decodeJwt(socket_token).sub, creatorId);
      const misused = await send(app, { headers: { authorization: `Bearer ${socket_token}` } }, { url: '/v1/me' });
      assert.equal(misused.json().error.code, 'token_invalid');
    },
  },
  ...guardCases('events.subscribe'),
]);

const threeEvents = async ({ runtime }: TestApp, { creatorId }: Pair): Promise<void> => {
  await runtime.tips.record({ creatorId, app: null, amount: 1, name: 'AB', displayName: null, message: null });
  await runtime.alerts.send({ creatorId });
  await runtime.tips.record({ creatorId, app: null, amount: 2, name: 'AB', displayName: null, message: null });
};

const query = (text: string, field: string): ApiCase => ({
  name: text,
  url: `/v1/events?${text}`,
  status: 422,
  code: 'validation_failed',
  fields: [field],
});

const sequences = (wanted: number[], nextAfter: number) => (answer: Answer) => {
  const { data, next_after, oldest } = answer.json();
  assert.deepEqual(
    data.map(({ sequence }: { sequence: number }) => sequence),
    wanted,
  );
  assert.equal(next_after, nextAfter);
  assert.equal(oldest, 1);
};

apiTable('GET /v1/events', { url: '/v1/events' }, [
  {
    name: 'no events',
    status: 200,
    check: (answer) => assert.deepEqual(answer.json(), { data: [], next_after: 0, oldest: null }),
  },
  {
    name: 'ascending, as they are stored',
    status: 200,
    before: threeEvents,
    check: async (answer, { runtime }, { creatorId }) => {
      const { data } = answer.json();
      assert.deepEqual(
        data.map(({ type }: { type: string }) => type),
        ['tip.created', 'alert.test', 'tip.created'],
      );
      assert.deepEqual(Object.keys(data[0]), [
        'id',
        'type',
        'sequence',
        'test',
        'replay',
        'creator_id',
        'created_at',
        'data',
      ]);
      assert.match(data[0].id, /^evt_[0-9a-hjkmnp-tv-z]{26}$/);
      assert.equal(data[0].creator_id, creatorId);
      const stored = await runtime.events.after(creatorId, 0, 10);
      assert.ok(answer.body.includes(stored.map(({ body }) => body).join(',')), 'the same bytes');
      assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
    },
  },
  { name: 'after the first', url: '/v1/events?after=1', status: 200, before: threeEvents, check: sequences([2, 3], 3) },
  {
    name: 'one at a time',
    url: '/v1/events?after=1&limit=1',
    status: 200,
    before: threeEvents,
    check: sequences([2], 2),
  },
  { name: 'after the last', url: '/v1/events?after=3', status: 200, before: threeEvents, check: sequences([], 3) },
  { name: 'after the future', url: '/v1/events?after=99', status: 200, before: threeEvents, check: sequences([], 99) },
  { name: 'limit 100', url: '/v1/events?limit=100', status: 200 },
  query('after=-1', 'after'),
  query('after=abc', 'after'),
  query('after=', 'after'),
  query('after=1.5', 'after'),
  query('after=1&after=2', 'after'),
  query('limit=0', 'limit'),
  query('limit=101', 'limit'),
  query('limit=abc', 'limit'),
  ...guardCases('events.subscribe'),
]);
