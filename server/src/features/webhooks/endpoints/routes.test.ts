import assert from 'node:assert/strict';
import { test } from 'node:test';
import { basic } from '../../../../test/factories.ts';
import { startReceiver } from '../../../../test/receiver.ts';
import { storedBytes } from '../../../../test/stored-bytes.ts';
import { buildWebhooks } from '../../../../test/webhooks.ts';

test('a webhook is made, shown, changed and removed', async (t) => {
  const { call, clock } = await buildWebhooks(t);
  const made = await call('POST', '', {
    url: 'https://receiver.test/hook',
    types: ['tip.created'],
    description: 'Bot',
  });
  assert.equal(made.statusCode, 201);
  const { secret, ...webhook } = made.json();
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.match(webhook.id, /^whk_[0-9a-hjkmnp-tv-z]{26}$/);
  assert.deepEqual(webhook, {
    id: webhook.id,
    kind: 'http',
    url: 'https://receiver.test/hook',
    types: ['tip.created'],
    description: 'Bot',
    enabled: true,
    disabled_reason: null,
    created_at: new Date(clock()).toISOString(),
  });
  assert.equal(made.headers.location, `/v1/webhooks/${webhook.id}`);
  assert.deepEqual((await call('GET', '')).json(), { data: [webhook], next_cursor: null });
  assert.deepEqual((await call('GET', `/${webhook.id}`)).json(), webhook);

  const off = await call('PATCH', `/${webhook.id}`, { enabled: false, types: null, description: null });
  assert.deepEqual(off.json(), {
    ...webhook,
    types: null,
    description: null,
    enabled: false,
    disabled_reason: 'by_owner',
  });
  const on = await call('PATCH', `/${webhook.id}`, { enabled: true, url: 'https://other.test/' });
  assert.deepEqual(on.json(), { ...webhook, types: null, description: null, url: 'https://other.test/' });
  assert.deepEqual((await call('PATCH', `/${webhook.id}`, { url: null, enabled: null })).json(), on.json());

  const gone = await call('DELETE', `/${webhook.id}`);
  assert.deepEqual([gone.statusCode, gone.body], [204, '']);
  assert.equal((await call('GET', `/${webhook.id}`)).statusCode, 404);
  assert.deepEqual((await call('GET', '')).json().data, []);
});

test('what breaks a rule is refused, each with its field', async (t) => {
  const { call, add } = await buildWebhooks(t);
  const refused: [object, string][] = [
    [{}, 'url'],
    [{ url: 'https://10.0.0.1/' }, 'url'],
    [{ url: 'http://8.8.8.8/' }, 'url'],
    [{ url: 'not an address' }, 'url'],
    [{ url: 'https://receiver.test', types: ['tip.unknown'] }, 'types'],
    [{ url: 'https://receiver.test', types: [] }, 'types'],
    [{ url: 'https://receiver.test', types: 'tip.created' }, 'types'],
    [{ url: 'https://receiver.test', description: 'x'.repeat(201) }, 'description'],
  ];
  for (const [body, field] of refused) {
    const response = await call('POST', '', body);
    assert.equal(response.statusCode, 422, JSON.stringify(body));
    assert.equal(response.json().error.details[0].field, field, response.body);
  }
  const { id } = await add('https://receiver.test');
  assert.equal((await call('PATCH', `/${id}`, { url: 'https://127.0.0.1.nip.io@10.0.0.1' })).statusCode, 422);
  const { error } = (await call('POST', '', { url: 'https://10.0.0.1/' })).json();
  assert.match(error.details[0].message, /^must lead to a public address; .* use namjai listen, or set WEBHOOK_ALLOW_/);
  assert.equal(
    (await call('POST', `/${id}/replay`, { from: 'yesterday', to: '2026-13-01' })).json().error.details.length,
    2,
  );
  assert.equal((await call('POST', `/${id}/replay`, { from: '2026-11-02', to: '2026-11-01' })).statusCode, 422);
  assert.equal((await call('GET', `/${id}/deliveries?status=lost`)).statusCode, 422);
  assert.equal((await call('GET', `/${id}/deliveries?limit=101`)).statusCode, 422);
});

test('an app has at most ten webhooks, also when it asks for many at once', async (t) => {
  const { call } = await buildWebhooks(t);
  const answers = await Promise.all(
    Array.from({ length: 14 }, () => call('POST', '', { url: 'https://receiver.test' })),
  );
  assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [...Array(10).fill(201), ...Array(4).fill(422)]);
});

test('without the right Basic credentials: 401 client_invalid, after 20 failures 429, and the right ones always work', async (t) => {
  const { http, pair, runtime, otherApp } = await buildWebhooks(t);
  const get = (headers: Record<string, string>) => http.inject({ method: 'GET', url: '/v1/webhooks', headers });
  for (const headers of [
    {},
    pair.headers,
    { authorization: 'Basic !!' },
    basic({ ...pair, clientSecret: 'njs_wrong' }),
    basic({ ...(await otherApp()), clientSecret: pair.clientSecret }),
  ]) {
    const response = await get(headers);
    assert.equal(response.statusCode, 401);
    assert.equal(response.json().error.code, 'client_invalid');
    assert.match(String(response.headers['www-authenticate']), /^Basic /);
  }
  const statuses = [];
  for (let i = 0; i < 21; i++) statuses.push(await get(basic({ ...pair, clientSecret: 'njs_wrong' })));
  assert.equal(statuses.at(-1)!.statusCode, 429);
  assert.ok(Number(statuses.at(-1)!.headers['retry-after']) > 0);
  assert.equal((await get(basic(pair))).statusCode, 200);
  await runtime.grants.suspend('app', pair.clientId, 1);
  assert.equal((await get(basic(pair))).statusCode, 401);
});

test('401 comes before 415 and 422, 404 and 405 before 401', async (t) => {
  const { http } = await buildWebhooks(t);
  const status = async (method: 'POST' | 'PUT', url: string) =>
    (await http.inject({ method, url, headers: { 'content-type': 'text/plain' }, payload: 'x' })).statusCode;
  assert.equal(await status('POST', '/v1/webhooks'), 401);
  assert.equal(await status('PUT', '/v1/webhooks'), 405);
  assert.equal(await status('POST', '/v1/webhooks/a/b'), 404);
});

test('security 23: another app’s webhook or delivery is not found, whatever is asked of it', async (t) => {
  const { call, add, tip, worker, otherApp, deliveries } = await buildWebhooks(t);
  const receiver = await startReceiver(t);
  const { id } = await add(receiver.url);
  await tip();
  await worker.pass();
  const [delivery] = await deliveries(id);
  const stranger = await otherApp();
  const span = { from: '2026-11-01', to: '2026-11-30' };
  const asked: [Parameters<typeof call>[0], string, object?][] = [
    ['GET', `/${id}`],
    ['PATCH', `/${id}`, { enabled: false }],
    ['DELETE', `/${id}`],
    ['POST', `/${id}/rotate-secret`],
    ['POST', `/${id}/ping`],
    ['GET', `/${id}/deliveries`],
    ['POST', `/${id}/deliveries/${delivery!.id}/retry`],
    ['POST', `/${id}/replay`, span],
  ];
  for (const [method, path, body] of asked) {
    const response = await call(method, path, body, stranger);
    assert.equal(response.statusCode, 404, `${method} ${path}`);
    assert.equal(response.json().error.code, 'not_found');
  }
  assert.deepEqual((await call('GET', '', undefined, stranger)).json().data, []);
  const own = (await call('POST', '', { url: 'https://receiver.test' }, stranger)).json();
  assert.equal(
    (await call('POST', `/${own.id}/deliveries/${delivery!.id}/retry`, undefined, stranger)).statusCode,
    404,
  );
  assert.equal((await call('GET', `/${id}`)).json().enabled, true);
  assert.equal(receiver.requests.length, 1);
});

test('security 23: a cursor that was altered, is another webhook’s or goes with another filter → 422', async (t) => {
  const { call, add, tip, worker } = await buildWebhooks(t);
  const receiver = await startReceiver(t);
  const [{ id }, other] = [await add(receiver.url), await add(receiver.url, { types: ['alert.test'] })];
  for (let i = 0; i < 5; i++) await tip();
  await worker.pass();
  const page = async (query: string, of = id) => call('GET', `/${of}/deliveries?limit=2${query}`);
  const seen: string[] = [];
  let cursor = '';
  do {
    const { data, next_cursor } = (await page(cursor && `&cursor=${cursor}`)).json();
    seen.push(...data.map((delivery: { id: string }) => delivery.id));
    cursor = next_cursor;
  } while (cursor);
  assert.equal(seen.length, 5);
  assert.deepEqual(seen, [...new Set(seen)].sort().reverse(), 'newest first, each once');

  const first = (await page('&status=succeeded')).json().next_cursor;
  assert.equal((await page(`&status=succeeded&cursor=${first}`)).statusCode, 200);
  assert.equal((await page(`&cursor=${first}`)).json().data.length, 2);
  assert.equal((await page(`&status=failed&cursor=${first}`)).statusCode, 422);
  assert.equal((await page(`&cursor=${first}`, other.id)).statusCode, 422);
  assert.equal((await page(`&cursor=${first.startsWith('A') ? 'B' : 'A'}${first.slice(1)}`)).statusCode, 422);
  assert.equal((await page('&cursor=nonsense')).statusCode, 422);
});

test('security 24: no webhook secret stands in the database in clear', async (t) => {
  const { call, add, ...app } = await buildWebhooks(t);
  const { id, secret } = await add('https://receiver.test');
  const rotated = (await call('POST', `/${id}/rotate-secret`)).json();
  const stored = await storedBytes(app);
  assert.ok(stored.includes(id), 'there is something to search');
  for (const text of [secret, rotated.secret])
    for (const form of [text, text.slice(6), Buffer.from(text.slice(6), 'base64')])
      assert.equal(stored.includes(form), false);
  assert.equal((await call('GET', `/${id}`)).body.includes('whsec_'), false, 'it is shown once');
});
