import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { type TestContext, test } from 'node:test';
import { WebSocket as WsSocket } from 'ws';
import { type ManualClock, manualClock, until } from '../test/clock.ts';
import { event, startEventServer } from '../test/event-server.ts';
import { events } from './iterate.ts';
import { connectEvents, StopEvents } from './socket.ts';
import type { ConnectOptions, StatusDetail } from './socket-types.ts';

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

async function setUp(t: TestContext, options: Partial<ConnectOptions> = {}) {
  const server = await startEventServer(t);
  const clock: ManualClock = manualClock();
  const seen: number[] = [];
  const errors: unknown[] = [];
  const resets: unknown[] = [];
  const statuses: [string, StatusDetail][] = [];
  let tokens = 0;
  const connect = (more: Partial<ConnectOptions> = {}) => {
    const connection = connectEvents({
      url: server.url,
      token: () => `token-${++tokens}`,
      onEvent: ({ sequence }) => seen.push(sequence),
      onError: (error) => errors.push(error),
      onReset: (reset) => resets.push(reset),
      onStatus: (status, detail) => statuses.push([status, detail]),
      timer: clock.timer,
      random: () => 0.5,
      ...options,
      ...more,
    });
    t.after(() => connection.close());
    return connection;
  };
  const lines = (count: number) =>
    until(`${count} lines are live`, () => server.lines.length === count && server.last().live);
  const saw = (expected: number[]) =>
    until(`${expected.length} events are seen`, () => seen.length >= expected.length).then(() =>
      assert.deepEqual(seen, expected),
    );
  const told = (status: string, times = 1) =>
    until(`${status} is told`, () => statuses.filter(([name]) => name === status).length >= times);
  const lastWait = () => statuses.findLast(([name]) => name === 'waiting')?.[1];
  return { server, clock, seen, errors, resets, statuses, connect, lines, saw, told, lastWait };
}

test('authenticates by the first frame and starts at the newest event', async (t) => {
  const { server, connect, lines, saw, told } = await setUp(t);
  server.record(3);
  const connection = connect();
  assert.equal(connection.position, undefined);
  await lines(1);
  await told('live');
  assert.equal(server.last().path, '/v1/socket');
  assert.deepEqual(server.last().auth, { type: 'auth', token: 'token-1' });
  assert.equal(connection.position, 3);
  server.record(2);
  await saw([4, 5]);
  assert.equal(connection.position, 5);
});

test('with `after` hands over what was missed, then what is new', async (t) => {
  const { server, connect, lines, saw } = await setUp(t);
  server.record(5);
  connect({ after: 2 });
  await lines(1);
  server.record(1);
  await saw([3, 4, 5, 6]);
});

test('works on the `ws` package as on the built-in WebSocket', async (t) => {
  const { server, clock, connect, lines, saw, told } = await setUp(t, { WebSocket: WsSocket });
  connect({ after: 0 });
  await lines(1);
  server.last().socket.terminate();
  server.record(2);
  await told('waiting');
  clock.advance(250);
  await saw([1, 2]);
});

test('a cut is resumed soon, with the same token and after the last event', async (t) => {
  const { server, clock, connect, lines, saw, told, lastWait } = await setUp(t);
  connect();
  await lines(1);
  server.record(2);
  await saw([1, 2]);
  server.last().socket.terminate();
  server.record(3);
  await told('waiting');
  assert.deepEqual(lastWait(), { code: 1006, retryMs: 250 });
  clock.advance(250);
  await lines(2);
  assert.deepEqual(server.last().auth, { type: 'auth', token: 'token-1', after: 2 });
  await saw([1, 2, 3, 4, 5]);
});

test('repeated events are dropped', async (t) => {
  const { server, connect, lines, saw } = await setUp(t);
  connect({ after: 0 });
  await lines(1);
  server.record(2);
  for (const sequence of [2, 1, 2]) server.last().send({ type: 'event', event: event(sequence) });
  server.record(1);
  await saw([1, 2, 3]);
});

test('a gap is never skipped: it reconnects after the last good event', async (t) => {
  const { server, clock, connect, lines, saw, told } = await setUp(t);
  connect({ after: 0 });
  await lines(1);
  server.record(1);
  server.log.push(event(2), event(3));
  for (const sequence of [3, 2]) server.last().send({ type: 'event', event: event(sequence) });
  await told('waiting');
  await saw([1]);
  clock.advance(250);
  await lines(2);
  assert.equal(server.last().auth?.after, 1);
  await saw([1, 2, 3]);
  assert.ok(server.lines[0]?.closed);
});

test('a sparse stream may leave sequences out', async (t) => {
  const { server, connect, lines, saw } = await setUp(t, { sparse: true, after: 0 });
  const connection = connect();
  await lines(1);
  for (const sequence of [2, 5, 5, 9]) server.last().send({ type: 'event', event: event(sequence) });
  await saw([2, 5, 9]);
  assert.equal(connection.position, 9);
  assert.equal(server.lines.length, 1);
});

test('a silent line is dropped after twice the keepalive, a kept one is not', async (t) => {
  const { server, clock, connect, lines, saw, told } = await setUp(t);
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
  await lines(1);
  await told('live');
  for (const count of [1, 2, 3]) {
    clock.advance(49_000);
    server.last().send({ type: 'keepalive' });
    await until('the keepalive is heard', () => keepalives === count);
  }
  assert.equal(server.lines.length, 1);
  server.last().live = false; // the network swallows everything from here on
  server.record(1);
  clock.advance(49_999);
  assert.equal(connection.status, 'live');
  clock.advance(1);
  await told('waiting');
  clock.advance(250);
  await lines(2);
  await saw([1]);
});

test('an attempt that is not welcomed in time is given up, and its token with it', async (t) => {
  const { server, clock, connect, lines, told } = await setUp(t);
  server.onAuth = () => {};
  const connection = connect({ after: 0 });
  await until('it has authenticated', () => server.lines[0]?.auth !== undefined);
  clock.advance(29_999);
  assert.equal(connection.status, 'connecting');
  clock.advance(1);
  await told('waiting');
  server.onAuth = (line) => line.welcome();
  clock.advance(250);
  await lines(2);
  assert.equal(server.last().auth?.token, 'token-2');
});

test('a reconnect frame moves the connection without a lost or doubled event', async (t) => {
  const { server, clock, connect, lines, saw, statuses } = await setUp(t);
  connect({ after: 0 });
  await lines(1);
  const [old] = server.lines;
  assert.ok(old);
  server.record(1);
  await saw([1]);
  old.send({ type: 'reconnect', after_ms: 700 });
  old.send({ type: 'reconnect', after_ms: 700 });
  server.record(1);
  await saw([1, 2]);
  clock.advance(699);
  assert.equal(server.lines.length, 1);
  server.onAuth = () => {}; // the new node is slow to welcome
  clock.advance(1);
  await until('the new line has authenticated', () => server.lines[1]?.auth !== undefined);
  server.record(2);
  await saw([1, 2, 3, 4]);
  assert.equal(old.closed, false);
  server.last().welcome();
  server.record(2);
  await saw([1, 2, 3, 4, 5, 6]);
  await until('the old line is closed', () => old.closed);
  assert.equal(server.last().auth?.after, 2);
  assert.equal(server.lines.length, 2);
  assert.deepEqual(
    statuses.map(([name]) => name),
    ['connecting', 'live', 'live'],
  );
});

test('while the new connection fails the old one goes on, and its end hurries nothing twice', async (t) => {
  const { server, clock, connect, lines, saw, told } = await setUp(t);
  connect({ after: 0 });
  await lines(1);
  const [old] = server.lines;
  assert.ok(old);
  server.onAuth = (line) => line.socket.close(1012);
  old.send({ type: 'reconnect', after_ms: 100 });
  server.record(1);
  await saw([1]);
  clock.advance(100);
  await until('the new line was refused', () => server.lines[1]?.closed === true);
  server.record(1);
  await saw([1, 2]);
  server.onAuth = (line) => line.welcome();
  old.socket.close(1012);
  server.record(1);
  await told('waiting');
  clock.advance(1000);
  await lines(3);
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
    const { server, clock, connect, lines, saw, told, lastWait } = await setUp(t);
    const connection = connect({ after: 0 });
    await lines(1);
    server.record(1);
    await saw([1]);
    server.last().socket.close(code);
    await told('waiting');
    server.record(1);
    assert.deepEqual(lastWait(), { code, retryMs: wait });
    clock.advance(wait - 1);
    assert.equal(connection.status, 'waiting');
    clock.advance(1);
    await lines(2);
    await saw([1, 2]);
  });
}

test('4401 fetches a new token at once, and backs off when refused again', async (t) => {
  const { server, clock, connect, lines, saw, told, statuses } = await setUp(t);
  connect({ after: 0 });
  await lines(1);
  server.last().socket.terminate();
  await told('waiting');
  server.onAuth = (line) => (line.auth?.token === 'token-4' ? line.welcome() : line.socket.close(4401));
  for (const times of [2, 3, 4]) {
    clock.advance(statuses.at(-1)?.[1].retryMs ?? 0);
    await told('waiting', times);
  }
  clock.advance(10_000);
  await lines(5);
  assert.deepEqual(
    server.lines.map((line) => line.auth?.token),
    ['token-1', 'token-1', 'token-2', 'token-3', 'token-4'],
  );
  const waits = statuses.filter(([name]) => name === 'waiting').map(([, { retryMs }]) => retryMs);
  assert.deepEqual(waits, [250, 0, 500, 1000]);
  server.record(1);
  await saw([1]);
});

test('4403 ends it for good, after what had arrived before was handed over', async (t) => {
  const { server, clock, connect, lines, statuses, told } = await setUp(t);
  const done: number[] = [];
  let release = (): void => {};
  const connection = connect({
    after: 0,
    onEvent: async ({ sequence }) => {
      if (sequence === 1) await new Promise<void>((resolve) => (release = resolve));
      done.push(sequence);
    },
  });
  await lines(1);
  server.record(2);
  server.last().socket.close(4403);
  await until('the timers are gone', () => clock.pending === 0);
  assert.equal(connection.status, 'live');
  release();
  await told('ended');
  assert.deepEqual(done, [1, 2]);
  assert.deepEqual(statuses.at(-1), ['ended', { code: 4403 }]);
  assert.equal(clock.pending, 0);
  connection.close();
  assert.equal(connection.status, 'ended');
});

test('back-off doubles up to 30 seconds and is forgotten after a stable connection', async (t) => {
  const { server, clock, connect, lines, told, statuses, lastWait } = await setUp(t, { random: () => 1 });
  let down = true;
  const token = async () => {
    if (down) throw new Error('down');
    return 'token';
  };
  connect({ after: 0, token });
  for (const times of range(1, 9)) {
    await told('waiting', times);
    if (times === 9) down = false;
    clock.advance(statuses.at(-1)?.[1].retryMs ?? 0);
  }
  const waits = statuses.filter(([name]) => name === 'waiting').map(([, { retryMs }]) => retryMs);
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  await lines(1);
  await told('live');
  clock.advance(9999);
  server.last().socket.terminate();
  await told('waiting', 10);
  assert.equal(lastWait()?.retryMs, 30_000);
  clock.advance(30_000);
  await lines(2);
  await told('live', 2);
  clock.advance(10_000);
  server.last().socket.terminate();
  await told('waiting', 11);
  assert.equal(lastWait()?.retryMs, 500);
});

test('the token callback can hang, and can end it with StopEvents', async (t) => {
  const { server, clock, connect, told, statuses } = await setUp(t);
  let calls = 0;
  const token = () => {
    calls += 1;
    if (calls === 1) return new Promise<string>(() => {});
    throw new StopEvents('signed out');
  };
  connect({ after: 0, token });
  clock.advance(30_000);
  await told('waiting');
  clock.advance(250);
  await told('ended');
  assert.ok(statuses.at(-1)?.[1].error instanceof StopEvents);
  assert.equal(clock.pending, 0);
  assert.equal(server.lines.length, 0);
});

test('handlers run one after another; one that throws is reported and its event not repeated', async (t) => {
  const { server, clock, connect, lines, errors, told } = await setUp(t);
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
  await lines(1);
  server.record(3);
  await until('the third has ended', () => log.length === 6);
  await until('the third counts', () => connection.position === 3);
  assert.deepEqual(log, ['start 1', 'end 1 at 0', 'start 2', 'end 2 at 1', 'start 3', 'end 3 at 2']);
  assert.deepEqual(errors.map(String), ['Error: broken']);
  server.last().socket.terminate();
  await told('waiting');
  clock.advance(250);
  await lines(2);
  assert.equal(server.last().auth?.after, 3);
});

test('too many waiting events drop the connection until the handler has caught up', async (t) => {
  const { server, connect, lines, seen, told, clock } = await setUp(t);
  let release = (): void => {};
  connect({
    after: 0,
    maxWaiting: 10,
    onEvent: async ({ sequence }) => {
      if (sequence === 1) await new Promise<void>((resolve) => (release = resolve));
      seen.push(sequence);
    },
  });
  await lines(1);
  server.record(40);
  await told('waiting');
  await until('the line is closed', () => server.lines[0]?.closed === true);
  assert.equal(clock.pending, 0);
  release();
  await until('all are seen', () => seen.length >= 40);
  assert.deepEqual(seen, range(1, 40));
  assert.equal(server.lines[1]?.auth?.after, 12);
});

test('a lost position is told once, then live events follow', async (t) => {
  const { server, connect, lines, saw, resets } = await setUp(t);
  server.record(9);
  server.oldest = 5;
  const connection = connect({ after: 2 });
  await lines(1);
  server.record(2);
  await saw([10, 11]);
  assert.deepEqual(resets, [{ oldest: 5, sequence: 9 }]);
  assert.equal(connection.position, 11);
});

test('a position in the future is told, and an event known by its id is not handed over again', async (t) => {
  const { server, clock, connect, lines, saw, resets, told } = await setUp(t);
  connect({ after: 0 });
  await lines(1);
  server.record(3);
  await saw([1, 2, 3]);
  server.last().socket.terminate();
  await told('waiting');
  server.log.length = 2; // this node is behind
  clock.advance(250);
  await lines(2);
  server.record(2);
  await saw([1, 2, 3, 4]);
  assert.deepEqual(resets, [{ oldest: 1, sequence: 2 }]);
});

test('nonsense drops the connection; frames and events of a later version are passed over', async (t) => {
  const { server, clock, connect, lines, saw, told } = await setUp(t);
  connect({ after: 0 });
  await lines(1);
  server.last().send({ type: 'novelty' });
  server.last().send({ type: 'event', event: { ...event(1), sequence: null } });
  server.record(1);
  await saw([1]);
  for (const [index, nonsense] of ['{', 'null', '{"type":"reconnect"}', '{"type":"welcome"}'].entries()) {
    server.last().socket.send(nonsense);
    await told('waiting', index + 1);
    clock.advance(10_000);
    await lines(index + 2);
    await told('live', index + 2);
  }
  server.record(1);
  await saw([1, 2]);
});

test('close() ends everything, also from inside a callback', async (t) => {
  const { server, clock, connect, lines, seen, statuses } = await setUp(t);
  const connection = connect({
    after: 0,
    onEvent: ({ sequence }) => {
      seen.push(sequence);
      connection.close();
    },
  });
  await lines(1);
  server.record(5);
  await until('the line is closed', () => server.lines[0]?.closed === true);
  assert.deepEqual(seen, [1]);
  assert.equal(clock.pending, 0);
  assert.equal(statuses.at(-1)?.[0], 'closed');
});

test('events() yields them in a loop and closes the connection when the loop is left', async (t) => {
  const { server, clock } = await setUp(t);
  server.record(5);
  const seen: number[] = [];
  for await (const { sequence } of events({ url: server.url, token: () => 'token', after: 1, timer: clock.timer })) {
    seen.push(sequence);
    if (sequence === 4) break;
  }
  assert.deepEqual(seen, [2, 3, 4]);
  await until('the line is closed', () => server.last().closed);

  server.onAuth = (line) => {
    line.welcome();
    line.socket.close(4403);
  };
  for await (const { sequence } of events({ url: server.url, token: () => 'token', after: 3, timer: clock.timer })) {
    seen.push(sequence);
  }
  assert.deepEqual(seen, [2, 3, 4, 4, 5]);
});

test('the file is one browser module once its types are stripped', async () => {
  const source = await readFile(new URL('./socket.ts', import.meta.url), 'utf8');
  const stripped = stripTypeScriptTypes(source);
  assert.doesNotMatch(stripped, /^\s*import\b/m);
  const module = await import(`data:text/javascript,${encodeURIComponent(stripped)}`);
  assert.equal(typeof module.connectEvents, 'function');
});
