import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import fastify from 'fastify';
import { until } from '../../../../sdk/test/until.ts';
import { clientFrame } from '../../../test/raw-http.ts';
import { rawSocket } from '../../../test/sockets.ts';
import { isWebSocketUpgrade, useWebSockets } from './websocket.ts';

const [text, ping] = [0x1, 0x9];

/** A server that notes what clients send: in which iteration of the event loop, and how many bytes. */
async function open(t: TestContext, count: number) {
  const app = fastify({ forceCloseConnections: true, http: { shouldUpgradeCallback: isWebSocketUpgrade } });
  const webSockets = useWebSockets(app, { maxPayload: 8192, closeTimeout: 1000, badFrame: 4400 });
  const seen = { messages: [] as string[], pings: 0, bytes: 0, ended: 0 };
  const pingsIn = new Map<number, number>();
  let iteration = 0;
  let timer = setImmediate(function next() {
    iteration += 1;
    timer = setImmediate(next);
  });
  app.get('/', (request, reply) => {
    const accepted = webSockets.accept(request, reply);
    accepted.onBytes = (length) => {
      seen.bytes += length;
    };
    accepted.webSocket
      .on('message', (data) => void seen.messages.push(String(data)))
      .on('ping', (payload: Buffer) => {
        seen.pings += 1;
        pingsIn.set(iteration, (pingsIn.get(iteration) ?? 0) + 1);
        accepted.webSocket.pong(payload);
      })
      .on('error', () => {})
      .on('close', () => {
        seen.ended += 1;
      });
  });
  t.after(() => clearImmediate(timer));
  const address = (await app.listen({ port: 0, host: '127.0.0.1' })).replace('http://', '');
  const sockets = await Promise.all(Array.from({ length: count }, () => rawSocket(t, address, '/')));
  // After the clients' ends, for which it waits.
  t.after(() => app.close());
  return { seen, pingsIn, sockets };
}

const sendAll = (sockets: readonly Socket[], bytes: Buffer): Promise<unknown> =>
  Promise.all(sockets.map((socket) => new Promise((resolve) => socket.write(bytes, resolve))));

test('of clients that send and end their connections at once every frame arrives, in order', async (t) => {
  const { seen, sockets } = await open(t, 300);
  const sent = sockets.map((socket, client) => {
    const messages = Array.from({ length: 40 }, (_, n) => `${client}:${n} ${'-'.repeat(100)}`);
    socket.end(Buffer.concat(messages.map((message) => clientFrame(text, message))));
    return messages;
  });
  await until('all have ended', () => seen.ended === 300);
  for (const [client, messages] of sent.entries())
    assert.deepEqual(
      seen.messages.filter((message) => message.startsWith(`${client}:`)),
      messages,
    );
});

test('what waits for its turn is counted once', async (t) => {
  const { seen, sockets } = await open(t, 100);
  const bytes = Buffer.concat(Array.from({ length: 1000 }, () => clientFrame(ping)));
  for (let round = 0; round < 3; round += 1) await sendAll(sockets, bytes);
  await until('all pings have come', () => seen.pings === 300_000);
  assert.equal(seen.bytes, 300 * bytes.length);
});

test('security 36: an iteration of the event loop parses 2 KiB of a connection, and answers all of it', async (t) => {
  const { seen, pingsIn, sockets } = await open(t, 1);
  const [socket] = sockets as [Socket];
  let received = 0;
  socket.resume().on('data', (chunk) => {
    received += chunk.length;
  });
  // Two bytes each; a ping has six.
  const pongs = 10_000;
  socket.write(Buffer.concat(Array.from({ length: pongs }, () => clientFrame(ping))));
  await until('all are answered', () => received === 2 * pongs);
  assert.equal(seen.pings, pongs);
  // A frame may end in the next turn, and a turn at once comes before those of the next iteration.
  assert.ok(Math.max(...pingsIn.values()) <= 2 * 342, String([...pingsIn.values()]));
});

test('security 36: nothing is parsed of a client that has reset its connection', async (t) => {
  const { seen, sockets } = await open(t, 300);
  const bytes = Buffer.concat(Array.from({ length: 10_000 }, () => clientFrame(ping)));
  for (const socket of sockets) socket.write(bytes);
  await until('the server reads', () => seen.pings > 0);
  await until('most of it is read', () => seen.bytes > 200 * bytes.length);
  const before = seen.pings;
  for (const socket of sockets) socket.resetAndDestroy();
  await until('all have ended', () => seen.ended === 300);
  // Turns that came before the server noticed.
  assert.ok(seen.pings - before < 100_000, `${seen.pings - before} of ${300 * 10_000 - before}`);
});

test('a client whose close has been announced is not parsed any more', async (t) => {
  const { seen, sockets } = await open(t, 50);
  // The first is a close frame.
  const bytes = Buffer.concat([clientFrame(0x8), ...Array.from({ length: 500 }, () => clientFrame(ping))]);
  const ends = sockets.map((socket) => once(socket.resume(), 'end'));
  for (const socket of sockets) socket.write(bytes);
  await Promise.all(ends);
  assert.equal(seen.pings, 0);
});
