import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp } from '../../../test/build-app.ts';
import { listen } from '../../../test/sockets.ts';
import { readRequestsSingly } from './pipelining.ts';

/** A server that notes in which iteration of the event loop each request began, and what it sent. */
async function open(t: TestContext) {
  let iteration = 0;
  const begun: number[] = [];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    if (begun.length === 0) count();
    const place = begun.push(iteration) - 1;
    let body = '';
    for await (const chunk of request) body += chunk;
    bodies[place] = body;
    response.end(request.url);
  });
  let timer: NodeJS.Immediate | undefined;
  function count(): void {
    iteration += 1;
    timer = setImmediate(count);
  }
  readRequestsSingly(server);
  let reads = 0;
  const countRead = () => {
    reads += 1;
  };
  server.on('connection', (connection) => connection.on('data', countRead));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  assert.ok(address && typeof address !== 'string');
  const socket = connect(address.port, '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => (received += chunk));
  t.after(() => {
    clearImmediate(timer);
    socket.destroy();
    server.close();
  });
  const answers = () => received.match(/\/\d+(?=HTTP|$)/g) ?? [];
  return { socket, begun, bodies, answers, reads: () => reads };
}

test('requests that come together begin one at a time, in order, and each is answered', async (t) => {
  const { socket, begun, answers } = await open(t);
  const count = 100;
  socket.write(Array.from({ length: count }, (_, i) => `GET /${i} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
  await until('all are answered', () => answers().length === count);
  assert.deepEqual(
    answers(),
    Array.from({ length: count }, (_, i) => `/${i}`),
  );
  assert.equal(new Set(begun).size, count, 'each in an iteration of its own');
});

test('the server itself reads them so', async (t) => {
  const app = await buildApp(t);
  await app.http.listen({ port: 0, host: '127.0.0.1' });
  const address = app.http.server.address();
  assert.ok(address && typeof address !== 'string');
  let iteration = 0;
  const arrived: number[] = [];
  app.http.server.prependListener('request', () => void arrived.push(iteration));
  let timer = setImmediate(function count() {
    iteration += 1;
    timer = setImmediate(count);
  });
  const socket = connect(address.port, '127.0.0.1').resume();
  t.after(() => {
    clearImmediate(timer);
    socket.destroy();
  });
  socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(50));
  await until('all have arrived', () => arrived.length === 50);
  assert.equal(new Set(arrived).size, 50, 'each in an iteration of its own');
});

test('a client that half-closes gets its answer, however long it takes, and a stream ends with it', async (t) => {
  const [found, streamEnded] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let ended = 0;
  const server = createServer(async ({ url, socket }, response) => {
    socket.once('end', () => (ended += 1));
    if (url === '/stream') return void response.once('close', streamEnded.resolve).write('begun');
    await found.promise;
    response.end('found');
  });
  readRequestsSingly(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const [asking, streaming] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  t.after(() => {
    for (const socket of [asking, streaming]) socket.destroy();
    server.close();
  });
  let received = '';
  const closed = once(
    asking.on('data', (chunk) => (received += chunk)),
    'close',
  );
  asking.end('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
  await until('the server has seen the end', () => ended === 1);
  // Longer than a closed connection takes to be destroyed.
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
  found.resolve();
  await closed;
  assert.match(received, /found$/);
  streaming.write('GET /stream HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(streaming, 'data');
  streaming.end();
  await streamEnded.promise;
});

test('bodies with empty lines, and requests behind them, arrive whole', async (t) => {
  const { socket, bodies, answers } = await open(t);
  const body = 'one\r\n\r\ntwo\r\n\r\n\r\n\r\nthree';
  const post = `POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const text = `${post}${post}GET /2 HTTP/1.1\r\nHost: a\r\n\r\n`;
  for (const [i, part] of [text, text.slice(0, 70), text.slice(70)].entries()) {
    socket.write(part);
    if (i !== 1) await until('all are answered', () => answers().length === (i === 0 ? 3 : 6));
  }
  assert.deepEqual(bodies, [body, body, '', body, body, '']);
});

test('empty lines in a body of known length cost nothing, and elsewhere little', async (t) => {
  const { socket, bodies, answers, reads } = await open(t);
  const lines = 4000;
  const body = 'a\r\n\r\n'.repeat(lines);
  const get = 'GET /1 HTTP/1.1\r\nHost: a\r\n\r\n';
  const known = `POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  // What is put back because its turn has not come is counted twice.
  for (const [name, sent, requests, most] of [
    ['known length', known, 1, 20],
    ['pipelined', `${get}${known}${known}`, 3, 20],
    ['unknown length', `POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`, 1, lines / 10],
    ['before a request', `${'\r\n'.repeat(lines)}${get}`, 1, lines / 40],
  ] as const) {
    const [all, before] = [answers().length + requests, reads()];
    socket.write(sent);
    await until('all are answered', () => answers().length === all);
    assert.ok(reads() - before <= most, `${name}: read ${reads() - before} times`);
  }
  assert.deepEqual(bodies, [body, '', body, body, body, '']);
});

test('the end of a head that is split leads to no second request in an iteration', async (t) => {
  const { socket, begun, answers } = await open(t);
  const get = 'GET /1 HTTP/1.1\r\nHost: a\r\n\r\n';
  const head = 'POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n';
  for (const cut of [1, 2, 3, 4]) {
    const [all, first] = [answers().length + 41, begun.length];
    socket.write(head.slice(0, -cut));
    await until('it has been sent', () => socket.writableLength === 0);
    await new Promise((resolve) => setImmediate(resolve));
    socket.write(`${head.slice(-cut)}${'a'.repeat(1996)}\r\n\r\n${get.repeat(40)}`);
    await until('all are answered', () => answers().length === all);
    assert.equal(new Set(begun.slice(first)).size, 41, `cut ${cut} bytes before its end`);
  }
});

test('a stranger’s upgrade with requests behind it, or with a body, is no way around', async (t) => {
  const { address } = await listen(t);
  const [host = '', port = ''] = address.split(':');
  const upgrade =
    'GET /v1/socket HTTP/1.1\r\nHost: localhost:8080\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
  for (const [sent, answer] of [
    [`${upgrade}\r\n${'GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(50)}`, /^HTTP\/1\.1 101 /],
    [`${upgrade}Content-Length: 3\r\n\r\nabc`, /^HTTP\/1\.1 426 /],
  ] as const) {
    const socket = connect(Number(port), host);
    t.after(() => socket.destroy());
    let received = '';
    socket.on('data', (chunk) => (received += chunk.toString('latin1')));
    socket.write(sent);
    await once(socket, 'close');
    assert.match(received, answer);
    assert.equal(received.match(/HTTP\/1\.1/g)?.length, 1, received);
  }
});

test('a body of tiny chunks is read a few at a time, of few connections at once, and whole', async (t) => {
  let [iteration, most, pieces] = [0, 0, 0];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    // A piece is parsed before it is read, so it is counted where it is pushed.
    const { push } = request;
    request.push = (...args) => {
      pieces += 1;
      most = Math.max(most, pieces);
      return push.apply(request, args);
    };
    for await (const chunk of request) body += chunk;
    bodies.push(body);
    response.end();
  });
  readRequestsSingly(server);
  let timer = setImmediate(function count() {
    iteration += 1;
    pieces = 0;
    timer = setImmediate(count);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  assert.ok(address && typeof address !== 'string');
  const { port } = address;
  const text = 'abcdefghij'.repeat(300);
  const chunks = [...text].map((letter) => `1\r\n${letter}\r\n`).join('');
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
  const sockets = Array.from({ length: 20 }, () => connect(port, '127.0.0.1').resume());
  t.after(() => {
    clearImmediate(timer);
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  for (const socket of sockets) socket.write(`${head}${chunks}0\r\n\r\n`);
  await until('all bodies are read', () => bodies.length === sockets.length);
  assert.deepEqual(new Set(bodies), new Set([text]));
  // 48 chunks of each of eight connections, twice where an iteration of the test begins between two of the server's.
  assert.ok(most <= 2 * 8 * 48, `${most} pieces in an iteration of ${iteration}`);
  for (const socket of sockets) socket.write('GET /after HTTP/1.1\r\nHost: a\r\n\r\n');
  await until('what follows is read too', () => bodies.length === 2 * sockets.length);
});
