import assert from 'node:assert/strict';
import { get } from 'node:http';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { until } from '../../../../sdk/test/until.ts';
import { makePair } from '../../../test/factories.ts';
import { connect, listen, range, recordTips, socketToken } from '../../../test/sockets.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');
const MiB = 1024 * 1024;

async function setUp(t: TestContext) {
  const app = await listen(t);
  const sockets: Socket[] = [];
  app.http.server.on('connection', (socket: Socket) => sockets.push(socket));
  const pair = await makePair(app.runtime);
  const token = await socketToken(app, pair);
  /** Half a mebibyte of events. */
  const load = () => recordTips(app, pair.creatorId, 100, 'x'.repeat(4000));
  const open = (kind: 'socket' | 'stream') => app.runtime.streams.connected(pair.creatorId, kind);
  const metric = async (name: string, value: RegExp) => {
    const text = await app.runtime.metrics.registry.getSingleMetricAsString(name);
    return Number(value.exec(text)?.[1] ?? 0);
  };
  const ended = () => metric('namjai_event_connections_ended_total', /reason="too_slow"\} (\d+)/);
  /** Until nothing more fits into the lines: bytes wait in the server, and no more are sent. */
  const full = async () => {
    const sent = () => metric('namjai_events_sent_total', /^namjai_events_sent_total (\d+)/m);
    let [before, unchanged] = [0, 0];
    await until('nothing more is sent', async () => {
      const now = await sent();
      const waiting = sockets.some(({ writableLength }) => writableLength > 0);
      unchanged = waiting && now > 0 && now === before ? unchanged + 1 : 0;
      before = now;
      return unchanged === 15;
    });
  };
  return { app, pair, token, load, open, ended, full };
}

test('a reader that stops reading is closed with 4408, costs little memory, and resumes', async (t) => {
  const { app, token, load, open, ended } = await setUp(t);
  const reader = connect(t, app.address, { token });
  const idle = connect(t, app.address, { token });
  await Promise.all([reader.frame(1), idle.frame(1)]);
  idle.webSocket.pause();
  const start = memory();
  let rounds = 0;
  for (; open('socket') === 2 && rounds < 60; rounds += 1) {
    await load();
    // Both ends of this line are in one process: on a busy machine its own reader could fall behind too.
    await reader.frame(1 + (rounds + 1) * 100);
  }
  assert.equal(open('socket'), 1, 'it was ended');
  assert.equal(await ended(), 1);
  // What the reader got in between is garbage of the test itself.
  reader.frames.length = 0;
  assert.ok(memory() - start < 4 * MiB, `memory grew by ${(memory() - start) / MiB} MiB`);

  idle.webSocket.resume();
  assert.equal((await idle.closed).code, 4408);
  const got = idle.sequences();
  assert.deepEqual(got, range(1, got.length), 'what it got has no gap');
  idle.frames.length = 0;
  for (let more = 1; more <= 10; more += 1) {
    await load();
    await reader.frame(more * 100);
  }
  reader.frames.length = 0;
  rounds += 10;
  assert.ok(memory() - start < 4 * MiB, `memory grew by ${(memory() - start) / MiB} MiB`);
  const again = connect(t, app.address, { token, after: got.length });
  await again.frame(1 + rounds * 100 - got.length);
  assert.deepEqual(again.sequences(), range(got.length + 1, rounds * 100));
});

test('a long replay waits for its reader instead of filling memory', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { app, token, load, open, full } = await setUp(t);
  for (let n = 0; n < 60; n += 1) await load();
  const start = memory();
  const client = connect(t, app.address, { token, after: 0 });
  await client.frame(1);
  client.webSocket.pause();
  await load();
  await full();
  assert.ok(memory() - start < 8 * MiB, `memory grew by ${(memory() - start) / MiB} MiB`);
  assert.equal(open('socket'), 1, 'it is not too slow yet');
  client.webSocket.resume();
  await client.frame(1 + 61 * 100);
  assert.deepEqual(client.sequences(), range(1, 61 * 100));
});

test('a reader that takes nothing for ten seconds is too slow, however little waits', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { app, token, load, open, ended, full } = await setUp(t);
  for (let n = 0; n < 40; n += 1) await load();
  const client = connect(t, app.address, { token, after: 0 });
  await client.frame(1);
  client.webSocket.pause();
  await full();
  t.mock.timers.tick(9_500);
  assert.equal(open('socket'), 1, 'not yet');
  t.mock.timers.tick(1_000);
  await until('it was ended', () => open('socket') === 0);
  assert.equal(await ended(), 1);
});

test('a stream that is not read is cut off', async (t) => {
  const { app, pair, load, open, ended } = await setUp(t);
  const request = get(`http://${app.address}/v1/events/stream`, { headers: pair.headers });
  request.on('error', () => {});
  t.after(() => request.destroy());
  await new Promise((resolve) => request.once('response', (response) => resolve(response.pause())));
  for (let rounds = 0; open('stream') === 1 && rounds < 60; rounds += 1) await load();
  await until('it is ended', () => open('stream') === 0);
  assert.equal(await ended(), 1);
});

function memory(): number {
  // Twice: what a driver read into buffers is let go of by the first, and given back by the second.
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
