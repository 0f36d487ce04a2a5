import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:http';
import { type TestContext, test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import type { TestApp } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';
import { type Client, connect, listen, range, recordTips, socketToken } from '../../../test/sockets.ts';
import { execute } from '../../../test/sql.ts';
import { startStopwatch } from '../../../test/stopwatch.ts';

async function setUp(t: TestContext) {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const token = await socketToken(app, pair);
  const live = async (own = token): Promise<Client> => {
    const client = connect(t, app.address, { token: own });
    await client.frame(1);
    return client;
  };
  return { app, pair, token, live };
}

/** How many connections the server has ended or refused, by reason. */
async function endedBy({ runtime }: TestApp): Promise<Record<string, number>> {
  const text = await runtime.metrics.registry.getSingleMetricAsString('namjai_event_connections_ended_total');
  const counts = [...text.matchAll(/reason="(\w+)"\} (\d+)/g)].map(([, reason = '', count]) => [reason, Number(count)]);
  return Object.fromEntries(counts.filter(([, count]) => count !== 0));
}

test('a bad token never fails the upgrade: the socket opens, then closes with its code', async (t) => {
  const { app, pair } = await setUp(t);
  const stale = await socketToken(app, pair);
  app.clock.advance(600_000);
  for (const token of ['nonsense', '', pair.accessToken, stale]) {
    const client = connect(t, app.address, { token });
    let opened = false;
    client.webSocket.once('open', () => {
      opened = true;
    });
    assert.equal((await client.closed).code, 4401, token);
    assert.ok(opened);
    assert.deepEqual(client.frames, []);
  }
});

test('frames that make no sense close the socket with 4400', async (t) => {
  const { app, token, live } = await setUp(t);
  const auth = JSON.stringify({ type: 'auth', token });
  const firsts: [string, string | Buffer][] = [
    ['no JSON', '{'],
    ['not an object', 'null'],
    ['no auth', '{"type":"ping"}'],
    ['a broken after', JSON.stringify({ type: 'auth', token, after: 1.5 })],
    ['a negative after', JSON.stringify({ type: 'auth', token, after: -1 })],
    ['binary', Buffer.from(auth)],
    ['too long', auth.padEnd(8193)],
  ];
  for (const [what, frame] of firsts) {
    const client = connect(t, app.address, null);
    client.webSocket.once('open', () => client.webSocket.send(frame));
    assert.equal((await client.closed).code, 4400, what);
  }
  for (const after of ['x', '-1', '1.5', '']) {
    const client = connect(t, app.address, { token, after });
    assert.equal((await client.closed).code, 4400, `after=${after}`);
  }
  for (const frame of [auth, '{"type":"subscribe"}', '[]', 'x'.repeat(100_000)]) {
    const client = await live();
    client.webSocket.send(frame);
    assert.equal((await client.closed).code, 4400, frame.slice(0, 20));
  }
});

test('auth without a token closes with 4401, and none within ten seconds with 4402; each is counted once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const app = await listen(t);
  const silent = connect(t, app.address, null);
  const opened = new Promise((resolve) => silent.webSocket.once('open', resolve));
  const empty = connect(t, app.address, null);
  empty.webSocket.once('open', () => empty.webSocket.send('{"type":"auth"}'));
  assert.equal((await empty.closed).code, 4401);
  await opened;
  t.mock.timers.tick(9_999);
  assert.equal(silent.webSocket.readyState, silent.webSocket.OPEN);
  t.mock.timers.tick(1);
  assert.equal((await silent.closed).code, 4402);
  assert.deepEqual(await endedBy(app), { bad_token: 1, no_auth: 1 });
});

test('a bad frame is counted once, before and after the welcome', async (t) => {
  const { app, live } = await setUp(t);
  const stranger = connect(t, app.address, null);
  stranger.webSocket.once('open', () => stranger.webSocket.send('{'));
  assert.equal((await stranger.closed).code, 4400);
  assert.deepEqual(await endedBy(app), { bad_frame: 1 });
  const client = await live();
  client.webSocket.send('{');
  assert.equal((await client.closed).code, 4400);
  assert.deepEqual(await endedBy(app), { bad_frame: 2 });
  const leaving = await live();
  leaving.webSocket.close();
  await leaving.closed;
  assert.deepEqual(await endedBy(app), { bad_frame: 2 }, 'one that the client closes is not counted');
});

test('keepalive after 25 seconds without a frame, and in answer to a ping', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { app, pair, live } = await setUp(t);
  const client = await live();
  t.mock.timers.tick(24_500);
  await recordTips(app, pair.creatorId, 1);
  await client.frame(2);
  t.mock.timers.tick(24_500);
  client.webSocket.send('{"type":"ping"}');
  assert.deepEqual(await client.frame(3), { type: 'keepalive' }, 'the answer to the ping');
  t.mock.timers.tick(500);
  assert.deepEqual(await client.frame(4), { type: 'keepalive' }, 'nothing was sent for 25 seconds');
  await until('the pong is back', () => client.frames.length === 4);
  assert.equal(client.webSocket.readyState, client.webSocket.OPEN);
});

test('a peer that answers no ping of the protocol is given up', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { app, pair, token } = await setUp(t);
  const client = connect(t, app.address, { token }, { autoPong: false });
  await client.frame(1);
  t.mock.timers.tick(25_000);
  await client.frame(2);
  t.mock.timers.tick(25_000);
  assert.equal((await client.closed).code, 1006);
  await until('it is forgotten', () => app.runtime.streams.connected(pair.creatorId, 'socket') === 0);
});

test('whatever ends the permission ends the socket with 4403 within a second', async (t) => {
  const { app, pair, live } = await setUp(t);
  const { runtime } = app;
  const bystander = await makePair(runtime, { creator: pair });
  const other = await live(await socketToken(app, bystander));
  const endings: [string, () => Promise<unknown>, (() => Promise<unknown>)?][] = [
    [
      'an app suspended',
      () => runtime.grants.suspend('app', pair.clientId, 1),
      () => runtime.grants.suspend('app', pair.clientId, null),
    ],
    ['a scope taken away', () => runtime.grants.addByOperator(pair.creatorId, pair.clientId, 'tips.read')],
  ];
  for (const [what, end, restore] of endings) {
    const client = await live();
    await end();
    const stopwatch = startStopwatch();
    assert.equal((await client.closed).code, 4403, what);
    assert.ok(stopwatch() < 1000, what);
    await restore?.();
  }
  const again = await makePair(runtime, { creator: pair, app: pair });
  const token = await socketToken(app, again);
  const client = await live(token);
  await runtime.grants.revoke(pair.creatorId, pair.clientId, 'creator');
  assert.equal((await client.closed).code, 4403, 'a grant revoked');
  const late = connect(t, app.address, { token });
  assert.equal((await late.closed).code, 4403, 'a new connection with its token');

  assert.equal(other.webSocket.readyState, other.webSocket.OPEN, 'another app’s stays');
  await runtime.grants.suspend('creator', pair.creatorId, 1);
  assert.equal((await other.closed).code, 4403, 'the creator suspended');
});

test('a refresh token used again ends the sockets of its family within a second', async (t) => {
  const { app, pair, live } = await setUp(t);
  const client = await live();
  const refresh = () =>
    app.http.inject({
      method: 'POST',
      url: '/v1/oauth/token',
      payload: {
        grant_type: 'refresh_token',
        client_id: pair.clientId,
        client_secret: pair.clientSecret,
        refresh_token: pair.refreshToken,
      },
    });
  assert.equal((await refresh()).statusCode, 200);
  app.clock.advance(11_000);
  assert.equal((await refresh()).statusCode, 400);
  const stopwatch = startStopwatch();
  assert.equal((await client.closed).code, 4403);
  assert.ok(stopwatch() < 1000);
});

test('a family that ends takes its sockets with it, and no other’s; without a hint at the next sweep', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { app, pair, live } = await setUp(t);
  const sibling = await makePair(app.runtime, { creator: pair, app: pair });
  const [ended, stays] = [await live(), await live(await socketToken(app, sibling))];
  const claims = JSON.parse(Buffer.from(pair.accessToken.split('.')[1]!, 'base64url').toString());
  await execute(app.runtime.db, 'UPDATE families SET ended_at = 1 WHERE id = $1', [claims.family_id]);
  t.mock.timers.tick(10_000);
  assert.equal((await ended.closed).code, 4403);
  assert.equal(stays.webSocket.readyState, stays.webSocket.OPEN);
});

test('fifty connections for each app and creator; the next is closed with 4429 until one goes', async (t) => {
  const { app, pair, token, live } = await setUp(t);
  const clients = Array.from({ length: 60 }, () => connect(t, app.address, { token }));
  let refused = 0;
  for (const client of clients)
    client.closed.then(({ code }) => {
      refused += code === 4429 ? 1 : 0;
    });
  await until('ten are refused', () => refused === 10);
  await until('the others are live', () => clients.filter(({ frames }) => frames.length === 1).length === 50);
  const stream = await app.http.inject({ url: '/v1/events/stream', headers: pair.headers });
  assert.equal(stream.statusCode, 429, 'streams are counted with them');
  assert.match(String(stream.headers['retry-after']), /^\d+$/);

  const elsewhere = await makePair(app.runtime, { creator: pair });
  await live(await socketToken(app, elsewhere));
  clients.find(({ frames }) => frames.length === 1)?.webSocket.terminate();
  await until('its place is free', () => app.runtime.streams.connected(pair.creatorId, 'socket') === 50);
  await live();
});

test('whoever is gone before there was a place for them keeps none', async (t) => {
  const { app, pair, token } = await setUp(t);
  const open = (count: number) => range(1, count).map(() => connect(t, app.address, { token }));
  const liveOf = (clients: Client[]) => clients.filter(({ frames }) => frames.length === 1).length;
  const fifty = open(50);
  await until('fifty are live', () => liveOf(fifty) === 50);
  const late = open(10);
  await Promise.all(late.map(({ webSocket }) => once(webSocket, 'open')));
  for (const { webSocket } of [...late, ...fifty]) webSocket.terminate();
  await until('all are gone', () => app.runtime.streams.connected(pair.creatorId, 'socket') === 0);
  const next = open(50);
  await until('fifty others are live', () => liveOf(next) === 50);
});

test('a server that goes away asks to reconnect, lets nobody in, and closes with 1012', async (t) => {
  const { app, token, live } = await setUp(t);
  const [client, waiting] = [await live(), connect(t, app.address, null)];
  await new Promise((resolve) => waiting.webSocket.once('open', resolve));
  let moved = false;
  const moving = app.drain({ socketsMs: 10_000 }).then(() => {
    moved = true;
  });
  const frame = await client.frame(2);
  assert.equal(frame.type, 'reconnect');
  assert.ok(Number.isInteger(frame.after_ms));
  const newcomer = connect(t, app.address, { token });
  assert.equal((await newcomer.closed).code, 1012);
  const second = await app.http.inject('/healthz');
  assert.equal(second.statusCode, 200, 'requests are still answered');
  assert.equal(moved, false);
  client.webSocket.close();
  await moving;
  await app.http.close();
  assert.equal((await waiting.closed).code, 1012);
});

test('with no socket open there is nothing to wait for', async (t) => {
  const { app } = await setUp(t);
  await app.drain({ socketsMs: 30_000 });
});

test('plain requests and broken handshakes get 426; other paths, hosts and proxies are refused as requests are', async (t) => {
  const { app } = await setUp(t);
  const plain = await app.http.inject('/v1/socket');
  assert.equal(plain.statusCode, 426);
  assert.equal(plain.json().error.code, 'upgrade_required');
  assert.equal(plain.headers.upgrade, 'websocket');

  const upgrade = { connection: 'upgrade', upgrade: 'websocket' };
  const whole = { ...upgrade, 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13' };
  const cases: [string, Record<string, string>, number][] = [
    ['/v1/socket', { ...upgrade, 'sec-websocket-version': '13' }, 426],
    ['/v1/socket', { ...whole, 'sec-websocket-version': '7' }, 426],
    ['/v1/socket', { connection: 'upgrade', upgrade: 'h2c' }, 426],
    ['/v1/me', { connection: 'upgrade', upgrade: 'h2c' }, 401],
    ['/v1/nowhere', whole, 404],
    ['/v1/socket', { ...whole, host: 'tips.example' }, 421],
    ['/v1/socket', { ...whole, 'x-forwarded-for': '203.0.113.1' }, 421],
    ['/v1/socket', whole, 101],
  ];
  for (const [path, headers, status] of cases) {
    const answer = await answerTo(`http://${app.address}${path}`, headers);
    assert.equal(answer.status, status, `${path} ${JSON.stringify(headers)}`);
    assert.match(answer.requestId, /^req_/);
  }
});

async function answerTo(url: string, headers: Record<string, string>): Promise<{ status: number; requestId: string }> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers }, (response) => {
      response.resume();
      resolve({ status: response.statusCode ?? 0, requestId: String(response.headers['x-request-id']) });
    });
    request.on('upgrade', (response, socket) => {
      socket.destroy();
      resolve({ status: 101, requestId: String(response.headers['x-request-id']) });
    });
    request.on('error', reject);
  });
}
