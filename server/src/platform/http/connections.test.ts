import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp } from '../../../test/build-app.ts';
import { limitConnections } from './connections.ts';

async function listen(t: TestContext, isExempt: (address: string) => boolean) {
  const server = createServer((_request, response) => response.end('ok'));
  limitConnections(server, { isExempt, maxOfAddress: 3 });
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

test('no request comes from a connection that was reset before it was accepted', async (t) => {
  const addresses: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    addresses.push(request.socket.remoteAddress);
    response.end();
  });
  limitConnections(server, { isExempt: () => true });
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
