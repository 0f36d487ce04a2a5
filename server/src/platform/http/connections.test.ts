import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp } from '../../../test/build-app.ts';
import { limitConnections, releaseReadSlot } from './connections.ts';
import { readRequestsSingly } from './pipelining.ts';

async function listen(t: TestContext, isExempt: (address: string) => boolean) {
  const server = createServer((_request, response) => response.end('ok'));
  limitConnections(server, { isExempt, idleSince: () => undefined, maxOfAddress: 3 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  /** Whether a request on a new connection is answered. */
  async function isServed(localAddress = '127.0.0.1'): Promise<boolean> {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    sockets.push(socket);
    socket.on('error', () => {});
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    return Promise.race([once(socket, 'data').then(() => true), once(socket, 'close').then(() => false)]);
  }
  return { sockets, isServed };
}

test('an address has so many connections at once; a closed one makes room, and others are not affected', async (t) => {
  const { sockets, isServed } = await listen(t, () => false);
  for (let i = 0; i < 3; i++) assert.equal(await isServed(), true);
  assert.equal(await isServed(), false);
  assert.equal(await isServed('127.0.0.2'), true);
  sockets[0]?.destroy();
  await until('the server has seen the connection close', () => isServed());
});

test('the connections of a trusted proxy are not counted', async (t) => {
  const { isServed } = await listen(t, (address) => address === '127.0.0.1');
  for (let i = 0; i < 5; i++) assert.equal(await isServed(), true);
});

/** A server that reads of two connections at a time, and answers when it is told. */
async function listenForFew(t: TestContext, { maxWaitMs = 60_000, minIdleMs = 0 } = {}) {
  const answers = new Map<string, () => void>();
  const server = createServer(({ url = '', socket }, response) => {
    answers.set(url, () =>
      response.setHeader('connection', limits.isReadSlotWanted(socket) ? 'close' : 'keep-alive').end(),
    );
  });
  const { idleSince } = readRequestsSingly(server);
  const limits = limitConnections(server, {
    isExempt: () => false,
    idleSince,
    maxReadOfAddress: 2,
    maxWaitMs,
    minIdleMs,
  });
  const accepted: Socket[] = [];
  server.on('connection', (socket) => accepted.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  /** A connection that asks for `path`, once the server has accepted it. */
  async function ask(path: string) {
    const count = accepted.length;
    const socket = connect({ port, host: '127.0.0.1' });
    t.after(() => socket.destroy());
    let received = '';
    socket.on('data', (chunk) => (received += chunk)).on('error', () => {});
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const ended = new Promise((resolve) => socket.once('close', resolve));
    await until(`${path} is accepted`, () => accepted.length > count);
    return { socket, ended, received: () => received, accepted: accepted[count] as Socket };
  }
  const comes = (path: string) => until(`${path} is read`, () => answers.get(path));
  let asked = 0;
  /** What can be read has been read when a request of another address is, which was sent later. */
  async function none(...paths: string[]): Promise<void> {
    const path = `/other/${asked++}`;
    const other = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' }).on('error', () => {});
    t.after(() => other.destroy());
    other.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    (await comes(path))();
    for (const path of paths) assert.ok(!answers.has(path), `${path} is not read`);
  }
  return { ask, comes, none, limits };
}

test('security 42: of few connections of an address something is read; the others wait for one to be closed', async (t) => {
  const { ask, comes, none } = await listenForFew(t);
  const [first] = [await ask('/1'), await ask('/2'), await ask('/3'), await ask('/4')];
  await comes('/2');
  await none('/3', '/4');
  first.socket.resetAndDestroy();
  await comes('/3');
  await none('/4');
});

test('a connection that has become a stream leaves its slot to one that waits', async (t) => {
  const { ask, comes, none } = await listenForFew(t);
  const [first] = [await ask('/1'), await ask('/2'), await ask('/3'), await ask('/4')];
  await comes('/2');
  await none('/3');
  releaseReadSlot(first.accepted);
  await comes('/3');
  releaseReadSlot(first.accepted);
  await none('/4');
  first.socket.resetAndDestroy();
  await none('/4');
});

test('an answer closes its connection while others wait, and an idle connection is closed for a new one', async (t) => {
  const { ask, comes } = await listenForFew(t);
  const [first, second, third] = [await ask('/1'), await ask('/2'), await ask('/3')];
  (await comes('/1'))();
  await first.ended;
  assert.match(first.received(), /^HTTP\/1\.1 200 OK\r\nconnection: close\r\n/i);
  (await comes('/3'))();
  await until('the third is answered', () => third.received().includes('connection: keep-alive'));
  // The second is not idle, the third is.
  await ask('/4');
  await comes('/4');
  await third.ended;
  assert.equal(second.socket.destroyed, false);
});

test('a connection that becomes idle while another one waits is closed for it', async (t) => {
  const { ask, comes } = await listenForFew(t);
  const [first] = [await ask('/1'), await ask('/2')];
  (await comes('/1'))();
  await until('the first is answered', () => first.received().includes('connection: keep-alive'));
  // A part of the next request, so that the first is not idle when the third comes.
  first.socket.write('GET /5 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n');
  const answer = await comes('/5');
  answer();
  await until('the fifth is answered', () => first.received().split('connection: keep-alive').length === 3);
  await ask('/3');
  first.socket.write('{}');
  await comes('/3');
  await first.ended;
});

test('a connection that was answered a moment ago is not closed for another one, which waits until it is idle for long', async (t) => {
  const { ask, comes } = await listenForFew(t, { minIdleMs: 1000 });
  const [first] = [await ask('/1'), await ask('/2')];
  const answer = await comes('/1');
  const answeredAt = performance.now();
  answer();
  await until('the first is answered', () => first.received().includes('connection: keep-alive'));
  await ask('/3');
  await comes('/3');
  await first.ended;
  assert.ok(performance.now() - answeredAt > 900);
});

test('what waits to be read is closed with its client, and makes room', async (t) => {
  const { ask, comes, none } = await listenForFew(t);
  const [first, , third] = [await ask('/1'), await ask('/2'), await ask('/3'), await ask('/4')];
  await comes('/2');
  third.accepted.destroy();
  await none('/3', '/4');
  first.socket.resetAndDestroy();
  await comes('/4');
});

test('what waits too long is closed, and nothing of it was read', async (t) => {
  const { ask, comes, none } = await listenForFew(t, { maxWaitMs: 20 });
  const [first, , third] = [await ask('/1'), await ask('/2'), await ask('/3')];
  await third.ended;
  first.socket.resetAndDestroy();
  await none('/3');
  await ask('/4');
  await comes('/4');
});

test('a server that closes reads of all that wait, and of whoever still comes', async (t) => {
  const { ask, comes, none, limits } = await listenForFew(t);
  for (const path of ['/1', '/2', '/3', '/4']) await ask(path);
  await none('/3', '/4');
  await limits.finish();
  await comes('/3');
  await comes('/4');
  await ask('/5');
  await comes('/5');
});

test('no request comes from a connection that was reset before it was accepted', async (t) => {
  const addresses: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    addresses.push(request.socket.remoteAddress);
    response.end();
  });
  limitConnections(server, { isExempt: () => true, idleSince: () => undefined });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const reset = `const socket = require('node:net').connect(${port}, '127.0.0.1', () =>
    socket.write('GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n', () => socket.resetAndDestroy()));`;
  // Nothing is accepted until the process has ended.
  assert.equal(spawnSync(process.execPath, ['-e', reset]).status, 0);
  await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } });
  assert.deepEqual(addresses, ['127.0.0.1']);
});

test('the server has this limit, and knows the proxies that it trusts', async (t) => {
  const proxy = '198.51.100.7';
  const { http } = await buildApp(t, { TRUST_PROXY: `${proxy}/32` });
  const sockets: Socket[] = [];
  t.after(() => sockets.forEach((socket) => void socket.destroy()));
  /** Whether a connection from this address is let in. Nothing is sent over the sockets, so they need no network. */
  function isLetIn(remoteAddress: string): boolean {
    const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress });
    sockets.push(socket);
    http.server.emit('connection', socket);
    return !socket.destroyed;
  }
  const from = (address: string, count: number) => Array.from({ length: count }, () => isLetIn(address));
  assert.ok(from('203.0.113.9', 10_000).every(Boolean));
  assert.deepEqual([isLetIn('203.0.113.9'), isLetIn('203.0.113.10')], [false, true]);
  assert.ok(from(`::ffff:${proxy}`, 10_001).every(Boolean));
});
