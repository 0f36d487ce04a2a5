import assert from 'node:assert/strict';
import { type Answer, type ApiCase, apiTable, guardCases } from '../../../test/api-cases.ts';
import type { TestApp } from '../../../test/build-app.ts';
import type { Pair } from '../../../test/factories.ts';
import { allTips } from '../tips/index.ts';

/** A test alert is an event, and nothing else. */
async function onlyAnEvent(answer: Answer, { runtime }: TestApp, { creatorId }: Pair): Promise<void> {
  const stored = await runtime.events.after(creatorId, 0, 10);
  assert.equal(stored.length, 1);
  const event = JSON.parse(stored[0]?.body ?? '');
  assert.deepEqual([event.type, event.test, event.replay, event.sequence], ['alert.test', true, false, 1]);
  assert.deepEqual(event.data, { alert: answer.json() });
  const stats = await runtime.tips.stats(creatorId);
  assert.equal(stats.all_time.count, 0);
  assert.equal(stats.current_month.count, 0);
  assert.deepEqual((await runtime.tips.page(creatorId, allTips, null, 10)).tips, []);
}

const sent = (name: string, given: Partial<ApiCase>, expected: object): ApiCase => ({
  name,
  status: 201,
  ...given,
  check: async (answer, app, pair) => {
    for (const [field, value] of Object.entries(expected)) assert.deepEqual(answer.json()[field], value, field);
    await onlyAnEvent(answer, app, pair);
  },
});

const refused = (name: string, body: object, ...fields: string[]): ApiCase => ({
  name,
  body,
  status: 422,
  code: 'validation_failed',
  fields,
  check: async (_answer, { runtime }, { creatorId }) =>
    assert.equal((await runtime.events.head(creatorId))?.sequence, 0),
});

apiTable('POST /v1/alerts', { method: 'POST', url: '/v1/alerts' }, [
  {
    name: 'a whole alert',
    body: { name: 'SOMCHAI', display_name: 'สมชาย', amount: 99.5, message: 'Testing' },
    status: 201,
    check: (answer, { clock }) => {
      const alert = answer.json();
      assert.match(alert.id, /^alt_[0-9a-hjkmnp-tv-z]{26}$/);
      assert.deepEqual(alert, {
        id: alert.id,
        type: 'alert.test',
        name: 'SOMCHAI',
        display_name: 'สมชาย',
        amount: 99.5,
        amount_minor: 9950,
        currency: 'THB',
        message: 'Testing',
        overlays_connected: 0,
        created_at: new Date(clock()).toISOString(),
      });
      assert.equal(answer.headers['ratelimit-policy'], '"alerts";q=30;w=60');
    },
  },
  sent('no body at all', {}, { name: 'NAMJAI', amount: 100 }),
  sent('no body with a type of text', { headers: { 'content-type': 'text/plain' } }, { name: 'NAMJAI' }),
  sent('no body with a type of JSON', { headers: { 'content-type': 'application/json' } }, { name: 'NAMJAI' }),
  sent('an empty object', { body: {} }, { name: 'NAMJAI' }),
  sent(
    'null everywhere is absent',
    { body: { name: null, display_name: null, amount: null, message: null } },
    { name: 'NAMJAI', amount: 100 },
  ),
  sent('a name alone is what the overlay shows', { body: { name: 'MALI' } }, { name: 'MALI', display_name: null }),
  sent('an empty message stays empty', { body: { message: '' } }, { message: '' }),
  refused('amount 0', { amount: 0 }, 'amount'),
  refused('amount as text', { amount: '5' }, 'amount'),
  refused('amount over the cap', { amount: 100000.01 }, 'amount'),
  refused('name of 1 character', { name: 'A' }, 'name'),
  refused('name of 26 characters', { name: 'A'.repeat(26) }, 'name'),
  refused('name in lower case', { name: 'mali' }, 'name'),
  refused('message of 256 characters', { message: 'x'.repeat(256) }, 'message'),
  refused('display_name of 41 characters', { display_name: 'x'.repeat(41) }, 'display_name'),
  refused('display_name blank', { display_name: '   ' }, 'display_name'),
  { name: 'malformed JSON', raw: '{', status: 422, code: 'validation_failed', fields: [null] },
  { name: 'a list', raw: '[]', status: 422, code: 'validation_failed', fields: [null] },
  {
    name: 'text',
    raw: 'hello',
    headers: { 'content-type': 'text/plain' },
    status: 415,
    code: 'unsupported_media_type',
  },
  { name: 'too large', raw: ' '.repeat(65_537), status: 413, code: 'body_too_large' },
  ...guardCases('alerts.create'),
]);
