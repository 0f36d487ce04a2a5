import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../sdk/test/until.ts';
import { StorageUnavailable } from '../../src/platform/db/database.ts';
import { createHttp } from '../../src/platform/http/server.ts';
import { createLog } from '../../src/platform/log.ts';
import { buildApp, onNodes } from '../build-app.ts';
import { basic, makePair } from '../factories.ts';
import { startReceiver } from '../receiver.ts';
import { skipWithoutRedisServer, startRedisServer } from '../redis.ts';
import { signedInVisitor } from '../visitor.ts';
import { buildWebhooks } from '../webhooks.ts';

function recorder(level = 'info') {
  const lines: Record<string, unknown>[] = [];
  const log = createLog({ level, stream: { write: (line) => void lines.push(JSON.parse(line)) } });
  return { lines, log, last: () => lines.at(-1) ?? {} };
}

test('the line of a failed request names the error, the app and the creator, as far as they are known', async (t) => {
  const { log, last } = recorder();
  const app = await buildApp(t, {}, { log });
  const { http, runtime, clock } = app;
  const pair = await makePair(runtime);
  const { clientId, creatorId, headers } = pair;
  const visitor = await signedInVisitor(app, creatorId);
  const overlay = await runtime.overlays.key(creatorId);
  const ended = await makePair(runtime);
  await runtime.grants.revoke(ended.creatorId, ended.clientId, 'creator');
  const code = { grant_type: 'authorization_code', code: 'none', redirect_uri: 'https://app.example/callback' };
  const named = { client_id: clientId, client_secret: pair.clientSecret };
  const says = (error: string | undefined, client: string | undefined, creator: string | undefined) => {
    const { error: code, client_id, creator_id } = last();
    assert.deepEqual([code, client_id, creator_id], [error, client, creator]);
  };

  await http.inject({ url: '/v1/me' });
  says('token_missing', undefined, undefined);
  await http.inject({ url: '/v1/tips?limit=0', headers });
  says('validation_failed', clientId, creatorId);
  await http.inject({ url: '/v1/me', headers: ended.headers });
  says('grant_unusable', ended.clientId, ended.creatorId);
  await http.inject({ method: 'POST', url: '/v1/webhooks', headers: basic(pair), payload: {} });
  says('validation_failed', clientId, undefined);
  await http.inject({ method: 'POST', url: '/v1/oauth/token', payload: { ...code, ...named } });
  says('invalid_grant', clientId, undefined);
  await http.inject({ method: 'POST', url: `/overlay/${overlay}/ack`, payload: {} });
  says('validation_failed', undefined, creatorId);
  await visitor.get(`/dashboard/tips/tip_${'0'.repeat(26)}`);
  says('not_found', undefined, creatorId);
  await http.inject({ url: '/v1/me', headers: { ...headers, traceparent: `00-${traceId}-","status":1-01` } });
  assert.equal(last().trace_id, undefined, 'a malformed traceparent is ignored');
  clock.advance(3_601_000);
  await http.inject({ url: '/v1/me', headers });
  says('token_expired', clientId, creatorId);
});

const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];

test('the line that tells why has the same fields as the line of its request', async (t) => {
  const { log, lines } = recorder();
  const { runtime } = await buildApp(t);
  const http = createHttp({
    ...runtime,
    log,
    caller: () => ({ clientId: 'app_1', creatorId: 'crt_1' }),
    isInjectedFault: () => false,
    onFailure() {},
    pageErrorWriter: () => undefined,
  });
  t.after(() => http.close());
  http.get('/gone/:key', async () => {
    throw new StorageUnavailable('no space', { reason: 'disk_full' });
  });
  http.get('/broken/:key', async () => {
    throw new RangeError('a bug');
  });
  for (const [path, error, reason] of [
    ['gone', 'upstream_failed', 'disk_full'],
    ['broken', 'internal_error', undefined],
  ]) {
    lines.length = 0;
    await http.inject({ url: `/${path}/a-key`, headers: { traceparent: `00-${traceId}-${spanId}-01` } });
    const [why, request] = lines;
    const trace = { trace_id: traceId, span_id: spanId };
    const shared = { error, client_id: 'app_1', creator_id: 'crt_1', method: 'GET', ...trace };
    for (const line of [why, request])
      for (const [name, value] of Object.entries(shared)) assert.equal(line?.[name], value, `${path} ${name}`);
    assert.equal(why?.request_id, request?.request_id);
    assert.deepEqual([why?.route, why?.reason], [`/${path}/:key`, reason]);
  }
});

test('a webhook that is enabled again is told, with why and for how long it was not', async (t) => {
  const { log, lines } = recorder();
  const { http, runtime, clock } = await buildApp(t, { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' }, { log });
  const pair = await makePair(runtime);
  const call = (method: 'POST' | 'PATCH', path: string, payload: object) =>
    http.inject({ method, url: `/v1/webhooks${path}`, headers: basic(pair), payload });
  const { id } = (await call('POST', '', { url: 'http://127.0.0.1:9999/' })).json();
  await call('PATCH', `/${id}`, { enabled: false });
  clock.advance(90_000);
  await call('PATCH', `/${id}`, { enabled: true });
  await call('PATCH', `/${id}`, { enabled: true });
  const enabledAgain = lines.filter(({ msg }) => msg === 'a webhook is enabled again');
  assert.equal(enabledAgain.length, 1);
  const { client_id, endpoint_id, reason, away_seconds } = enabledAgain[0] ?? {};
  assert.deepEqual([client_id, endpoint_id, reason, away_seconds], [pair.clientId, id, 'by_owner', 90]);
});

test('a webhook or connection that the server disables is told to the operator, and that it is enabled again', async (t) => {
  const { log, lines } = recorder('warn');
  const { add, call, runtime, worker, clock, pair } = await buildWebhooks(t, { log });
  const { webhooks } = runtime;
  const receiver = await startReceiver(t);
  const webhookLines = (...fields: string[]) =>
    lines.filter(({ msg }) => /^a webhook is/.test(`${msg}`)).map((line) => fields.map((name) => line[name]));
  const all = ['msg', 'endpoint_id', 'client_id', 'creator_id', 'reason'];
  receiver.answer = (response) => response.writeHead(410).end();
  const { id, secret } = await add(receiver.url);
  await call('POST', `/${id}/ping`);
  await worker.pass();
  assert.deepEqual(webhookLines(...all), [['a webhook is disabled', id, pair.clientId, null, 'gone']]);

  clock.advance(90_000);
  lines.length = 0;
  await call('PATCH', `/${id}`, { enabled: true });
  const again = ['a webhook is enabled again', id, pair.clientId, null, 'gone', 90];
  assert.deepEqual(webhookLines(...all, 'away_seconds'), [again]);

  lines.length = 0;
  receiver.answer = (response) => response.writeHead(500).end();
  const input = { url: receiver.url, secret: '', label: 'Chat', minAmountMinor: 0 };
  const connection = await webhooks.connections.add(pair.creatorId, 'discord', input);
  await call('POST', `/${id}/ping`);
  await webhooks.connections.send(pair.creatorId, connection.id, { id: 'evt_1', type: 'tip.created', body: '{}' });
  await worker.pass();
  clock.advance(6 * 86_400_000);
  await webhooks.disableFailing();
  await webhooks.disableFailing();
  assert.deepEqual(
    webhookLines(...all).sort(),
    [
      ['a webhook is disabled', connection.id, null, pair.creatorId, 'failing'],
      ['a webhook is disabled', id, pair.clientId, null, 'failing'],
    ].sort(),
  );
  await webhooks.connections.change(pair.creatorId, connection.id, { enabled: true });
  assert.deepEqual(webhookLines(...all).at(-1), [
    'a webhook is enabled again',
    connection.id,
    null,
    pair.creatorId,
    'failing',
  ]);
  const text = JSON.stringify(lines);
  for (const hidden of [secret, receiver.url, new URL(receiver.url).host]) assert.ok(!text.includes(hidden), hidden);

  // What its owner does is no news for the operator.
  lines.length = 0;
  await call('PATCH', `/${id}`, { enabled: true });
  lines.length = 0;
  await call('PATCH', `/${id}`, { enabled: false });
  await call('PATCH', `/${id}`, { enabled: true });
  assert.deepEqual(webhookLines('msg'), []);
});

test('Redis that goes away is told once, and once that it is back', {
  skip: onNodes ? skipWithoutRedisServer : 'one process needs no Redis',
}, async (t) => {
  const redis = await startRedisServer();
  t.after(() => redis.stop());
  const { log, lines } = recorder('warn');
  await buildApp(t, { REDIS_URL: redis.url }, { log });
  const linesWith = (msg: string) => lines.filter((line) => line.msg === msg);
  assert.deepEqual([linesWith('Redis is away').length, linesWith('Redis is back').length], [0, 0]);
  await redis.stop();
  await until('its line is there', () => linesWith('Redis is away').length > 0);
  await redis.restart();
  await until('it is back', () => linesWith('Redis is back').length > 0);
  assert.equal(linesWith('Redis is away').length, 1, 'not for every attempt to connect');
  assert.equal(typeof linesWith('Redis is back')[0]?.away_seconds, 'number');
});
