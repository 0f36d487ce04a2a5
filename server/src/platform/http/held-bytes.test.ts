import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { limitHeldBytes } from './held-bytes.ts';

const mebibyte = 1024 * 1024;

function portOf({ server }: FastifyInstance): number {
  const address = server.address();
  assert.ok(address && typeof address !== 'string');
  return address.port;
}

/** A server whose clients may hold 40 MiB an address, and what connects to it. */
async function open(t: TestContext) {
  const app = fastify({ bodyLimit: 30 * mebibyte });
  app.decorateReply('errorCode', undefined);
  limitHeldBytes(app, 40 * mebibyte);
  const bodies = { begun: 0, closed: 0 };
  app.addHook('preParsing', async (_request, reply) => {
    bodies.begun += 1;
    reply.raw.once('close', () => {
      bodies.closed += 1;
    });
  });
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null));
  // More than the buffers of the operating system take.
  app.get('/large', (_request, reply) => reply.header('cache-control', 'public').send(Buffer.alloc(30 * mebibyte)));
  app.get('/small', () => 'small');
  /** A request that is answered when the test says so. */
  const late = {
    begun: Promise.withResolvers<ServerResponse>(),
    go: Promise.withResolvers<void>(),
    sent: Promise.withResolvers<void>(),
  };
  app.get('/late', async (_request, reply) => {
    late.begun.resolve(reply.raw);
    await late.go.promise;
    // After the hooks of the answer.
    setImmediate(late.sent.resolve);
    return Buffer.alloc(30 * mebibyte);
  });
  app.post('/', () => 'done');
  await app.listen({ port: 0, host: '127.0.0.1' });
  t.after(() => app.close());
  const port = portOf(app);
  const sockets: Socket[] = [];
  t.after(() => sockets.forEach((socket) => void socket.destroy()));
  function send(head: string, from = '127.0.0.1'): Socket {
    const socket = connect({ port, host: '127.0.0.1', localAddress: from });
    sockets.push(socket.on('error', () => {}));
    socket.write(`${head}Host: a\r\n\r\n`);
    return socket;
  }
  /** The first bytes of an answer of which nothing more is read. */
  async function begin(head: string, from?: string) {
    const socket = send(head, from);
    const [bytes] = await once(socket, 'data');
    socket.pause();
    return { socket, start: String(bytes).slice(0, 600) };
  }
  return { send, begin, bodies, late };
}

test('answers that nobody reads take a bounded amount of memory for each address', async (t) => {
  const { begin } = await open(t);
  const large = 'GET /large HTTP/1.1\r\n';
  const first = await begin(large);
  assert.match(first.start, /^HTTP\/1\.1 200 /);
  const second = await begin(large);
  assert.match(second.start, /^HTTP\/1\.1 429 .*rate_limited/s);
  assert.match(second.start, /retry-after: 2\r\n/);
  assert.match(second.start, /cache-control: no-store\r\n/);
  assert.match((await begin('GET /small HTTP/1.1\r\n')).start, /^HTTP\/1\.1 200 /);
  if (process.platform === 'linux')
    assert.match((await begin(large, '127.0.0.2')).start, /^HTTP\/1\.1 200 /, 'another address is not affected');
  first.socket.destroy();
  await until('there is room again', async () => {
    const { socket, start } = await begin(large);
    socket.destroy();
    return start.startsWith('HTTP/1.1 200 ');
  });
});

test('bodies that do not end take a bounded amount of memory for each address', async (t) => {
  const { send, begin, bodies } = await open(t);
  const post = (headers: string) => `POST / HTTP/1.1\r\nContent-Type: a/b\r\n${headers}\r\n`;
  const known = post(`Content-Length: ${25 * mebibyte}`);
  const first = send(known);
  await until('it has begun', () => bodies.begun === 1);
  for (const head of [known, post('Transfer-Encoding: chunked')])
    assert.match((await begin(head)).start, /^HTTP\/1\.1 429 .*connection: close\r\n/is);
  assert.match((await begin(post('Content-Length: 0'))).start, /^HTTP\/1\.1 200 /);
  first.destroy();
  await until('it has ended', () => bodies.closed === 2);
  const again = send(known);
  again.write(Buffer.alloc(25 * mebibyte));
  assert.match(String((await once(again, 'data'))[0]), /^HTTP\/1\.1 200 /);
});

test('an answer to a client that has gone away meanwhile takes no memory of its address', async (t) => {
  const { send, begin, late } = await open(t);
  const socket = send('GET /late HTTP/1.1\r\n');
  const response = await late.begun.promise;
  socket.destroy();
  await once(response, 'close');
  late.go.resolve();
  await late.sent.promise;
  assert.match((await begin('GET /large HTTP/1.1\r\n')).start, /^HTTP\/1\.1 200 /);
});

test('the server itself bounds them', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const [[name, token] = []] = (await signedInVisitor(app, creatorId)).cookies;
  await app.http.listen({ port: 0, host: '127.0.0.1' });
  const port = portOf(app.http);
  const head = `POST /dashboard/overlay/looks/0 HTTP/1.1\r\nHost: localhost\r\nCookie: ${name}=${token}\r\n`;
  const form = 'Content-Type: multipart/form-data; boundary=b\r\n';
  // One more than there is room for is answered.
  const sockets = Array.from({ length: 10 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  const answers = sockets.map(async (socket) => {
    socket.write(`${head}${form}Content-Length: ${7_000_000}\r\n\r\n`);
    return String((await once(socket, 'data'))[0]);
  });
  const timeout = delay(60_000, 'nothing', { ref: false });
  const answer = await Promise.race([...answers, timeout]);
  // The server does not close before its clients are gone.
  for (const socket of sockets) socket.destroy();
  assert.match(answer, /^HTTP\/1\.1 429 .*connection: close\r\n/is);
});

test('a body of tiny chunks is kept in few pieces', async (t) => {
  const app = fastify();
  t.after(() => app.close());
  app.decorateReply('errorCode', undefined);
  limitHeldBytes(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (_request: FastifyRequest, body: AsyncIterable<Buffer>) => {
    const pieces: string[] = [];
    for await (const piece of body) pieces.push(String(piece));
    return pieces;
  });
  app.post('/', async ({ body }) => body);
  await app.listen({ port: 0, host: '127.0.0.1' });
  const socket = connect(portOf(app), '127.0.0.1');
  t.after(() => socket.destroy());
  const text = 'abcdefghij'.repeat(300);
  const chunks = [...text].map((letter) => `1\r\n${letter}\r\n`).join('');
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nConnection: close\r\n';
  socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
  let received = '';
  for await (const chunk of socket) received += chunk;
  const pieces: string[] = JSON.parse(received.slice(received.indexOf('\r\n\r\n')));
  assert.equal(pieces.join(''), text);
  assert.ok(pieces.length <= 3_000 / 128 + 1, `${pieces.length} pieces`);
});
