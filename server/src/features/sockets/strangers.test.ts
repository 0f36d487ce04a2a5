import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { WebSocket } from 'ws';
import { until } from '../../../../sdk/test/until.ts';
import { strangersSocketIoPaths } from '../../../test/attacks.ts';
import { makePair } from '../../../test/factories.ts';
import { clientFrame } from '../../../test/raw-http.ts';
import { connect, listen, rawSocket, socketToken } from '../../../test/sockets.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');
const MiB = 1024 * 1024;
const paths = ['/v1/socket', '/overlay/socket'];
const [text, binary, close, ping, pong] = [0x1, 0x2, 0x8, 0x9, 0xa];

test('security 36: before it has authenticated, any frame but the auth frame closes a socket with 4400', async (t) => {
  const app = await listen(t);
  const firsts: [string, Buffer][] = [
    ['a ping of the protocol', clientFrame(ping)],
    ['a pong', clientFrame(pong, 'x')],
    ['a ping as text', clientFrame(text, '{"type":"ping"}')],
    ['an acknowledgement', clientFrame(text, '{"type":"ack","sequence":1}')],
    ['a binary frame', clientFrame(binary, '{}')],
    ['a fragment without an end', Buffer.concat(Array.from({ length: 4000 }, (_, n) => fragment(n === 0)))],
  ];
  for (const path of paths)
    for (const [what, bytes] of firsts) {
      const socket = await rawSocket(t, app.address, path);
      socket.write(bytes);
      assert.deepEqual(await frames(socket), [[0x88, 4400]], `${path}: ${what}`);
    }
});

test('security 36: nothing may be sent between the auth frame and the welcome', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const token = await socketToken(app, pair);
  const client = connect(t, app.address, null);
  await once(client.webSocket, 'open');
  client.webSocket.send(JSON.stringify({ type: 'auth', token }));
  client.webSocket.ping();
  assert.equal((await client.closed).code, 4400);
  assert.deepEqual(client.frames, []);
  await until('its place is free', () => app.runtime.streams.connected(pair.creatorId, 'socket') === 0);
});

for (const path of [...paths, '/v1/socket?token=bad', ...strangersSocketIoPaths.slice(0, 1)])
  for (const count of [1, 100])
    test(`security 36: ${count} strangers that flood ${path} and read nothing cost no memory`, async (t) => {
      const app = await listen(t);
      const sockets = await Promise.all(Array.from({ length: count }, () => rawSocket(t, app.address, path)));
      const start = memory();
      const sent = await flood(sockets, clientFrame(ping));
      const grown = memory() - start;
      // What the kernel takes off a client before the connection is ended.
      assert.ok(sent < count * 16 * MiB, `${sent / MiB} MiB were taken`);
      assert.ok(grown < 4 * MiB + count * 0.1 * MiB, `memory grew by ${grown / MiB} MiB`);
    });

test('a client that is welcome gets its pings answered, and is closed with 4400 if it floods them', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const token = await socketToken(app, pair);
  const honest = connect(t, app.address, { token });
  await honest.frame(1);
  const answered = once(honest.webSocket, 'pong');
  honest.webSocket.ping('once');
  assert.equal(String((await answered)[0]), 'once');
  for (let n = 0; n < 20; n += 1) honest.webSocket.send('{"type":"ping"}');
  await honest.frame(21);

  for (const bytes of [clientFrame(ping, 'x'.repeat(100)), clientFrame(text, '{"type":"ping"}')]) {
    const socket = await rawSocket(t, app.address, `/v1/socket?token=${token}`);
    await until('it is welcome', () => app.runtime.streams.connected(pair.creatorId, 'socket') === 2);
    const start = memory();
    await flood([socket], bytes);
    assert.ok(memory() - start < 4 * MiB);
    await until('it is ended', () => app.runtime.streams.connected(pair.creatorId, 'socket') === 1);
  }
  assert.equal(honest.webSocket.readyState, WebSocket.OPEN);
});

test('security 36: of ten thousand pings in one piece those beyond the limit are not answered', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const socket = await rawSocket(t, app.address, `/v1/socket?token=${await socketToken(app, pair)}`);
  await until('it is welcome', () => app.runtime.streams.connected(pair.creatorId, 'socket') === 1);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).resume();
  socket.write(Buffer.concat(Array.from({ length: 10_000 }, () => clientFrame(ping, 'x'))));
  await once(socket, 'end');
  const answered = Buffer.concat(chunks).toString('latin1').split('\x8a\x01x').length - 1;
  // 8 KiB of them, if the first bytes came apart from the others.
  assert.ok(answered < 8192 / clientFrame(ping, 'x').length, `${answered} were answered`);
});

test('security 36: the memory of what a flood has sent is freed, not left to be collected', async (t) => {
  const app = await listen(t);
  const read: Buffer[] = [];
  app.http.server.on('connection', (socket: Socket) => {
    const push = t.mock.method(socket, 'push', (chunk: Buffer | null) => {
      if (chunk) read.push(chunk);
      return Reflect.apply(Object.getPrototypeOf(socket).push, socket, [chunk]);
    });
    socket.once('close', () => push.mock.restore());
  });
  const sockets = await Promise.all(Array.from({ length: 20 }, () => rawSocket(t, app.address, '/v1/socket')));
  const before = read.length;
  for (const socket of sockets) socket.resume();
  await flood(sockets, clientFrame(ping));
  assert.ok(read.length - before >= 20);
  await until('all of it is freed', () => read.slice(before).every(({ length }) => length < 16 * 1024));
});

for (const path of paths)
  test(`security 36: of 200 strangers that send to ${path} at once a few are closed in an iteration of the event loop`, async (t) => {
    const app = await listen(t);
    const pair = await makePair(app.runtime);
    const token = await socketToken(app, pair);
    const wrong = `${token.slice(0, token.lastIndexOf('.'))}.${'A'.repeat(86)}`;
    let [iteration, ended] = [0, new Map<number, number>()];
    let timer = setImmediate(function next() {
      iteration += 1;
      timer = setImmediate(next);
    });
    t.after(() => clearImmediate(timer));
    app.http.server.on('connection', (socket: Socket) => {
      const end = t.mock.method(socket, 'end', (...what: unknown[]) => {
        end.mock.restore();
        ended.set(iteration, (ended.get(iteration) ?? 0) + 1);
        return Reflect.apply(socket.end, socket, what);
      });
    });
    const sent: [string, Buffer][] = [
      ['wrong tokens', clientFrame(text, JSON.stringify({ type: 'auth', token: wrong }))],
      ['pings', clientFrame(ping)],
      ['what is no frame', Buffer.alloc(6, 0xff)],
      ['close frames', clientFrame(close)],
    ];
    for (const [what, bytes] of sent) {
      const sockets = await Promise.all(Array.from({ length: 200 }, () => rawSocket(t, app.address, path)));
      ended = new Map();
      const closed = sockets.map((socket) => once(socket.resume(), 'end'));
      for (const socket of sockets) socket.write(bytes);
      await Promise.all(closed);
      const counts = [...ended.values()];
      assert.ok(counts.length > 1, what);
      // Eight at once, and as many that had waited.
      assert.ok(Math.max(...counts) <= 16, `${what}: ${counts}`);
    }
  });

/** Sends until all connections are ended, as fast as the server takes it; resolves with the bytes that were taken. */
async function flood(sockets: readonly Socket[], frame: Buffer): Promise<number> {
  const chunk = Buffer.concat(Array.from({ length: Math.ceil(65_536 / frame.length) }, () => frame));
  const one = async (socket: Socket): Promise<number> => {
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const send = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on('drain', send);
    send();
    await closed;
    return socket.bytesWritten;
  };
  const all = await Promise.all(sockets.map(one));
  return all.reduce((sum, bytes) => sum + bytes, 0);
}

/** First byte and close code of the frames that come until the connection ends. */
async function frames(socket: Socket): Promise<[number, number][]> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).resume();
  await once(socket, 'end');
  const bytes = Buffer.concat(chunks);
  const found: [number, number][] = [];
  for (let at = 0; at < bytes.length; at += 2 + bytes.readUInt8(at + 1))
    found.push([bytes.readUInt8(at), bytes.readUInt16BE(at + 2)]);
  return found;
}

function fragment(first: boolean): Buffer {
  return Buffer.of(first ? text : 0x0, 0x80, 0, 0, 0, 0);
}

function memory(): number {
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
