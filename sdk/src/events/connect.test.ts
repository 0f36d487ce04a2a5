import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebSocket as WsSocket } from 'ws';
import { event } from '../../test/event-server.ts';
import { range, setUp } from '../../test/socket-setup.ts';
import { until } from '../../test/until.ts';
import { StopEvents } from './connect.ts';
import { events } from './iterate.ts';

test('authenticates by the first frame and starts at the newest event', async (t) => {
  const { server, connect, connections, saw, statusSeen } = await setUp(t);
  server.record(3);
  const connection = connect();
  assert.equal(connection.position, undefined);
  await connections(1);
  await statusSeen('live');
  assert.equal(server.last().path, '/v1/socket');
  assert.deepEqual(server.last().auth, { type: 'auth', token: 'token-1' });
  assert.equal(connection.position, 3);
  server.record(2);
  await saw([4, 5]);
  assert.equal(connection.position, 5);
});

test('with `after` hands over what was missed, then what is new', async (t) => {
  const { server, connect, connections, saw } = await setUp(t);
  server.record(5);
  connect({ after: 2 });
  await connections(1);
  server.record(1);
  await saw([3, 4, 5, 6]);
});

test('events up to the position are dropped, whether seen here or before', async (t) => {
  const { server, connect, connections, saw } = await setUp(t);
  server.log.push(event(1), event(2));
  const connection = connect({ after: 2 });
  await connections(1);
  for (const sequence of [1, 2]) server.last().send({ type: 'event', event: event(sequence) });
  server.record(2);
  for (const sequence of [4, 3, 4]) server.last().send({ type: 'event', event: event(sequence) });
  server.record(1);
  await saw([3, 4, 5]);
  assert.equal(connection.position, 5);
});

for (const [name, Socket] of Object.entries({ 'built-in': WebSocket, ws: WsSocket })) {
  test(`a gap is never skipped: it reconnects after the last good event (${name})`, async (t) => {
    const { server, clock, connect, connections, saw, statusSeen } = await setUp(t, { WebSocket: Socket });
    connect({ after: 0 });
    await connections(1);
    server.record(1);
    server.log.push(event(2), event(3));
    for (const sequence of [3, 2]) server.last().send({ type: 'event', event: event(sequence) });
    await statusSeen('waiting');
    await until('the connection is closed', () => server.last().closed);
    await saw([1]);
    clock.advance(250);
    await connections(2);
    assert.equal(server.last().auth?.after, 1);
    await saw([1, 2, 3]);
  });
}

test('a sparse stream may leave sequences out', async (t) => {
  const { server, connect, connections, saw } = await setUp(t, { sparse: true, after: 0 });
  const connection = connect();
  await connections(1);
  for (const sequence of [2, 5, 5, 9]) server.last().send({ type: 'event', event: event(sequence) });
  await saw([2, 5, 9]);
  assert.equal(connection.position, 9);
  assert.equal(server.connections.length, 1);
});

test('handlers run one after another; one that throws is reported and its event not repeated', async (t) => {
  const { server, clock, connect, connections, errors, statusSeen } = await setUp(t);
  const log: string[] = [];
  const connection = connect({
    after: 0,
    onEvent: async ({ sequence }) => {
      log.push(`start ${sequence}`);
      await new Promise((resolve) => setImmediate(resolve));
      log.push(`end ${sequence} at ${connection.position}`);
      if (sequence === 2) throw new Error('broken');
    },
  });
  await connections(1);
  server.record(3);
  await until('the third has ended', () => log.length === 6);
  await until('the third counts', () => connection.position === 3);
  assert.deepEqual(log, ['start 1', 'end 1 at 0', 'start 2', 'end 2 at 1', 'start 3', 'end 3 at 2']);
  assert.deepEqual(errors.map(String), ['Error: broken']);
  server.last().socket.terminate();
  await statusSeen('waiting');
  clock.advance(250);
  await connections(2);
  assert.equal(server.last().auth?.after, 3);
});

test('too many waiting events drop the connection until the handler has caught up', async (t) => {
  const { server, connect, connections, seen, statusSeen, clock } = await setUp(t);
  let release = (): void => {};
  connect({
    after: 0,
    maxWaiting: 10,
    onEvent: async ({ sequence }) => {
      if (sequence === 1) await new Promise<void>((resolve) => (release = resolve));
      seen.push(sequence);
    },
  });
  await connections(1);
  server.record(40);
  await statusSeen('waiting');
  await until('the connection is closed', () => server.connections[0]?.closed === true);
  assert.equal(clock.pending, 0);
  release();
  await until('all are seen', () => seen.length >= 40);
  assert.deepEqual(seen, range(1, 40));
  assert.equal(server.connections[1]?.auth?.after, 12);
});

test('a lost position is told once, then live events follow', async (t) => {
  const { server, connect, connections, saw, resets } = await setUp(t);
  server.record(9);
  server.oldest = 5;
  const connection = connect({ after: 2 });
  await connections(1);
  server.record(2);
  await saw([10, 11]);
  assert.deepEqual(resets, [{ oldest: 5, sequence: 9 }]);
  assert.equal(connection.position, 11);
});

test('live events wait until onReset is done, so it can catch up first', async (t) => {
  const { server, connect, connections, seen, saw } = await setUp(t);
  const frames: string[] = [];
  server.record(9);
  server.oldest = 5;
  connect({
    after: 2,
    onFrame: (type) => frames.push(type),
    onReset: async () => {
      await until('a live event and what follows it have come', () => frames.includes('later'));
      seen.push(5, 6, 7, 8, 9);
    },
  });
  await connections(1);
  server.record(1);
  server.last().send({ type: 'later' });
  await saw([5, 6, 7, 8, 9, 10]);
});

test('a position in the future is told, and an event known by its id is not handed over again', async (t) => {
  const { server, clock, connect, connections, saw, resets, statusSeen } = await setUp(t);
  connect({ after: 0 });
  await connections(1);
  server.record(3);
  await saw([1, 2, 3]);
  server.last().socket.terminate();
  await statusSeen('waiting');
  server.log.length = 2; // this node is behind
  clock.advance(250);
  await connections(2);
  server.record(2);
  await saw([1, 2, 3, 4]);
  assert.deepEqual(resets, [{ oldest: 1, sequence: 2 }]);
});

test('nonsense drops the connection; frames and events of a later version are passed over', async (t) => {
  const { server, clock, connect, connections, saw, statusSeen, resets } = await setUp(t);
  connect({ after: 0 });
  await connections(1);
  server.last().send({ type: 'novelty' });
  server.last().send({ type: 'welcome', keepalive_seconds: 25, sequence: 7, oldest: 1, resumed: false, replayed: 0 });
  server.last().send({ type: 'event', event: { ...event(1), sequence: null } });
  server.record(1);
  await saw([1]);
  for (const [index, nonsense] of ['{', 'null', '{"type":"reconnect"}', '{"type":"welcome"}'].entries()) {
    server.last().socket.send(nonsense);
    await statusSeen('waiting', index + 1);
    clock.advance(10_000);
    await connections(index + 2);
    await statusSeen('live', index + 2);
  }
  server.onAuth = (connection) => connection.send({ type: 'event', event: event(2) });
  server.last().socket.terminate();
  await statusSeen('waiting', 5);
  clock.advance(10_000);
  await statusSeen('waiting', 6); // an event before the welcome
  server.onAuth = (connection) => connection.welcome();
  clock.advance(30_000);
  server.record(1);
  await saw([1, 2]);
  assert.deepEqual(resets, []);
});

test('the token callback can hang, and can end it with StopEvents', async (t) => {
  const { server, clock, connect, statusSeen, statuses } = await setUp(t);
  let calls = 0;
  let answer = (_token: string): void => {};
  const token = () => {
    calls += 1;
    if (calls === 1) return new Promise<string>((resolve) => (answer = resolve));
    throw new StopEvents('signed out');
  };
  connect({ after: 0, token });
  clock.advance(30_000);
  await statusSeen('waiting');
  clock.advance(250);
  await statusSeen('ended');
  assert.ok(statuses.at(-1)?.[1].error instanceof StopEvents);
  assert.equal(clock.pending, 0);
  answer('too late');
  // A connection made because of the late token would be on its way before this one.
  const probe = new WebSocket(server.url);
  await until('a later connection has come', () => server.connections.length > 0);
  probe.close();
  assert.equal(server.connections.length, 1);
});

test('close() drops what waits, stops the timers and closes the connection', async (t) => {
  const { server, clock, connect, connections, seen, statuses } = await setUp(t);
  let arrived = false;
  const connection = connect({
    after: 0,
    onFrame: () => {
      arrived = true;
    },
    onEvent: async ({ sequence }) => {
      seen.push(sequence);
      await until('the others have arrived', () => arrived);
      connection.close();
    },
  });
  await connections(1);
  server.record(5);
  server.last().send({ type: 'later' });
  await until('the connection is closed', () => server.connections[0]?.closed === true);
  assert.equal(connection.position, 1);
  assert.deepEqual(seen, [1]);
  assert.equal(clock.pending, 0);
  assert.equal(statuses.at(-1)?.[0], 'closed');
});

for (const moment of ['live', 'waiting', 'connecting']) {
  test(`close() at the moment of being told '${moment}' is the end`, async (t) => {
    const { server, clock, connect, connections, seen, resets, statusSeen, statuses } = await setUp(t);
    server.record(3);
    server.oldest = 3;
    let armed = false;
    const connection = connect({
      after: 2,
      onStatus: (status, detail) => {
        statuses.push([status, detail]);
        if (armed && status === moment) connection.close();
      },
    });
    await connections(1);
    await statusSeen('live');
    server.oldest = 9; // whoever resumes now is reset
    armed = true;
    server.last().socket.terminate();
    await statusSeen('waiting');
    clock.advance(250);
    await statusSeen('closed');
    await until('all connections are closed', () => server.connections.every((connection) => connection.closed));
    assert.equal(clock.pending, 0);
    assert.deepEqual([seen, resets], [[3], []]);
    assert.equal(statuses.at(-1)?.[0], 'closed');
    assert.equal(server.connections.length, moment === 'live' ? 2 : 1);
  });
}

test('events() yields them in a loop and closes the connection when the loop is left', async (t) => {
  const { server, clock } = await setUp(t);
  server.record(5);
  const seen: number[] = [];
  for await (const { sequence } of events({ url: server.url, token: () => 'token', after: 1, timer: clock.timer })) {
    seen.push(sequence);
    if (sequence === 4) break;
  }
  assert.deepEqual(seen, [2, 3, 4]);
  await until('the connection is closed', () => server.last().closed);

  server.onAuth = (connection) => {
    connection.welcome();
    connection.socket.close(4403);
  };
  for await (const { sequence } of events({ url: server.url, token: () => 'token', after: 3, timer: clock.timer })) {
    seen.push(sequence);
  }
  assert.deepEqual(seen, [2, 3, 4, 4, 5]);
});

test('frames beside the events are told by their type, and harm nothing when the listener throws', async (t) => {
  const frames: string[] = [];
  const { server, connect, connections, saw } = await setUp(t);
  connect({
    after: 0,
    onError: () => {},
    onFrame(type) {
      frames.push(type);
      throw new Error('listener');
    },
  });
  await connections(1);
  server.last().send({ type: 'overlay' });
  server.record(1);
  await saw([1]);
  assert.deepEqual(frames, ['overlay']);
});
