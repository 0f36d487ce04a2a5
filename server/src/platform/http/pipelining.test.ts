import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp } from '../../../test/build-app.ts';
import { listen } from '../../../test/sockets.ts';
import { type ReadingOptions, readRequestsSingly } from './pipelining.ts';

/** So many KiB. */
const longHeaders = (count: number): string => `a: ${'b'.repeat(1019)}\r\n`.repeat(count);

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

/** How many of the requests that 200 clients send at once begin in each iteration of the event loop. */
async function burst(t: TestContext, options?: ReadingOptions): Promise<number[]> {
  const begun = new Map<number, number>();
  let iteration = 0;
  let timer = setImmediate(function count() {
    iteration += 1;
    timer = setImmediate(count);
  });
  const server = createServer((_request, response) => {
    begun.set(iteration, (begun.get(iteration) ?? 0) + 1);
    response.end();
  });
  readRequestsSingly(server, options);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const accepted: Socket[] = [];
  server.on('connection', (socket) => void accepted.push(socket));
  const sockets = Array.from({ length: 200 }, () => connect(port, '127.0.0.1'));
  t.after(() => {
    clearImmediate(timer);
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await until('all are accepted', () => accepted.length === 200);
  const answered = sockets.map((socket) => once(socket, 'data'));
  for (const socket of sockets) socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await Promise.all(answered);
  return [...begun.values()];
}

test('security 42: of 200 clients that send a request at once an iteration reads those of a few', async (t) => {
  const counts = await burst(t);
  // Sixteen at once, and as many that had waited.
  assert.ok(Math.max(...counts) <= 32, String(counts));
});

test('security 42: usual requests that a proxy passes on are parsed when they come', async (t) => {
  const counts = await burst(t, { isExempt: () => true });
  assert.ok(Math.max(...counts) > 64, String(counts));
});

test('security 42: a client with a credential of its own does not wait for those of its address without', async (t) => {
  const begun: string[] = [];
  const server = createServer((request, response) => {
    begun.push(request.headers.authorization ?? '');
    response.end();
  });
  readRequestsSingly(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets = Array.from({ length: 300 }, () => connect(port, '127.0.0.1').resume());
  const own = connect(port, '127.0.0.1').resume();
  t.after(() => {
    for (const socket of [own, ...sockets]) socket.destroy();
    server.close();
  });
  await Promise.all([own, ...sockets].map((socket) => once(socket, 'connect')));
  const request = 'GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer own\r\n\r\n';
  own.write(request);
  await until('the first has begun', () => begun.length === 1);
  for (const socket of sockets) socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  own.write(request);
  await until('all have begun', () => begun.length === 302);
  // Sixteen begin at once; of those that wait it is the second owner's first.
  assert.ok(begun.lastIndexOf('Bearer own') < 50, String(begun.lastIndexOf('Bearer own')));
});

test('a server that closes answers all requests that have come', async (t) => {
  const app = await listen(t);
  const [host = '', port = ''] = app.address.split(':');
  const accepted = new Set<Socket>();
  app.http.server.on('connection', (socket) => void accepted.add(socket));
  const sockets = Array.from({ length: 200 }, () => connect(Number(port), host));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const send = () => {
    for (const socket of sockets) socket.write(`GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  };
  // Node.js closes connections that have had a request before, and have none now.
  const first = sockets.map((socket) => once(socket, 'data'));
  send();
  await Promise.all(first);
  const answers = sockets.map(async (socket) => {
    let received = '';
    for await (const chunk of socket) received += chunk;
    return received.slice(0, 12);
  });
  const hasCome = [...accepted].map((socket) => once(socket, 'data'));
  send();
  await Promise.all(hasCome);
  await app.http.close();
  assert.deepEqual(new Set(await Promise.all(answers)), new Set(['HTTP/1.1 200']));
});

test('a server that closes answers requests behind one that it is answering', async (t) => {
  const app = await buildApp(t);
  const answered = Promise.withResolvers<undefined>();
  const { mock } = t.mock.method(app.runtime.db, 'get', () => answered.promise);
  await app.http.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.http.server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  const paths = [`/avatars/avt_${'0'.repeat(26)}`, '/healthz'];
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''));
  await until('the first has begun', () => mock.callCount() > 0);
  const closed = app.http.close();
  await until('it closes', () => !app.http.server.listening);
  answered.resolve(undefined);
  let received = '';
  for await (const chunk of socket) received += chunk;
  assert.deepEqual(received.match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 404', 'HTTP/1.1 200']);
  await closed;
});

test('security 42: requests behind one that is not answered are not read, and all are answered in order', async (t) => {
  const app = await buildApp(t);
  const { mock } = t.mock.method(app.runtime.db, 'get', () => answered.promise);
  const answered = Promise.withResolvers<undefined>();
  await app.http.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.http.server.address() as AddressInfo;
  const seen: string[] = [];
  app.http.server.prependListener('request', ({ url = '' }) => void seen.push(url.replace(/\D/g, '')));
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  let received = '';
  socket.on('data', (chunk) => (received += chunk));
  const paths = Array.from({ length: 100 }, (_, i) => `/avatars/avt_${String(i).padStart(26, '0')}`);
  for (const path of paths) socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await until('the first has begun', () => mock.callCount() > 0);
  // On another connection there is no need to wait.
  for (let i = 0; i < 5; i++) assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200);
  assert.deepEqual(
    seen.filter((path) => path.length > 0),
    ['0'.repeat(26)],
  );
  answered.resolve(undefined);
  await until('all are answered', () => received.split('HTTP/1.1 404').length > 100);
  assert.deepEqual(
    seen.filter((path) => path.length > 0),
    paths.map((path) => path.replace(/\D/g, '')),
  );
});

for (const [name, headers, body] of [
  ['of known length', 'Content-Length: 5', '12345'],
  ['in chunks', 'Transfer-Encoding: chunked', '5\r\n12345\r\n0\r\n\r\n'],
] as const)
  test(`requests behind a body ${name} wait for its answer, wherever the bytes are cut`, async (t) => {
    let most = 0;
    const open = new Set<ServerResponse>();
    const server = createServer(async (request, response) => {
      open.add(response.once('close', () => open.delete(response)));
      most = Math.max(most, open.size);
      for await (const _ of request);
      setTimeout(() => response.end('done'), 1);
    });
    readRequestsSingly(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    t.after(() => {
      socket.destroy();
      server.close();
    });
    let received = '';
    socket.on('data', (chunk) => (received += chunk));
    const request = `POST / HTTP/1.1\r\nHost: a\r\n${headers}\r\n\r\n${body}`;
    const all = request.repeat(3 * request.length);
    // Each request is cut at another place.
    for (let at = 0; at < all.length; at += request.length - 1) {
      socket.write(all.slice(at, at + request.length - 1));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until('all are answered', () => received.split('done').length === 3 * request.length + 1);
    assert.equal(most, 1, 'at once');
  });

test('security 42: of long heads an iteration reads those of few connections, and of each a part', async (t) => {
  let iteration = 0;
  const begun: number[] = [];
  const server = createServer((_request, response) => {
    begun.push(iteration);
    response.end();
  });
  readRequestsSingly(server);
  let timer = setImmediate(function count() {
    iteration += 1;
    timer = setImmediate(count);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets = Array.from({ length: 300 }, () => connect(port, '127.0.0.1').resume());
  t.after(() => {
    clearImmediate(timer);
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await until('all are connected', () => sockets.every((socket) => !socket.connecting));
  const before = iteration;
  for (const socket of sockets) socket.write(`GET / HTTP/1.1\r\nHost: a\r\n${longHeaders(12)}\r\n`);
  await until('all are answered', () => begun.length === sockets.length);
  const most = Math.max(...Array.from(new Set(begun), (each) => begun.filter((other) => other === each).length));
  // Eight, twice where an iteration of the test begins between two of the server's.
  assert.ok(most <= 2 * 8, `${most} in an iteration`);
  assert.ok(Math.min(...begun) >= before + 3, 'a head of 12 KiB takes more than three iterations');
});

test('security 42: of large bodies an iteration reads parts of few connections', async (t) => {
  let [read, most, bodies] = [0, 0, 0];
  const server = createServer(async (request, response) => {
    const { push } = request;
    request.push = (chunk, ...args) => {
      read += chunk?.length ?? 0;
      most = Math.max(most, read);
      return push.call(request, chunk, ...args);
    };
    for await (const _ of request);
    bodies += 1;
    response.end();
  });
  readRequestsSingly(server);
  let timer = setImmediate(function count() {
    read = 0;
    timer = setImmediate(count);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets = Array.from({ length: 30 }, () => connect(port, '127.0.0.1').resume());
  t.after(() => {
    clearImmediate(timer);
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const bytes = 2_000_000;
  for (const socket of sockets) {
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`);
    socket.write(Buffer.alloc(bytes));
  }
  await until('all bodies are read', () => bodies === sockets.length);
  // Eight parts of 64 KiB, twice where an iteration of the test begins between two of the server's, and the smaller ones.
  assert.ok(most <= 2 * 8 * 65_536 + sockets.length * 16_384, `${most} bytes in an iteration`);
});

test('security 42: of a body that goes on after a 413 an iteration reads a bounded part', async (t) => {
  const connections: Socket[] = [];
  const server = createServer((_request, response) => response.writeHead(413).end());
  readRequestsSingly(server);
  server.on('connection', (connection) => connections.push(connection));
  let most = 0;
  const read = new Map<Socket, number>();
  let timer = setImmediate(function count() {
    for (const connection of connections) {
      most = Math.max(most, connection.bytesRead - (read.get(connection) ?? 0));
      read.set(connection, connection.bytesRead);
    }
    timer = setImmediate(count);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const answered = new Set<Socket>();
  const sockets = Array.from({ length: 20 }, () => connect(port, '127.0.0.1'));
  t.after(() => {
    clearImmediate(timer);
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const bytes = 5_000_000;
  for (const socket of sockets) {
    socket.on('data', () => answered.add(socket));
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`);
    socket.write(Buffer.alloc(bytes));
  }
  await until('all bodies are read', () => connections.filter(({ bytesRead }) => bytesRead > bytes).length === 20);
  assert.equal(answered.size, sockets.length, 'who goes on sending can read the answer');
  // Eight chunks and one that waits, twice where an iteration of the test begins between two of the server's.
  assert.ok(most <= 2 * 9 * 65_536, `${most} bytes in an iteration`);
});

test('security 42: what waits of an address, and heads that do not end, take a bounded amount of memory', async (t) => {
  const server = createServer((_request, response) => response.end());
  readRequestsSingly(server, { maxOfAddress: 256 * 1024, isExempt: (address) => address === '127.0.0.3' });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const begin = (count: number, localAddress: string): Socket[] => {
    const opened = Array.from({ length: count }, () => connect({ port, host: '127.0.0.1', localAddress }));
    for (const socket of opened)
      socket
        .on('error', () => {})
        .resume()
        .write(`GET / HTTP/1.1\r\nHost: a\r\n${longHeaders(10)}`);
    sockets.push(...opened);
    return opened;
  };
  const open = (list: Socket[]): number => list.filter((socket) => !socket.destroyed).length;
  const exempt = process.platform === 'linux' ? begin(60, '127.0.0.3') : [];
  // 10 KiB each.
  const many = begin(60, '127.0.0.1');
  await until('those that are too many are closed', () => open(many) <= 26);
  assert.ok(open(many) >= 20, `${open(many)} are left`);
  for (const socket of many) socket.write('\r\n');
  await until('the others are answered', () => many.every((socket) => socket.destroyed || socket.bytesRead > 0));
  assert.equal(open(exempt), exempt.length);
  const again = begin(20, '127.0.0.1');
  for (const socket of again) socket.write('\r\n');
  await until('what is answered takes no room', () => again.every((socket) => socket.bytesRead > 0));
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

/** A server that answers in the iteration after the next. Returns how to open a connection to it. */
async function listenSlowly(t: TestContext) {
  const server = createServer({ maxHeaderSize: 64 * 1024 }, (_request, response) => {
    setImmediate(() => setImmediate(() => response.end('answer')));
  });
  readRequestsSingly(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  t.after(() => server.close());
  function open() {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    t.after(() => socket.destroy());
    let received = '';
    socket.on('data', (chunk) => (received += chunk));
    const closed = once(socket, 'close');
    return { socket, closed, answers: () => received.split('answer').length - 1 };
  }
  return open;
}

for (const kib of [0, 3, 12, 60])
  test(`clients that half-close after heads of ${kib} KiB are answered, also pipelined and in pieces`, async (t) => {
    const open = await listenSlowly(t);
    const head = `GET / HTTP/1.1\r\nHost: a\r\n${longHeaders(kib)}\r\n`;
    const clients = Array.from({ length: 30 }, open);
    for (const [i, { socket }] of clients.entries()) {
      if (i % 3 === 0) socket.end(head);
      else if (i % 3 === 1) socket.end(head.repeat(5));
      else {
        const cut = Math.ceil(head.length / 3);
        for (let at = 0; at < head.length; at += cut) {
          socket.write(head.slice(at, at + cut));
          await new Promise((resolve) => setImmediate(resolve));
        }
        socket.end();
      }
    }
    await Promise.all(clients.map(({ closed }) => closed));
    assert.deepEqual(
      clients.map(({ answers }) => answers()),
      clients.map((_, i) => (i % 3 === 1 ? 5 : 1)),
    );
  });

test('a connection is used again after heads and bodies of any length', async (t) => {
  const open = await listenSlowly(t);
  const { socket, answers } = open();
  for (const [i, kib] of [0, 12, 0, 60, 3, 0].entries()) {
    const body = 'x'.repeat(kib * 10_000);
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n${longHeaders(kib)}\r\n${body}`);
    await until('it is answered', () => answers() === i + 1);
  }
});

test('security 42: of pipelined long heads an iteration parses few, and those of one connection in turn', async (t) => {
  let [iteration, inIteration, most] = [0, 0, 0];
  const server = createServer((_request, response) => {
    inIteration += 1;
    most = Math.max(most, inIteration);
    response.end();
  });
  readRequestsSingly(server);
  let accepted = 0;
  server.on('connection', () => (accepted += 1));
  let timer = setImmediate(function count() {
    iteration += 1;
    inIteration = 0;
    timer = setImmediate(count);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const received: number[] = [];
  const sockets = Array.from({ length: 50 }, (_, i) =>
    connect(port, '127.0.0.1').on('data', (chunk) => {
      received[i] = (received[i] ?? 0) + String(chunk).split('HTTP/1.1 200').length - 1;
    }),
  );
  t.after(() => {
    clearImmediate(timer);
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await until('all are connected', () => accepted === sockets.length);
  for (const socket of sockets) socket.write(`GET / HTTP/1.1\r\nHost: a\r\n${longHeaders(7)}\r\n`.repeat(8));
  await until('all are answered', () => received.filter((count) => count === 8).length === sockets.length);
  // Eight, twice where an iteration of the test begins between two of the server's.
  assert.ok(most <= 2 * 8, `${most} requests in an iteration of ${iteration}`);
});

test('an upgrade with a long head is accepted, and frames right behind it are not lost', async (t) => {
  const { address } = await listen(t);
  const [host = '', port = ''] = address.split(':');
  const upgrade = (kib: number) =>
    `GET /v1/socket HTTP/1.1\r\nHost: localhost:8080\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${longHeaders(kib)}\r\n`;
  // A masked text frame of no bytes is no auth frame: the socket is closed with 4400.
  const frame = '\x81\x80\0\0\0\0';
  for (const kib of [0, 3, 5, 12, 60]) {
    const socket = connect(Number(port), host).setEncoding('latin1');
    t.after(() => socket.destroy());
    let received = '';
    socket.on('data', (chunk) => (received += chunk));
    socket.write(`${upgrade(kib)}${frame}`, 'latin1');
    await once(socket, 'close');
    assert.match(received, /^HTTP\/1\.1 101 /, `${kib} KiB`);
    assert.ok(received.includes(String.fromCharCode(4400 >> 8, 4400 & 255)), `${kib} KiB: closed with 4400`);
  }
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
