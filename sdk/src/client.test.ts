import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { until } from '../test/until.ts';
import { StopEvents } from './events/index.ts';
import { type ClientOptions, createClient, NamjaiError } from './index.ts';

type Seen = { method: string; url: string; key: string | undefined; auth: string | undefined; body: string };
type Answer = (response: ServerResponse, seen: Seen) => void;

/** A real HTTP server that answers from a list, the last answer for ever. */
async function setUp(t: TestContext, answers: Answer[], options: Partial<ClientOptions> = {}) {
  const seen: Seen[] = [];
  const sleeps: number[] = [];
  const server = createServer(async (request: IncomingMessage, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { method = '', url = '', headers } = request;
    const key = headers['idempotency-key']?.toString();
    const one = { method, url, key, auth: headers.authorization, body };
    seen.push(one);
    (answers.shift() ?? last)(response, one);
  }).listen(0, '127.0.0.1');
  const last = answers.at(-1) ?? json(200, {});
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const sleep = async (ms: number) => void sleeps.push(ms);
  const baseUrl = `http://127.0.0.1:${address.port}`;
  const client = createClient({ baseUrl, accessToken: 'at', sleep, random: () => 0.5, ...options });
  return { client, seen, sleeps };
}

function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
const refuse = (status: number, code: string, headers = {}) =>
  json(status, { error: { code, message: `said ${code}`, request_id: 'req_1' } }, headers);
const hangUp: Answer = (response) => response.destroy();
const tip = { amount: 150.5, name: 'SOMCHAI' };

test('each method calls its endpoint with the token', async (t) => {
  const { client, seen } = await setUp(t, [json(200, { ok: true })]);
  await client.me();
  await client.profile();
  await client.tips.get('tip_1/..');
  await client.tips.stats();
  await client.tips.create(tip, { idempotencyKey: 'pay-1' });
  await client.tips.void('tip_1', { reason: 'Refunded' });
  await client.goals();
  await client.alerts.send();
  await client.events.list({ after: 7, limit: 2 });
  await client.socketToken();
  assert.deepEqual(
    seen.map(({ method, url }) => `${method} ${url}`),
    [
      'GET /v1/me',
      'GET /v1/profile',
      'GET /v1/tips/tip_1%2F..',
      'GET /v1/tips/stats',
      'POST /v1/tips',
      'POST /v1/tips/tip_1/void',
      'GET /v1/goals',
      'POST /v1/alerts',
      'GET /v1/events?after=7&limit=2',
      'GET /v1/socket/token',
    ],
  );
  assert.ok(seen.every(({ auth }) => auth === 'Bearer at'));
  assert.deepEqual([seen[4]?.key, seen[4]?.body], ['pay-1', JSON.stringify(tip)]);
});

test('tips are iterated over all pages, and page by page', async (t) => {
  const pages = () => [
    json(200, { data: [{ id: 'tip_3' }, { id: 'tip_2' }], next_cursor: 'c+1' }),
    json(200, { data: [{ id: 'tip_1' }], next_cursor: null }),
  ];
  const { client, seen } = await setUp(t, [...pages(), ...pages()]);
  const ids: string[] = [];
  for await (const { id } of client.tips.list({ from: '2026-11-01', limit: 2 })) ids.push(id);
  assert.deepEqual(ids, ['tip_3', 'tip_2', 'tip_1']);
  assert.deepEqual(
    seen.map(({ url }) => url),
    ['/v1/tips?from=2026-11-01&limit=2', '/v1/tips?from=2026-11-01&limit=2&cursor=c%2B1'],
  );
  const sizes: number[] = [];
  for await (const { data } of client.tips.list().pages()) sizes.push(data.length);
  assert.deepEqual(sizes, [2, 1]);
});

test('a tip is tried again under one made-up key, waiting as told', async (t) => {
  const { client, seen, sleeps } = await setUp(t, [
    hangUp,
    refuse(502, 'upstream_failed'),
    refuse(429, 'rate_limited', { 'retry-after': '7' }),
    json(201, { id: 'tip_1' }),
  ]);
  assert.equal((await client.tips.create(tip)).id, 'tip_1');
  assert.equal(seen.length, 4);
  assert.equal(new Set(seen.map(({ key }) => key)).size, 1);
  assert.match(seen[0]?.key ?? '', /^[0-9a-f-]{36}$/);
  assert.deepEqual(sleeps, [250, 500, 7000]);
  await client.tips.create(tip);
  assert.notEqual(seen[4]?.key, seen[0]?.key);
});

test('tries are bounded, and too long a wait is left to the caller', async (t) => {
  const down = await setUp(t, [refuse(502, 'upstream_failed')]);
  await assert.rejects(down.client.me(), { status: 502 });
  assert.equal(down.seen.length, 4);
  const cut = await setUp(t, [hangUp], { retries: 1 });
  await assert.rejects(cut.client.me(), { status: 0, code: 'connection_failed' });
  assert.equal(cut.seen.length, 2);
  const limited = await setUp(t, [refuse(429, 'rate_limited', { 'retry-after': '61' })]);
  await assert.rejects(limited.client.me(), { code: 'rate_limited' });
  assert.equal(limited.seen.length, 1);
});

test('a test alert is repeated after 429 only', async (t) => {
  for (const lost of [hangUp, refuse(502, 'upstream_failed')]) {
    const { client, seen } = await setUp(t, [lost, json(201, {})]);
    await assert.rejects(client.alerts.send());
    assert.equal(seen.length, 1);
  }
  const { client, seen } = await setUp(t, [refuse(429, 'rate_limited', { 'retry-after': '1' }), json(201, {})]);
  await client.alerts.send({ amount: 20 });
  assert.equal(seen.length, 2);
});

test('a server that never answers is given up', async (t) => {
  let attempts = 0;
  // On a busy machine the time may be up before the request has reached the server.
  const counted: typeof fetch = (...request) => {
    attempts += 1;
    return fetch(...request);
  };
  const { client } = await setUp(t, [() => {}], { timeoutMs: 20, retries: 1, fetch: counted });
  await assert.rejects(client.me(), (error) => {
    assert.ok(error instanceof NamjaiError && error.cause instanceof Error);
    assert.deepEqual([error.status, error.code, error.cause.name], [0, 'timed_out', 'TimeoutError']);
    assert.match(error.message, /^No answer from http:\/\/127\.0\.0\.1:\d+ in time, tried 2 times\. Check baseUrl/);
    return true;
  });
  assert.equal(attempts, 2);
});

test('a lost connection is an error of the SDK that says what to do next, with its cause', async (t) => {
  const { client, seen } = await setUp(t, [hangUp], { retries: 1 });
  const failure = async (call: Promise<unknown>) => {
    const error = await call.catch((thrown) => thrown);
    assert.ok(error instanceof NamjaiError && error.cause instanceof TypeError, String(error));
    assert.deepEqual([error.status, error.code, error.requestId, error.details], [0, 'connection_failed', null, []]);
    return error.message;
  };
  assert.match(
    await failure(client.me()),
    /^No answer from \S+ \(.*(SOCKET|ECONNRESET).*\), tried 2 times\..*call again\.$/,
  );
  // The key that was made up is the only way to ask again without recording the tip twice.
  const words = await failure(client.tips.create(tip));
  assert.ok(words.includes(`idempotencyKey ${seen[2]?.key}:`), words);
  assert.match(await failure(client.alerts.send()), /tried once\..*may do it twice/);
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  await new Promise((closed) => server.close(closed));
  const nobody = createClient({ baseUrl: `http://127.0.0.1:${address.port}`, accessToken: 'at', retries: 0 });
  assert.match(await failure(nobody.me()), /\(ECONNREFUSED\)/);
  assert.match(
    await failure(nobody.tips.void('tip_1')),
    /whether the server runs, then call again: a repeat changes nothing\.$/,
  );
});

test('an answer cut short is tried again; one that is not JSON is not, and an address that is none never', async (t) => {
  const cut: Answer = (response) => {
    response.writeHead(200, { 'content-length': '20' }).write('{"id":');
    setImmediate(() => response.destroy());
  };
  const page: Answer = (response) => response.writeHead(200).end('<html>');
  const { client, seen, sleeps } = await setUp(t, [cut, json(200, { id: 'crt_1' }), page]);
  assert.equal((await client.me()).id, 'crt_1');
  await assert.rejects(client.me(), { status: 200, code: 'unknown_error', message: /not with JSON/ });
  assert.deepEqual([seen.length, sleeps.length], [3, 1]);
  const wrong = await setUp(t, [], { baseUrl: 'tips.example' });
  await assert.rejects(wrong.client.me(), { code: 'ERR_INVALID_URL' });
  assert.deepEqual(wrong.sleeps, []);
});

test('refusals become a NamjaiError with all that the server said', async (t) => {
  const details = [{ field: 'amount', message: 'must be greater than 0' }];
  const error = { code: 'validation_failed', message: 'The request is not valid', request_id: 'req_9', details };
  const { client, seen } = await setUp(t, [
    json(422, { error }),
    (response) => response.writeHead(400, { 'x-request-id': 'req_8' }).end('<html>'),
  ]);
  await assert.rejects(client.tips.create(tip), (thrown) => {
    assert.ok(thrown instanceof NamjaiError);
    const { status, code, message, requestId } = thrown;
    assert.deepEqual(
      { status, code, message, request_id: requestId, details: thrown.details },
      { status: 422, ...error },
    );
    return true;
  });
  assert.equal(seen.length, 1);
  await assert.rejects(client.me(), { status: 400, code: 'unknown_error', requestId: 'req_8', details: [] });
});

test('a refused token is renewed by the callback, and again if the new one has expired, too', async (t) => {
  const asked: (string | undefined)[] = [];
  const accessToken = (refused?: string) => `at-${asked.push(refused)}`;
  const expired = refuse(401, 'token_expired');
  const wrong = refuse(401, 'token_invalid');
  const answers = [expired, json(200, {}), expired, expired, json(200, {}), wrong, wrong];
  const { client, seen } = await setUp(t, [...answers, expired, expired, expired, expired], { accessToken });
  await client.me();
  assert.deepEqual(asked, [undefined, 'at-1']);
  assert.deepEqual(
    seen.map(({ auth }) => auth),
    ['Bearer at-1', 'Bearer at-2'],
  );
  await client.me();
  assert.deepEqual(asked.slice(2), [undefined, 'at-3', 'at-4']);
  await assert.rejects(client.me(), { code: 'token_invalid' });
  assert.equal(seen.length, 7, 'a token that is wrong is renewed once');
  await assert.rejects(client.me(), { code: 'token_expired' });
  assert.equal(seen.length, 11, 'no more often than a call is repeated');
});

test('events.connect ends for good when the grant or a fixed token is refused', async (t) => {
  for (const refusal of [refuse(403, 'grant_unusable'), refuse(401, 'token_expired')]) {
    const { client, seen } = await setUp(t, [refusal]);
    let reason: unknown;
    const connection = client.events.connect({
      onEvent: () => assert.fail('there is no event'),
      onStatus: (_, { error }) => {
        reason = error;
      },
    });
    t.after(() => connection.close());
    await until('it has ended', () => connection.status === 'ended');
    assert.ok(reason instanceof StopEvents && reason.cause instanceof NamjaiError);
    assert.equal(seen.length, 1);
  }
});
