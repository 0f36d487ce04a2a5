import assert from 'node:assert/strict';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { WebSocket } from 'ws';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { listen } from '../../../test/sockets.ts';
import { openTracedOverlay } from '../../../test/trace.ts';
import { spansOf, writes } from './repo.ts';

const second = 1000;

test('when overlays were open is told over all nodes, without short gaps, and the newest times only', async (t) => {
  const { runtime, clock } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  const start = clock();
  const report = async (node: string, connected: number, afterMs: number) => {
    clock.advance(afterMs);
    await runtime.db.write(writes.setPresence, creatorId, node, { connected, outdated: 0 }, clock());
  };
  const spans = async () =>
    (await runtime.presence.spans(creatorId)).map(({ from, to }) => [from - start, to === null ? null : to - start]);
  await report('a', 1, 0);
  assert.deepEqual(await spans(), [[0, null]]);
  await report('a', 0, 10 * second);
  assert.deepEqual(await spans(), [[0, 10 * second]]);
  await report('a', 2, 4 * second);
  assert.deepEqual(await spans(), [[0, null]], 'four seconds are no gap');
  await report('b', 1, second);
  await report('a', 0, second);
  await report('b', 0, second);
  assert.deepEqual(await spans(), [[0, 17 * second]], 'one node took over from another');
  await report('b', 1, 60 * second);
  assert.deepEqual((await spans()).at(-1), [77 * second, null]);
  clock.advance(200 * second);
  assert.deepEqual((await spans()).at(-1), [77 * second, 77 * second], 'a node that says nothing more has died');
  for (let i = 0; i < 205; i++) {
    await report('c', 1, 6 * second);
    await report('c', 0, second);
  }
  assert.equal((await spans()).length, 200);
});

test('when an overlay was closed is known before it is written, and written by a later try if the first one failed', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const app = await listen(t);
  const { runtime, clock } = app;
  const { creatorId } = await makeCreator(runtime);
  const page = await openTracedOverlay(t, app, app.address, { creatorId });
  const opened = clock();
  let fail = (_err: Error): void => {};
  const failure = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  const write = t.mock.method(runtime.db, 'write', () => failure);
  clock.advance(20 * second);
  const [span, written] = [
    { from: opened, to: clock() },
    { opened_at: opened, seen_at: clock(), closed: 1 },
  ];
  await page.close();
  clock.advance(20 * second);
  assert.deepEqual(await runtime.presence.spans(creatorId), [span]);
  fail(new Error('the disk is full'));
  assert.equal(write.mock.callCount(), 1);
  write.mock.restore();
  const rows = async () => (await spansOf(runtime.db, creatorId)).map(({ node_id: _, ...row }) => row);
  await until('it is written', async () => {
    t.mock.timers.tick(60 * second);
    return (await rows())[0]?.closed === 1;
  });
  assert.deepEqual(await rows(), [written]);
  assert.deepEqual(await runtime.presence.spans(creatorId), [span]);
});

test('overlays that the server closes were open until then, also if that is reported before their sockets are gone', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { runtime, clock } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  let connected = 1;
  t.mock.method(runtime.streams, 'connected', (_: string, kind: string) => (kind === 'overlay' ? connected : 0));
  const opened = clock();
  runtime.presence.changed(creatorId);
  const rows = () => spansOf(runtime.db, creatorId);
  await until('it is reported as open', async () => (await rows()).length === 1);
  clock.advance(600 * second);
  connected = 0;
  const span = { from: opened, to: clock() };
  assert.deepEqual(await runtime.presence.spans(creatorId), [span]);
  await until('it is reported as closed', async () => {
    t.mock.timers.tick(60 * second);
    return (await rows())[0]?.closed === 1;
  });
  clock.advance(second);
  runtime.presence.changed(creatorId);
  assert.deepEqual(await runtime.presence.spans(creatorId), [span]);
});

test('a page that closes while its key is looked up is not counted as open', async (t) => {
  const app = await listen(t);
  const { runtime } = app;
  const { creatorId } = await makeCreator(runtime);
  const key = await runtime.overlays.key(creatorId);
  const gate = Promise.withResolvers<void>();
  const { creatorOf } = runtime.overlays;
  const lookUp = t.mock.method(runtime.overlays, 'creatorOf', async (of: string) => {
    await gate.promise;
    return creatorOf(of);
  });
  const changed = t.mock.method(runtime.presence, 'changed');
  const webSocket = new WebSocket(`ws://${app.address}/overlay/socket`);
  t.after(() => webSocket.terminate());
  webSocket.on('open', () => webSocket.send(JSON.stringify({ type: 'auth', token: key, protocol: 3 })));
  await until('the key is looked up', () => lookUp.mock.callCount() === 1);
  webSocket.terminate();
  const connections = promisify(app.http.server.getConnections.bind(app.http.server));
  await until('the server knows that it is closed', async () => (await connections()) === 0);
  gate.resolve();
  await until('its permission is checked', () => lookUp.mock.callCount() === 2);
  assert.equal(runtime.streams.connected(creatorId, 'overlay'), 0);
  assert.equal(changed.mock.callCount(), 0);
  const page = await openTracedOverlay(t, app, app.address, { creatorId });
  assert.ok(changed.mock.callCount() > 0, 'one that stays is counted');
  await page.close();
});
