import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ApiCase, apiTable, guardCases, send } from '../../../test/api-cases.ts';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator, makePair } from '../../../test/factories.ts';

const good = { amount: 100, name: 'SOMCHAI' };
const json = (value: object, field: string, text: string) =>
  JSON.stringify({ ...value, [field]: '@' }).replace('"@"', text);

const accepted = (name: string, change: object, expected: object): ApiCase => ({
  name,
  body: { ...good, ...change },
  status: 201,
  check: (answer) => {
    const tip = answer.json();
    for (const [field, value] of Object.entries(expected)) assert.deepEqual(tip[field], value, field);
  },
});

const refused = (name: string, change: object, ...fields: (string | null)[]): ApiCase => ({
  name,
  body: { ...good, ...change },
  status: 422,
  code: 'validation_failed',
  fields,
  check: async (_answer, { runtime }, { creatorId }) => {
    assert.equal((await runtime.events.head(creatorId))?.sequence, 0, 'nothing may be recorded');
  },
});

const malformed = (name: string, raw: string | Buffer, field: string | null = null): ApiCase => ({
  name,
  raw,
  status: 422,
  code: 'validation_failed',
  fields: [field],
});

const emoji = '👩‍👩‍👧'; // five code points
const thai = 'ขอบคุณมากครับ';

apiTable('POST /v1/tips', { method: 'POST', url: '/v1/tips' }, [
  {
    name: 'a whole tip',
    body: { amount: 150.5, name: 'SOM_CHAI 1', message: thai, display_name: 'สมชาย' },
    status: 201,
    check: async (answer, { http, clock }, { headers, clientId }) => {
      const tip = answer.json();
      assert.match(tip.id, /^tip_[0-9a-hjkmnp-tv-z]{26}$/);
      const { app } = (await http.inject({ url: '/v1/me', headers })).json();
      assert.deepEqual(tip, {
        id: tip.id,
        status: 'recorded',
        amount: 150.5,
        amount_minor: 15050,
        currency: 'THB',
        name: 'SOM_CHAI 1',
        display_name: 'สมชาย',
        message: thai,
        source: { type: 'api', client_id: clientId, app_name: app.name },
        alert: { status: 'queued', shown_at: null, name: 'สมชาย', message: thai },
        voided_at: null,
        void_reason: null,
        created_at: new Date(clock()).toISOString(),
      });
      assert.equal(answer.headers.location, `/v1/tips/${tip.id}`);
      assert.equal(answer.headers['ratelimit-policy'], '"tips";q=10;w=60');
      assert.equal(answer.headers.ratelimit, '"tips";r=9;t=60');
    },
  },
  accepted('the smallest amount', { amount: 0.01 }, { amount: 0.01, amount_minor: 1 }),
  accepted('an amount that binary fractions miss', { amount: 0.07 }, { amount: 0.07, amount_minor: 7 }),
  accepted('an amount with an inexact product', { amount: 1.15 }, { amount: 1.15, amount_minor: 115 }),
  accepted('the cap', { amount: 100000 }, { amount: 100000, amount_minor: 10000000 }),
  accepted('an exponent', {}, { amount: 100 }),
  refused('amount 0', { amount: 0 }, 'amount'),
  refused('amount -1', { amount: -1 }, 'amount'),
  refused('amount -0.001: two broken rules', { amount: -0.001 }, 'amount', 'amount'),
  refused('three decimals', { amount: 0.001 }, 'amount'),
  refused('three decimals of a large amount', { amount: 1234.567 }, 'amount'),
  refused('cap + 0.01', { amount: 100000.01 }, 'amount'),
  refused('amount as text', { amount: '5' }, 'amount'),
  refused('amount null', { amount: null }, 'amount'),
  refused('amount true', { amount: true }, 'amount'),
  refused('amount as a list', { amount: [5] }, 'amount'),
  malformed('amount 1e309', json(good, 'amount', '1e309'), 'amount'),
  malformed('amount NaN', json(good, 'amount', 'NaN')),
  refused('amount "NaN"', { amount: 'NaN' }, 'amount'),
  refused('amount missing', { amount: undefined }, 'amount'),
  refused('name of 1 character', { name: 'A' }, 'name'),
  accepted('name of 2 characters', { name: 'AB' }, { name: 'AB' }),
  accepted('name of 25 characters', { name: 'A'.repeat(25) }, { name: 'A'.repeat(25) }),
  refused('name of 26 characters', { name: 'A'.repeat(26) }, 'name'),
  refused('name in lower case', { name: 'somchai' }, 'name'),
  refused('name in Thai', { name: 'สมชาย' }, 'name'),
  refused('name with a hyphen', { name: 'A-B' }, 'name'),
  refused('name with a line break at its end', { name: 'SOMCHAI\n' }, 'name'),
  refused('name empty: two broken rules', { name: '' }, 'name', 'name'),
  refused('name null', { name: null }, 'name'),
  refused('name as a number', { name: 42 }, 'name'),
  refused('name missing', { name: undefined }, 'name'),
  accepted('message of 255 code points with emoji', { message: emoji.repeat(51) }, { message: emoji.repeat(51) }),
  refused('message of 256 code points with emoji', { message: `${emoji.repeat(51)}!` }, 'message'),
  accepted('message empty stays empty', { message: '' }, { message: '' }),
  accepted('message null is absent', { message: null }, { message: null }),
  refused('message as a number', { message: 1 }, 'message'),
  accepted('display_name of 1 code point', { display_name: '😀' }, { display_name: '😀' }),
  accepted('display_name of 40 code points', { display_name: '😀'.repeat(40) }, { display_name: '😀'.repeat(40) }),
  refused('display_name of 41 code points', { display_name: '😀'.repeat(41) }, 'display_name'),
  refused('display_name empty: two broken rules', { display_name: '' }, 'display_name', 'display_name'),
  refused('display_name blank', { display_name: ' \u3000\u200b ' }, 'display_name'),
  refused('display_name with a control character', { display_name: 'a\u0007b' }, 'display_name'),
  refused('display_name with a bidi control', { display_name: 'abc\u202etxt' }, 'display_name'),
  accepted('display_name null is absent', { display_name: null }, { display_name: null }),
  refused('several broken rules', { amount: 0, name: 'a', message: 5 }, 'amount', 'name', 'name', 'message'),
  malformed('malformed JSON', '{"amount":'),
  malformed('no object', '[]'),
  malformed('JSON null', 'null'),
  malformed('bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])),
  malformed('__proto__', '{"amount":1,"name":"AB","__proto__":{"x":1}}', '__proto__'),
  malformed('__proto__ in disguise', '{"amount":1,"name":"AB","\\u005f_proto__":{"x":1}}', '__proto__'),
  malformed('NUL', '{"amount":1,"name":"AB","message":"a\\u0000b"}', 'message'),
  malformed('a lone surrogate', '{"amount":1,"name":"AB","message":"a\\ud83d"}', 'message'),
  malformed('a lone surrogate in a key that is ignored', '{"amount":1,"name":"AB","other":{"x":"\\udc00"}}', 'other'),
  malformed('JSON nested 10,000 deep', `{"amount":1,"name":"AB","x":${'['.repeat(10_000)}${']'.repeat(10_000)}}`),
  malformed('JSON nested deep and never closed', '['.repeat(60_000)),
  { name: 'no body', status: 422, code: 'validation_failed', fields: [null] },
  {
    name: 'text instead of JSON',
    raw: 'amount=1',
    headers: { 'content-type': 'text/plain' },
    status: 415,
    code: 'unsupported_media_type',
  },
  {
    name: 'a form instead of JSON',
    raw: 'amount=1&name=AB',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    status: 415,
    code: 'unsupported_media_type',
  },
  {
    name: 'JSON with a charset',
    raw: JSON.stringify(good),
    headers: { 'content-type': 'Application/JSON; charset=utf-8' },
    status: 201,
  },
  {
    name: 'a body of 64 KiB',
    body: { ...good, x: 'y'.repeat(65_536 - JSON.stringify({ ...good, x: '' }).length) },
    status: 201,
  },
  {
    name: 'a body of 64 KiB and one byte',
    body: { ...good, x: 'y'.repeat(65_537 - JSON.stringify({ ...good, x: '' }).length) },
    status: 413,
    code: 'body_too_large',
  },
  {
    name: 'a creator_id in the body changes nothing',
    body: good,
    status: 201,
    before: async ({ runtime }) => {
      const other = await makeCreator(runtime, 'other_creator');
      return {
        url: `/v1/tips?creator_id=${other.creatorId}`,
        body: { ...good, creator_id: other.creatorId, creator: other.creatorId },
      };
    },
    check: async (_answer, { runtime }, { creatorId }) => {
      const other = await runtime.accounts.byUsername('other_creator');
      assert.equal((await runtime.events.head(other.id))?.tip_count, 0);
      assert.equal((await runtime.events.head(creatorId))?.tip_count, 1);
    },
  },
  { name: 'a key of 255 characters', body: good, headers: { 'idempotency-key': 'k'.repeat(255) }, status: 201 },
  {
    name: 'a key of 256 characters',
    body: good,
    headers: { 'idempotency-key': 'k'.repeat(256) },
    status: 422,
    code: 'validation_failed',
    fields: ['Idempotency-Key'],
  },
  {
    name: 'a key with a space',
    body: good,
    headers: { 'idempotency-key': 'a b' },
    status: 422,
    code: 'validation_failed',
    fields: ['Idempotency-Key'],
  },
  {
    name: 'an empty key',
    body: good,
    headers: { 'idempotency-key': '' },
    status: 422,
    code: 'validation_failed',
    fields: ['Idempotency-Key'],
  },
  {
    name: 'the key’s form comes before the body',
    body: {},
    headers: { 'idempotency-key': 'ก' },
    status: 422,
    code: 'validation_failed',
    fields: ['Idempotency-Key'],
  },
  ...guardCases('tips.create').map((given) => ({ body: good, ...given })),
]);

test('TIP_NAME_PATTERN widens the characters, TIP_CAP_THB moves the cap', async (t) => {
  const app = await buildApp(t, { TIP_NAME_PATTERN: '[\\p{L}\\p{M}0-9 ]+', TIP_CAP_THB: '50.5' });
  const pair = await makePair(app.runtime);
  const post = (body: object) => send(app, pair, { method: 'POST', url: '/v1/tips', body });
  assert.equal((await post({ amount: 50.5, name: 'สมชาย' })).statusCode, 201);
  assert.equal((await post({ amount: 50.51, name: 'สมชาย' })).statusCode, 422);
  assert.equal((await post({ amount: 1, name: 'ส' })).statusCode, 422);
  assert.equal((await post({ amount: 1, name: 'A_B' })).statusCode, 422);
});

test('every answer to a tip is one of the order of checks: 404, 401, 403, 429, 413/415, 422', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime, { scope: 'tips.create' });
  const bad = {
    method: 'POST',
    url: '/v1/tips',
    raw: 'x'.repeat(70_000),
    headers: { 'content-type': 'text/plain' },
  } as const;
  for (let i = 0; i < 10; i++) assert.equal((await send(app, pair, bad)).statusCode, 413);
  assert.equal((await send(app, pair, bad)).statusCode, 429, 'a refused body still counts');
  const { creatorId, clientId } = pair;
  await app.runtime.grants.addByOperator(creatorId, clientId, 'tips.read');
  assert.equal((await send(app, pair, bad)).json().error.code, 'insufficient_scope');
  await app.runtime.grants.revoke(creatorId, clientId, 'operator');
  assert.equal((await send(app, pair, bad)).json().error.code, 'grant_unusable');
  app.clock.advance(3_600_000);
  assert.equal((await send(app, pair, bad)).json().error.code, 'token_expired');
  assert.equal((await send(app, pair, { ...bad, url: '/v1/tip' })).json().error.code, 'not_found');
});
