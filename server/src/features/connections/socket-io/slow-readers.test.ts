import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { until } from '../../../../../sdk/test/until.ts';
import { makePair } from '../../../../test/factories.ts';
import { makeKey, openProgram } from '../../../../test/programs.ts';
import { listen, range, recordTips } from '../../../../test/sockets.ts';

test('a program that stops reading is closed, and gets what it has not taken when it connects again', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  const webSocket = new WebSocket(`ws://${app.address}/socket.io/?EIO=3&transport=websocket&token=${key}`);
  t.after(() => webSocket.terminate());
  const got: number[] = [];
  let isConnected = false;
  webSocket.on('message', (data) => {
    const packet = String(data);
    if (packet === '40') isConnected = true;
    if (packet.startsWith('42')) got.push(JSON.parse(packet.slice(2))[1].message[0].id);
  });
  await until('it is connected', () => isConnected);
  webSocket.pause();
  let recorded = 0;
  for (; app.runtime.streams.connected(creatorId, 'program') === 1 && recorded < 10_000; recorded += 100)
    await recordTips(app, creatorId, 100, 'x'.repeat(4000));
  await until('it is ended', () => app.runtime.streams.connected(creatorId, 'program') === 0);
  webSocket.resume();
  await until('it knows', () => webSocket.readyState === WebSocket.CLOSED);
  assert.deepEqual(got, range(1, got.length), 'what it got has no gap');
  assert.ok(got.length < recorded);
  const again = await openProgram(t, app, key);
  await until('the newest has come', () => again.ids().at(-1) === recorded);
  const [first = 0] = again.ids();
  assert.ok(first <= got.length + 1, `it got ${got.length}, and goes on at ${first}`);
  assert.deepEqual(again.ids(), range(first, recorded), 'and the rest');
});
