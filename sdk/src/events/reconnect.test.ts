import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebSocket as WsSocket } from 'ws';
import { range, setUp } from '../../test/socket-setup.ts';
import { until } from '../../test/until.ts';

test('a cut is resumed soon, with the same token and after the last event', async (t) => {
  const { server, clock, connect, connections, saw, statusSeen, lastWait } = await setUp(t);
  connect();
  await connections(1);
  server.record(2);
  await saw([1, 2]);
  server.last().socket.terminate();
  server.record(3);
  await statusSeen('waiting');
  assert.deepEqual(lastWait(), { code: 1006, retryMs: 250 });
  clock.advance(250);
  await connections(2);
  assert.deepEqual(server.last().auth, { type: 'auth', token: 'token-1', after: 2 });
  await saw([1, 2, 3, 4, 5]);
});

test('a silent connection is dropped after twice the keepalive, a kept one is not', async (t) => {
  const { server, clock, connect, connections, saw, statusSeen } = await setUp(t);
  let keepalives = 0;
  class Counting extends WebSocket {
    constructor(url: string) {
      super(url);
      this.addEventListener('message', ({ data }) => {
        if (String(data).includes('keepalive"')) keepalives += 1;
      });
    }
  }
  const connection = connect({ after: 0, WebSocket: Counting });
  await connections(1);
  await statusSeen('live');
  for (const count of [1, 2, 3]) {
    clock.advance(49_000);
    server.last().send({ type: 'keepalive' });
    await until('the keepalive is heard', () => keepalives === count);
  }
  assert.equal(server.connections.length, 1);
  server.last().live = false; // the network swallows everything from here on
  server.record(1);
  clock.advance(49_999);
  assert.equal(connection.status, 'live');
  clock.advance(1);
  await statusSeen('waiting');
  clock.advance(250);
  await connections(2);
  await saw([1]);
});

test('an attempt that is not welcomed in time is given up, and its token with it', async (t) => {
  const { server, clock, connect, connections, statusSeen } = await setUp(t, { WebSocket: WsSocket });
  server.onAuth = () => {};
  const connection = connect({ after: 0 });
  await until('it has authenticated', () => server.connections[0]?.auth !== undefined);
  clock.advance(29_999);
  assert.equal(connection.status, 'connecting');
  clock.advance(1);
  server.last().welcome(); // too late
  await until('the connection is closed', () => server.last().closed);
  assert.equal(connection.status, 'waiting');
  await statusSeen('waiting');
  server.onAuth = (connection) => connection.welcome();
  clock.advance(250);
  await connections(2);
  assert.equal(server.last().auth?.token, 'token-2');
});

test('a reconnect frame moves the connection without a lost or doubled event', async (t) => {
  const { server, clock, connect, connections, saw, statuses } = await setUp(t);
  connect({ after: 0 });
  await connections(1);
  const [old] = server.connections;
  assert.ok(old);
  server.record(1);
  await saw([1]);
  old.send({ type: 'reconnect', after_ms: 700 });
  old.send({ type: 'reconnect', after_ms: 5000 });
  server.record(1);
  await saw([1, 2]);
  clock.advance(699);
  assert.equal(server.connections.length, 1);
  server.onAuth = () => {}; // the new node is slow to welcome
  clock.advance(1);
  await until('the new connection has authenticated', () => server.connections[1]?.auth !== undefined);
  server.record(2);
  await saw([1, 2, 3, 4]);
  assert.equal(old.closed, false);
  old.send({ type: 'reconnect', after_ms: 0 });
  server.last().welcome();
  server.record(2);
  await saw([1, 2, 3, 4, 5, 6]);
  await until('the old connection is closed', () => old.closed);
  assert.equal(server.last().auth?.after, 2);
  assert.equal(server.connections.length, 2);
  assert.deepEqual(
    statuses.map(([name]) => name),
    ['connecting', 'live', 'live'],
  );
});

test('when the old connection ends before the new one is welcomed, there is still one new one', async (t) => {
  const { server, clock, connect, connections, saw, statusSeen } = await setUp(t);
  connect({ after: 0 });
  await connections(1);
  await statusSeen('live');
  const [old] = server.connections;
  assert.ok(old);
  server.onAuth = () => {};
  old.send({ type: 'reconnect', after_ms: 90_000 });
  server.record(1);
  await saw([1]);
  clock.advance(25_000); // no later than the server keeps the old one
  await until('the new connection has authenticated', () => server.connections[1]?.auth !== undefined);
  const timers = clock.pending;
  old.socket.close(1012);
  await until('the end of the old connection is noticed', () => clock.pending < timers);
  clock.advance(5000);
  server.record(1);
  server.last().welcome();
  await saw([1, 2]);
  assert.equal(server.connections.length, 2);
});

test('while the new connection fails the old one goes on, and its end hurries nothing twice', async (t) => {
  const { server, clock, connect, connections, saw, statusSeen } = await setUp(t);
  connect({ after: 0 });
  await connections(1);
  const [old] = server.connections;
  assert.ok(old);
  server.onAuth = (connection) => connection.socket.close(1012);
  old.send({ type: 'reconnect', after_ms: 100 });
  server.record(1);
  await saw([1]);
  clock.advance(100);
  await until('the new connection was refused', () => server.connections[1]?.closed === true);
  server.record(1);
  await saw([1, 2]);
  server.onAuth = (connection) => connection.welcome();
  old.socket.close(1012);
  server.record(1);
  await statusSeen('waiting');
  clock.advance(1000);
  await connections(3);
  await saw([1, 2, 3]);
});

for (const { code, wait } of [
  { code: 4400, wait: 250 },
  { code: 4402, wait: 250 },
  { code: 4408, wait: 250 },
  { code: 1012, wait: 250 },
  { code: 1000, wait: 250 },
  { code: 4429, wait: 45_000 },
]) {
  test(`close code ${code} is resumed after ${wait} ms of back-off`, async (t) => {
    const { server, clock, connect, connections, saw, statusSeen, lastWait } = await setUp(t);
    const connection = connect({ after: 0 });
    await connections(1);
    server.record(1);
    await saw([1]);
    server.last().socket.close(code);
    await statusSeen('waiting');
    server.record(1);
    assert.deepEqual(lastWait(), { code, retryMs: wait });
    clock.advance(wait - 1);
    assert.equal(connection.status, 'waiting');
    clock.advance(1);
    await connections(2);
    await saw([1, 2]);
  });
}

test('a reconnection asks for what follows the last received event, though its handler still runs', async (t) => {
  const { server, clock, connect, connections, seen, statusSeen } = await setUp(t);
  let release = (): void => {};
  const connection = connect({
    after: 0,
    onEvent: async ({ sequence }) => {
      if (sequence === 1) await new Promise<void>((resolve) => (release = resolve));
      seen.push(sequence);
    },
  });
  await connections(1);
  server.record(3);
  server.last().socket.close(1012);
  await statusSeen('waiting');
  clock.advance(250);
  await connections(2);
  assert.equal(server.last().auth?.after, 3);
  assert.equal(connection.position, 0);
  release();
  server.record(1);
  await until('all are seen', () => seen.length >= 4);
  assert.deepEqual(seen, range(1, 4));
});

test('4401 fetches a new token at once, and backs off when refused again', async (t) => {
  const { server, clock, connect, connections, saw, statusSeen, statuses } = await setUp(t);
  connect({ after: 0 });
  await connections(1);
  server.last().socket.terminate();
  await statusSeen('waiting');
  server.onAuth = (connection) =>
    connection.auth?.token === 'token-4' ? connection.welcome() : connection.socket.close(4401);
  for (const times of [2, 3, 4]) {
    clock.advance(statuses.at(-1)?.[1].retryMs ?? 0);
    await statusSeen('waiting', times);
  }
  clock.advance(10_000);
  await connections(5);
  await statusSeen('live', 2);
  assert.deepEqual(
    server.connections.map((connection) => connection.auth?.token),
    ['token-1', 'token-1', 'token-2', 'token-3', 'token-4'],
  );
  const waits = statuses.filter(([name]) => name === 'waiting').map(([, { retryMs }]) => retryMs);
  assert.deepEqual(waits, [250, 0, 500, 1000]);
  clock.advance(10_000);
  server.last().socket.close(4401);
  await statusSeen('waiting', 5);
  assert.equal(statuses.at(-1)?.[1].retryMs, 0);
  server.onAuth = (connection) => connection.welcome();
  clock.advance(0);
  server.record(1);
  await saw([1]);
});

test('4403 ends it for good, after what had arrived before was handed over', async (t) => {
  const { server, clock, connect, connections, statuses, statusSeen } = await setUp(t);
  const done: number[] = [];
  let release = (): void => {};
  const connection = connect({
    after: 0,
    onEvent: async ({ sequence }) => {
      if (sequence === 1) await new Promise<void>((resolve) => (release = resolve));
      done.push(sequence);
    },
  });
  await connections(1);
  server.record(2);
  server.last().socket.close(4403);
  await until('the timers are gone', () => clock.pending === 0);
  assert.equal(connection.status, 'live');
  release();
  await statusSeen('ended');
  assert.deepEqual(done, [1, 2]);
  assert.deepEqual(statuses.at(-1), ['ended', { code: 4403 }]);
  assert.equal(clock.pending, 0);
  connection.close();
  assert.equal(connection.status, 'ended');
});

test('back-off doubles up to 30 seconds and is forgotten after a stable connection', async (t) => {
  const { server, clock, connect, connections, statusSeen, statuses, lastWait } = await setUp(t, { random: () => 1 });
  let down = true;
  const token = async () => {
    if (down) throw new Error('down');
    return 'token';
  };
  connect({ after: 0, token });
  for (const times of range(1, 9)) {
    await statusSeen('waiting', times);
    if (times === 9) down = false;
    clock.advance(statuses.at(-1)?.[1].retryMs ?? 0);
  }
  const waits = statuses.filter(([name]) => name === 'waiting').map(([, { retryMs }]) => retryMs);
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  await connections(1);
  await statusSeen('live');
  clock.advance(9999);
  server.last().socket.terminate();
  await statusSeen('waiting', 10);
  assert.equal(lastWait()?.retryMs, 30_000);
  clock.advance(30_000);
  await connections(2);
  await statusSeen('live', 2);
  clock.advance(10_000);
  server.last().socket.terminate();
  await statusSeen('waiting', 11);
  assert.equal(lastWait()?.retryMs, 500);
});
