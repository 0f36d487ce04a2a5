import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { WebSocket } from 'ws';
import { until } from '../../../../../sdk/test/until.ts';
import { makePair } from '../../../../test/factories.ts';
import { connectProgram, makeKey, openByHand, openProgram } from '../../../../test/programs.ts';
import { clientFrame } from '../../../../test/raw-http.ts';
import { listen, rawSocket, recordTips } from '../../../../test/sockets.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');
const MiB = 1024 * 1024;
const { cache } = createRequire(import.meta.url);
const isLoaded = (): boolean => Object.keys(cache).some((file) => /node_modules.socket\.io.dist/.test(file));

const unknownKey = `njk_${'a'.repeat(43)}`;

test('security 36: strangers are refused before Socket.IO is loaded, and are told in its words', async (t) => {
  const { http, runtime } = await listen(t);
  const { creatorId } = await makePair(runtime);
  const rows: [string, string, number, number][] = [
    ['GET', `transport=polling&token=${unknownKey}`, 403, 4],
    ['GET', 'transport=polling', 403, 4],
    ['GET', `transport=polling&token=${unknownKey}&token=${unknownKey}`, 403, 4],
    ['GET', 'transport=polling&token[]=x', 403, 4],
    ['GET', `transport=polling&token=%00${unknownKey}`, 403, 4],
    ['GET', `transport=polling&token=${'x'.repeat(10_000)}`, 403, 4],
    ['GET', `token=${unknownKey}`, 400, 0],
    ['GET', `transport=webtransport&token=${unknownKey}`, 400, 0],
    ['GET', `transport=__proto__&token=${unknownKey}`, 400, 0],
    ['GET', `transport=websocket&token=${unknownKey}`, 400, 3],
    ['POST', `transport=polling&token=${unknownKey}`, 400, 2],
    ['GET', `transport=polling&sid=x&token=${unknownKey}`, 400, 1],
    ['GET', 'transport=polling&sid=__proto__', 400, 1],
    ['POST', `transport=polling&sid=x&token=${unknownKey}`, 400, 1],
  ];
  for (const [method, query, status, code] of rows)
    for (const version of ['', 'EIO=3&', 'EIO=4&', 'EIO=99&']) {
      const url = `/socket.io/?${version}${query}`;
      const response = await http.inject({ method: method === 'POST' ? 'POST' : 'GET', url, payload: '40' });
      assert.deepEqual([response.statusCode, response.json().code], [status, code], url);
    }
  const large = {
    method: 'POST',
    url: '/socket.io/?EIO=4&transport=polling&sid=x',
    payload: 'x'.repeat(5000),
  } as const;
  assert.equal((await http.inject(large)).statusCode, 413);
  for (const url of ['/socket.io', '/socket.io/socket.io.js', '/socket.io/admin'])
    assert.equal((await http.inject({ url: `${url}?token=${unknownKey}` })).statusCode, 404, url);
  assert.equal(runtime.streams.connected(creatorId, 'program'), 0);
  assert.equal(isLoaded(), false);
});

for (const count of [1, 100])
  test(`security 36: ${count} strangers that ask for a WebSocket and flood cost no memory`, async (t) => {
    const app = await listen(t);
    const path = `/socket.io/?EIO=4&transport=websocket&token=${unknownKey}`;
    const sockets = await Promise.all(Array.from({ length: count }, () => rawSocket(t, app.address, path)));
    const start = memory();
    const chunk = Buffer.concat(Array.from({ length: 8192 }, () => clientFrame(0x9, '')));
    for (const socket of sockets) {
      socket.resume();
      const send = (): void => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.on('drain', send);
      send();
    }
    await until('all are ended', () => sockets.every(({ destroyed }) => destroyed));
    assert.ok(memory() - start < 4 * MiB + count * 0.1 * MiB, `memory grew by ${(memory() - start) / MiB} MiB`);
    assert.equal(isLoaded(), false);
  });

test('a session belongs to its key', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  const other = await makeKey(app, creatorId);
  const session = await openByHand(app, key);
  const url = `/socket.io/?EIO=4&transport=polling&sid=${session.sid}`;
  for (const token of ['', `&token=${other}`, `&token=${unknownKey}`, `&token=${key}x`])
    for (const method of ['GET', 'POST'] as const) {
      const { statusCode, body } = await app.http.inject({ method, url: `${url}${token}`, payload: '1' });
      assert.deepEqual([statusCode, body], [403, '{"code":4,"message":"Forbidden"}']);
    }
  await recordTips(app, creatorId, 1);
  assert.match(await session.poll('GET'), /"id":1,/, 'it goes on');
});

test('a page of any origin may connect, and is told so in every answer', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  for (const [token, status] of [
    [key, 200],
    [unknownKey, 403],
  ] as const)
    for (const origin of ['https://bot.example', 'null']) {
      const url = `http://${app.address}/socket.io/?EIO=4&transport=polling&token=${token}`;
      const { status: answered, headers } = await fetch(url, { headers: { origin } });
      assert.equal(answered, status);
      assert.equal(headers.get('access-control-allow-origin'), origin);
      assert.equal(headers.get('access-control-allow-credentials'), 'true');
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.match(headers.get('x-request-id') ?? '', /^req_/);
      assert.equal(headers.get('set-cookie'), null);
    }
  const asked = await app.http.inject({
    method: 'OPTIONS',
    url: '/socket.io/',
    headers: { origin: 'https://a.example' },
  });
  assert.deepEqual([asked.statusCode, asked.headers['access-control-allow-origin']], [204, 'https://a.example']);
  const plain = await app.http.inject({ url: '/socket.io/?transport=polling' });
  assert.equal(plain.headers['access-control-allow-origin'], undefined);
});

test('a creator has twenty programs at most, over all keys', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const keys = [await makeKey(app, creatorId), await makeKey(app, creatorId)];
  const programs = await Promise.all(
    Array.from({ length: 20 }, (_, n) => openProgram(t, app, keys[n % 2] ?? '', { generation: n % 4 < 2 ? 2 : 4 })),
  );
  const url = `http://${app.address}/socket.io/?EIO=4&transport=polling&token=${keys[0]}`;
  const { status, headers } = await fetch(url);
  assert.deepEqual([status, headers.get('retry-after')], [429, '5']);
  const refused = connectProgram(t, app.address, keys[1] ?? '');
  await until('it is refused', () => refused.log.length > 0);
  assert.deepEqual(refused.log, ['connect_error']);
  await recordTips(app, creatorId, 1);
  for (const { messages } of programs) await until('all others are told', () => messages.length === 1);
  programs[0]?.close();
  await until('a slot is free', () => app.runtime.streams.connected(creatorId, 'program') === 19);
  await openProgram(t, app, keys[1] ?? '');
});

test('a key may be used to connect 120 times a minute', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  const url = `/socket.io/?EIO=4&transport=polling&token=${key}`;
  for (let n = 0; n < 120; n += 1) {
    const { body } = await app.http.inject({ url });
    const { sid } = JSON.parse(body.slice(1));
    await app.http.inject({ method: 'POST', url: `${url}&sid=${sid}`, payload: '1' });
  }
  assert.equal((await app.http.inject({ url })).statusCode, 429);
  await openProgram(t, app, await makeKey(app, creatorId));
  app.clock.advance(60_000);
  await openProgram(t, app, key);
});

test('what a program sends is ignored, and closes it if it is binary, long or much', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const rows: [string, (socket: WebSocket) => void, boolean][] = [
    ['an event', (socket) => socket.send('42["message",{"a":1}]'), true],
    ['an event that wants an answer', (socket) => socket.send('421["message"]'), true],
    ['another namespace', (socket) => socket.send('40/admin,'), true],
    ['a ping of the protocol', (socket) => socket.ping(), true],
    ['binary', (socket) => socket.send(Buffer.from('42["message"]')), false],
    ['binary in text', (socket) => socket.send('bAAAA'), false],
    ['an event with attachments', (socket) => socket.send('451-["message",{"_placeholder":true,"num":0}]'), true],
    ['a long message', (socket) => socket.send(`42["message","${'x'.repeat(9000)}"]`), false],
    ['no packet', (socket) => socket.send('xyz'), false],
    ['a packet that is no JSON', (socket) => socket.send('42[}'), false],
    ['joining twice', (socket) => socket.send('40'), false],
    ['much', (socket) => range(200, () => socket.send(`42["message","${'x'.repeat(100)}"]`)), false],
    ['pings without end', (socket) => range(2000, () => socket.ping('0123456789')), false],
  ];
  const key = await makeKey(app, creatorId);
  for (const [what, send, stays] of rows) {
    const socket = new WebSocket(`ws://${app.address}/socket.io/?EIO=4&transport=websocket&token=${key}`);
    t.after(() => socket.terminate());
    const got: string[] = [];
    socket.on('message', (data) => got.push(String(data)));
    socket.on('error', () => {});
    await once(socket, 'open');
    socket.send('40');
    await until('it has joined', () => got.some((packet) => packet.startsWith('40')));
    send(socket);
    if (stays) {
      await app.runtime.alerts.send({ creatorId, amount: 1 });
      await until(`${what}: it goes on`, () => got.some((packet) => packet.startsWith('42["event"')));
      socket.close();
    }
    await until(`${what}: it is closed`, () => socket.readyState === WebSocket.CLOSED);
    await until('its slot is free', () => app.runtime.streams.connected(creatorId, 'program') === 0);
  }
});

test('security 51: the programs of a creator who is suspended are closed', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  const program = await openProgram(t, app, key);
  await app.runtime.grants.suspend('creator', creatorId, app.clock());
  await until('it is closed', () => program.log.at(-1) === 'io server disconnect');
  const { statusCode } = await app.http.inject({ url: `/socket.io/?EIO=4&transport=polling&token=${key}` });
  assert.equal(statusCode, 403);
});

test('a program that does not poll is closed, and gets what waited when it connects again', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  await openByHand(app, key);
  await recordTips(app, creatorId, 2);
  await until('the tips wait', async () => {
    t.mock.timers.tick(1000);
    return app.runtime.streams.connected(creatorId, 'program') === 0;
  });
  const program = await openProgram(t, app, key);
  await until('both have come', () => program.ids().length === 2);
});

const range = (count: number, each: () => void): void => {
  for (let n = 0; n < count; n += 1) each();
};

function memory(): number {
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
