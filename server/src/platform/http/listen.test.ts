import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import fastify from 'fastify';
import { until } from '../../../../sdk/test/until.ts';
import { freePort } from '../../../test/free-port.ts';
import { listen } from './listen.ts';

const onLinux = { skip: process.platform === 'linux' ? false : 'elsewhere one socket listens' };

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

async function start(t: TestContext, port: number) {
  const app = fastify({ forceCloseConnections: 'idle' });
  t.after(() => app.close());
  const release = Promise.withResolvers<string>();
  app.get('/', () => 'hello');
  app.get('/slow', () => release.promise);
  const connectionsClosed = await listen(app, { host: '127.0.0.1', port });
  return { app, connectionsClosed, release: release.resolve };
}

const ask = async (port: number, path: string, host = '127.0.0.1'): Promise<string> =>
  (await fetch(`http://${host}:${port}${path}`, { headers: { connection: 'close' } })).text();

test('security 42: several connections are accepted in one iteration of the event loop', onLinux, async (t) => {
  const port = await freePort();
  const { app } = await start(t, port);
  let accepted = 0;
  app.server.on('connection', () => (accepted += 1));
  const clients: Socket[] = Array.from({ length: 100 }, () => connect(port, '127.0.0.1'));
  let most = 0;
  for (let before = 0; accepted < clients.length; before = accepted) {
    await nextIteration();
    most = Math.max(most, accepted - before);
  }
  for (const client of clients) client.destroy();
  assert.ok(most > 1, `${most} in an iteration`);
});

test('every connection is answered, whichever socket accepts it', async (t) => {
  const port = await freePort();
  await start(t, port);
  const answers = Array.from({ length: 50 }, () => ask(port, '/'));
  assert.deepEqual(new Set(await Promise.all(answers)), new Set(['hello']));
});

test('nothing is read of a connection until it is let in, whichever socket accepts it', async (t) => {
  const port = await freePort();
  const app = fastify();
  t.after(() => app.close());
  Object.assign(app.server, { pauseOnConnect: true });
  await listen(app, { host: '127.0.0.1', port });
  const accepted: Socket[] = [];
  app.server.on('connection', (socket) => accepted.push(socket));
  const clients = Array.from({ length: 50 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  for (const client of clients) client.write('GET / HTTP/1.1\r\n');
  await until('all are accepted', () => accepted.length === clients.length);
  for (let i = 0; i < 10; i += 1) await nextIteration();
  assert.deepEqual(new Set(accepted.map(({ bytesRead }) => bytesRead)), new Set([0]));
  for (const socket of [...clients, ...accepted]) socket.destroy();
});

test('at localhost one server answers at all its addresses that the machine has', async (t) => {
  const port = await freePort();
  const app = fastify({ forceCloseConnections: 'idle' });
  t.after(() => app.close());
  app.get('/', () => 'hello');
  const addresses = ['192.0.2.1', '127.0.0.1', ...(hasIpv6 ? ['::1'] : [])];
  const connectionsClosed = await listen(app, { host: 'localhost', port }, async () => addresses);
  assert.equal(app.addresses().length, 1, 'Fastify has made no server of its own');
  let accepted = 0;
  app.server.on('connection', () => (accepted += 1));
  const hosts = ['127.0.0.1', ...(hasIpv6 ? ['[::1]'] : [])];
  const answers = hosts.flatMap((host) => Array.from({ length: 20 }, () => ask(port, '/', host)));
  assert.deepEqual(new Set(await Promise.all(answers)), new Set(['hello']));
  assert.equal(accepted, answers.length);
  await app.close();
  await connectionsClosed();
  for (const host of hosts) await assert.rejects(ask(port, '/', host));
});

test('localhost is resolved here, and Fastify gets an address', async (t) => {
  const port = await freePort();
  const app = fastify();
  t.after(() => app.close());
  app.get('/', () => 'hello');
  const given: number[] = [];
  const real = app.listen.bind(app);
  Object.assign(app, {
    async listen(options: { host: string }) {
      given.push(isIP(options.host));
      return real(options);
    },
  });
  await listen(app, { host: 'localhost', port });
  assert.ok(given.length === 1 && given[0] !== 0);
  assert.equal(await ask(port, '/', 'localhost'), 'hello');
});

test('a port where somebody listens is refused, this program included', async (t) => {
  const port = await freePort();
  await start(t, port);
  await assert.rejects(start(t, port), { code: 'EADDRINUSE' });
});

test('closing waits for the answers under way on all sockets, and accepts nobody else', async (t) => {
  const port = await freePort();
  const { app, connectionsClosed, release } = await start(t, port);
  let asked = 0;
  app.server.on('request', () => (asked += 1));
  const answers = Array.from({ length: 50 }, () => ask(port, '/slow'));
  await until('all are asked', () => asked === answers.length);
  let closed = false;
  const closing = app
    .close()
    .then(connectionsClosed)
    .then(() => (closed = true));
  await until('nobody else is accepted', async () => {
    const late = connect(port, '127.0.0.1');
    const refused = await Promise.race([
      once(late, 'connect').then(() => false),
      once(late, 'error').then(() => true),
    ]).catch(() => true);
    late.destroy();
    return refused;
  });
  assert.equal(closed, false);
  release('at last');
  assert.deepEqual(new Set(await Promise.all(answers)), new Set(['at last']));
  await closing;
});
