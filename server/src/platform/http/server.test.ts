import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';

async function listen({ http }: TestApp): Promise<number> {
  await http.listen({ host: '127.0.0.1', port: 0 });
  const address = http.server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Writes bytes to a socket and reads until the other side closes. */
async function talk(port: number, ...parts: string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  for (const part of parts) socket.write(part);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => {});
  await once(socket, 'close');
  return text;
}

test('security 25: a body that never ends gets 408 while other requests go on', async (t) => {
  const app = await buildApp(t);
  app.http.server.requestTimeout = 1000;
  app.http.server.headersTimeout = 900;
  const { headers } = await makePair(app.runtime);
  const port = await listen(app);
  const slow = talk(
    port,
    `POST /v1/tips HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${headers.authorization}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"amount"`,
  );
  const slowHeaders = talk(port, 'GET /v1/me HTTP/1.1\r\nHost: localhost\r\n');
  const other = await fetch(`http://127.0.0.1:${port}/v1/me`, { headers });
  assert.equal(other.status, 200);
  for (const answer of await Promise.all([slow, slowHeaders])) {
    assert.match(answer, /^HTTP\/1\.1 408 /);
    assert.match(answer, /"code":"request_timeout"/);
    assert.match(answer, /x-request-id: req_/i);
  }
  assert.equal((await app.runtime.db.all('SELECT id FROM tips')).length, 0);
});

test('a client that asks for much and reads nothing is cut off', async (t) => {
  const app = await buildApp(t);
  assert.equal(app.http.server.timeout, 120_000);
  // It runs from the connection on, so that the requests must be read within it.
  app.http.server.timeout = 3_000;
  const port = await listen(app);
  const socket = connect(port, '127.0.0.1').pause();
  t.after(() => socket.destroy());
  app.http.server.once('request', ({ socket: ours }) => ours.once('close', () => closed.resolve()));
  const closed = Promise.withResolvers<void>();
  socket.write('GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(60));
  await closed.promise;
});

test('a client that asks for an upgrade and does not read the answer is cut off too', async (t) => {
  const app = await buildApp(t);
  // It runs from the connection on, so that the requests must be read within it.
  app.http.server.timeout = 3_000;
  const closed = Promise.withResolvers<void>();
  app.http.server.once('upgrade', (_request, ours) => {
    // As if the client had stopped reading before the first byte.
    ours.write = () => false;
    ours.once('close', () => closed.resolve());
  });
  const port = await listen(app);
  const socket = connect(port, '127.0.0.1').pause();
  t.after(() => socket.destroy());
  socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  await closed.promise;
});

test('security 25: of thousands of query parameters the first hundred count', async (t) => {
  const app = await buildApp(t);
  const { headers } = await makePair(app.runtime);
  const others = (count: number) => Array.from({ length: count }, (_, i) => `a${i}`).join('&');
  const ask = async (query: string) => (await app.http.inject({ url: `/v1/tips?${query}`, headers })).statusCode;
  assert.equal(await ask(`${others(99)}&limit=wrong`), 422);
  assert.equal(await ask(`${others(100)}&limit=wrong`), 200);
  assert.equal(await ask(others(10_000)), 200);
});

test('security 25: of a content type of thousands of parameters the first characters count', async (t) => {
  const app = await buildApp(t);
  const { headers } = await makePair(app.runtime);
  const port = await listen(app);
  const requests: IncomingMessage[] = [];
  app.http.server.on('request', (request) => void requests.push(request));
  const parameters = Array.from({ length: 6000 }, (_, i) => `;a${i}=b`).join('');
  const types = ['application/json; charset=utf-8', `application/json${parameters}`];
  for (const type of types) {
    const sent = { ...headers, 'content-type': type };
    const body = '{"amount":5,"name":"SOMCHAI"}';
    assert.equal(
      (await fetch(`http://127.0.0.1:${port}/v1/tips`, { method: 'POST', headers: sent, body })).status,
      201,
    );
  }
  assert.deepEqual(
    requests.map((request) => request.headers['content-type']),
    types.map((type) => type.slice(0, 256)),
  );
});

test('paths that nobody can decode wait in the queue like all others', async (t) => {
  const { http } = await buildApp(t);
  await http.ready();
  for (const url of ['/nothing', '/%zz']) {
    const answered = new Map<number, number>();
    let iteration = 0;
    let timer = setImmediate(function count() {
      iteration += 1;
      timer = setImmediate(count);
    });
    const answers = Array.from({ length: 300 }, async () => {
      assert.equal((await http.inject(url)).statusCode, 404);
      answered.set(iteration, (answered.get(iteration) ?? 0) + 1);
    });
    await Promise.all(answers);
    clearImmediate(timer);
    assert.ok(Math.max(...answered.values()) <= 64, `${url}: ${[...answered.values()]}`);
  }
});

test('a connection is not kept in memory with a long address or long headers', async (t) => {
  const { http } = await buildApp(t);
  const connectionOf = async (url: string, headers: Record<string, string> = {}) =>
    (await http.inject({ url, headers })).headers.connection;
  const long = 'a'.repeat(9000);
  assert.equal(await connectionOf(`/login?a=${long}`), 'close');
  assert.equal(await connectionOf('/healthz', { cookie: long }), 'close');
  assert.equal(await connectionOf(`/${long}`), 'close');
  assert.notEqual(await connectionOf(`/login?a=${long.slice(0, 4000)}`, { cookie: long.slice(0, 3000) }), 'close');
});

test('a target that is no path is an unknown path', async (t) => {
  const app = await buildApp(t);
  const port = await listen(app);
  const ask = (line: string) => talk(port, `${line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  for (const line of ['GET *', 'HEAD *', 'OPTIONS *', 'GET *?x=1', 'GET http:', 'GET //'])
    assert.match(await ask(line), /^HTTP\/1\.1 40[04] /, line);
  assert.match(await ask('GET http://localhost/healthz'), /^HTTP\/1\.1 200 /);
});

test('what is not HTTP, or has too many headers, gets an answer and harms nobody', async (t) => {
  const app = await buildApp(t);
  const port = await listen(app);
  assert.match(await talk(port, 'hello\r\n\r\n'), /^HTTP\/1\.1 400 /);
  assert.match(
    await talk(port, `GET /v1/me HTTP/1.1\r\nHost: localhost\r\nX: ${'y'.repeat(70_000)}\r\n\r\n`),
    /^HTTP\/1\.1 431 /,
  );
  assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200);
});

test('every answer has a request id: also without a Host, with an unknown expectation, or in absolute form', async (t) => {
  const app = await buildApp(t);
  const { headers } = await makePair(app.runtime);
  const port = await listen(app);
  const request = (target: string, lines: string) =>
    talk(
      port,
      `GET ${target} HTTP/1.1\r\nAuthorization: ${headers.authorization}\r\n${lines}Connection: close\r\n\r\n`,
    );
  const cases: [target: string, lines: string, status: number][] = [
    ['/v1/me', '', 400],
    ['/v1/me', 'Host: localhost\r\nHost: localhost\r\n', 400],
    ['/v1/me', 'Host: localhost\r\nExpect: wonders\r\n', 200],
    ['http://localhost/v1/me', 'Host: localhost\r\n', 200],
    ['http://localhost/v1/alerts?x=/', 'Host: localhost\r\n', 405],
    ['http://localhost', 'Host: localhost\r\n', 200],
  ];
  for (const [target, lines, status] of cases) {
    const answer = await request(target, lines);
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), target + lines);
    assert.match(answer, /x-request-id: req_/i, target + lines);
    if (target.includes('/v1/')) assert.match(answer, /cache-control: no-store/i, target + lines);
  }
});

test('a client that asks whether to send its body is told to go on, and gets its answer', async (t) => {
  const app = await buildApp(t);
  const { headers } = await makePair(app.runtime);
  const socket = connect(await listen(app), '127.0.0.1');
  t.after(() => socket.destroy());
  const body = '{"amount":5,"name":"SOMCHAI"}';
  const head = [
    'POST /v1/tips HTTP/1.1',
    'Host: localhost',
    `Authorization: ${headers.authorization}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Expect: 100-continue',
  ];
  for (let round = 0; round < 2; round++) {
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 100 Continue\r\n/);
    socket.write(body);
    assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 201 /);
  }
});

test('an id of any length is only an id: 401 without a token, 404 with one', async (t) => {
  const app = await buildApp(t);
  const { headers } = await makePair(app.runtime);
  const url = `/v1/tips/${'x'.repeat(5000)}`;
  assert.equal((await app.http.inject({ url })).statusCode, 401);
  const answer = await app.http.inject({ url, headers });
  assert.equal(answer.statusCode, 404);
  assert.equal(answer.json().error.code, 'not_found');
});

test('security 25: whoever sends far too much can go on sending until they see the 413', async (t) => {
  const app = await buildApp(t);
  const { headers } = await makePair(app.runtime);
  const origin = `http://127.0.0.1:${await listen(app)}`;
  const bytes = 'x'.repeat(10_000_000);
  const cases = [
    ['/v1/alerts', bytes],
    ['/v1/alerts', new Blob([bytes]).stream()],
    ['/v1/oauth/token', bytes],
    ['/login', bytes],
  ] as const;
  for (const [path, body] of cases) {
    const request = {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
      duplex: 'half',
    };
    const answer = await fetch(origin + path, request);
    assert.equal(answer.status, 413);
    // A connection that is closed at once breaks under a client that is still sending.
    assert.notEqual(answer.headers.get('connection'), 'close', path);
  }
});

test('security 19: two Authorization headers are refused', async (t) => {
  const app = await buildApp(t);
  const { headers } = await makePair(app.runtime);
  const port = await listen(app);
  const line = `Authorization: ${headers.authorization}\r\n`;
  const request = (lines: string) =>
    talk(port, `GET /v1/me HTTP/1.1\r\nHost: localhost\r\n${lines}Connection: close\r\n\r\n`);
  assert.match(await request(line), /^HTTP\/1\.1 200 /);
  const twice = await request(line + line);
  assert.match(twice, /^HTTP\/1\.1 401 /);
  assert.match(twice, /www-authenticate: Bearer/i);
});

test('security 33: in development a foreign Host or a forwarded request gets 421 naming the settings', async (t) => {
  const { http } = await buildApp(t);
  for (const host of ['localhost', 'localhost:8080', '127.0.0.1', '[::1]:8080'])
    assert.equal((await http.inject({ url: '/healthz', headers: { host } })).statusCode, 200, host);
  for (const headers of [{ host: 'evil.example' }, { host: 'localhost.evil.example' }, { host: '192.168.1.5:8080' }]) {
    const answer = await http.inject({ url: '/healthz', headers });
    assert.equal(answer.statusCode, 421, JSON.stringify(headers));
    assert.match(answer.json().error.message, /BASE_URL/);
  }
  for (const name of ['x-forwarded-for', 'x-forwarded-host', 'forwarded']) {
    const answer = await http.inject({ url: '/healthz', headers: { host: 'localhost', [name]: '1.2.3.4' } });
    assert.equal(answer.statusCode, 421, name);
    assert.match(answer.json().error.message, /TRUST_PROXY/);
  }
});

test('security 33: a trusted proxy may forward, and a forged Host changes no address that we print', async (t) => {
  const trusted = await buildApp(t, { TRUST_PROXY: '127.0.0.0/8' });
  const forwarded = await trusted.http.inject({
    url: '/healthz',
    headers: { host: 'localhost', 'x-forwarded-for': '1.2.3.4' },
  });
  assert.equal(forwarded.statusCode, 200);
  const scheme = { host: 'localhost', 'x-forwarded-proto': 'https' };
  assert.equal((await trusted.http.inject({ url: '/healthz', headers: scheme })).statusCode, 200);
  const elsewhere = await trusted.http.inject({ url: '/healthz', headers: scheme, remoteAddress: '10.0.0.1' });
  assert.equal(elsewhere.statusCode, 421);
  const app = await buildApp(t, {
    NODE_ENV: 'production',
    SECRET_KEY: 'k'.repeat(32),
    BASE_URL: 'https://api.tips.example',
    AUTH_URL: 'https://tips.example',
  });
  const { headers } = await makePair(app.runtime);
  const answer = await app.http.inject({
    url: '/v1/socket/token',
    headers: { ...headers, host: 'evil.example', 'x-forwarded-host': 'evil.example' },
  });
  assert.equal(answer.statusCode, 200, answer.body);
  assert.equal(answer.json().url, 'wss://api.tips.example/v1/socket');
});

test('a bug answers 500 and shows nothing of its inside', async (t) => {
  const app = await buildApp(t);
  const { headers } = await makePair(app.runtime);
  t.mock.method(app.runtime.tips, 'stats', async () => assert.fail('no head in stats.ts'));
  const answer = await app.http.inject({ url: '/v1/tips/stats', headers });
  assert.equal(answer.statusCode, 500);
  assert.equal(answer.json().error.code, 'internal_error');
  assert.doesNotMatch(answer.body, /head|stack|\.ts/);
});

test('the API document is served to any origin and names every route of /v1', async (t) => {
  const { http } = await buildApp(t);
  const answer = await http.inject('/openapi.json');
  assert.equal(answer.headers['access-control-allow-origin'], '*');
  const document = answer.json();
  assert.equal(document.openapi, '3.1.0');
  assert.equal(document.info.version, '1.0');
  assert.deepEqual(document.components.securitySchemes.bearer.scheme, 'bearer');
  for (const path of [
    '/v1/me',
    '/v1/profile',
    '/v1/tips',
    '/v1/tips/{id}',
    '/v1/tips/stats',
    '/v1/events',
    '/v1/socket/token',
    '/v1/alerts',
  ])
    for (const operation of Object.values<{ description: string; responses: Record<string, object> }>(
      document.paths[path],
    )) {
      assert.ok(operation.description, path);
      for (const status of ['401', '403', '429', '502']) assert.ok(operation.responses[status], `${path} ${status}`);
    }
});

test('security 42: of 300 connections that break off in a request a few are refused in an iteration, all with 400', async (t) => {
  const app = await buildApp(t);
  const port = await listen(app);
  const ended = new Map<number, number>();
  let [iteration, accepted] = [0, 0];
  let timer = setImmediate(function next() {
    iteration += 1;
    timer = setImmediate(next);
  });
  app.http.server.on('connection', (socket: Socket) => {
    accepted += 1;
    const end = t.mock.method(socket, 'end', (...what: unknown[]) => {
      end.mock.restore();
      ended.set(iteration, (ended.get(iteration) ?? 0) + 1);
      return Reflect.apply(socket.end, socket, what);
    });
  });
  const sockets = Array.from({ length: 300 }, () => connect({ host: '127.0.0.1', port, allowHalfOpen: true }));
  t.after(() => {
    clearImmediate(timer);
    for (const socket of sockets) socket.destroy();
  });
  await until('all are accepted', () => accepted === 300);
  const answers = sockets.map(async (socket) => {
    let received = '';
    for await (const chunk of socket) received += chunk;
    return received.slice(0, 12);
  });
  for (const socket of sockets) socket.end('GET / HTTP/1.1\r\nHost: local');
  assert.deepEqual(new Set(await Promise.all(answers)), new Set(['HTTP/1.1 400']));
  // Eight at once, and as many that had waited.
  assert.ok(Math.max(...ended.values()) <= 16, String([...ended.values()]));
});

test('a connection that was refused is closed soon, also if its client does not close it', async (t) => {
  const app = await buildApp(t);
  const port = await listen(app);
  const accepted: Socket[] = [];
  app.http.server.on('connection', (socket) => accepted.push(socket));
  const begin = performance.now();
  for (const bytes of ['nonsense\r\n\r\n', 'GET /healthz HTTP/1.1\r\n\r\n']) {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {});
    t.after(() => socket.destroy());
    socket.write(bytes);
    const [answer] = await once(socket, 'data');
    assert.match(String(answer), /^HTTP\/1\.1 400 /);
  }
  await until('both are closed', () => accepted.every(({ destroyed }) => destroyed));
  assert.equal(accepted.length, 2);
  assert.ok(performance.now() - begin < 60_000);
});
