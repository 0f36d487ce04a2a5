import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import { until } from '../../../../../sdk/test/until.ts';
import { buildApp, onNodes, type TestApp } from '../../../../test/build-app.ts';
import { makePair } from '../../../../test/factories.ts';
import { freePort } from '../../../../test/free-port.ts';
import { generations, makeKey, openByHand, openProgram, type Program, transports } from '../../../../test/programs.ts';
import { type LiveApp, listen, range, recordTips } from '../../../../test/sockets.ts';
import { executeAll } from '../../../../test/sql.ts';
import { startStopwatch } from '../../../../test/stopwatch.ts';

/** Waits until the server knows that the program is gone, and has written how far it came. */
async function closed({ runtime }: TestApp, creatorId: string, program: Program, position: number): Promise<void> {
  program.close();
  await until('the position is written', async () => {
    const nodes = await runtime.db.all('SELECT node_id FROM stream_key_nodes WHERE creator_id = $1', [creatorId]);
    return nodes.length === 0 && (await positionOf(runtime, creatorId)) === position;
  });
}

const positionOf = async ({ db }: TestApp['runtime'], creatorId: string): Promise<number | null | undefined> =>
  (await db.get<{ position: number | null }>('SELECT position FROM stream_keys WHERE creator_id = $1', [creatorId]))
    ?.position;

const gets = (program: Program, ids: readonly number[]) =>
  until('it has them', () => program.ids().length >= ids.length).then(() => assert.deepEqual(program.ids(), ids));

for (const generation of generations)
  for (const names of transports)
    test(`what a program missed comes once: generation ${generation}, ${names.join(' and ')}`, async (t) => {
      const app = await listen(t);
      const { creatorId } = await makePair(app.runtime);
      const key = await makeKey(app, creatorId);
      const options = { generation, transports: names };
      await recordTips(app, creatorId, 2);
      const first = await openProgram(t, app, key, options);
      await recordTips(app, creatorId, 2);
      await gets(first, [3, 4]);
      await closed(app, creatorId, first, 4);
      await recordTips(app, creatorId, 3);
      const second = await openProgram(t, app, key, options);
      await gets(second, [5, 6, 7]);
      await recordTips(app, creatorId, 1);
      await gets(second, [5, 6, 7, 8]);
      await closed(app, creatorId, second, 8);
      const third = await openProgram(t, app, key, options);
      await recordTips(app, creatorId, 1);
      await gets(third, [9]);
      assert.deepEqual(third.messages.length, 1);
    });

test('at most five minutes of what was missed come', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  await closed(app, creatorId, await openProgram(t, app, key), 0);
  await recordTips(app, creatorId, 2);
  app.clock.advance(60_000);
  await recordTips(app, creatorId, 2);
  app.clock.advance(4 * 60_000 + 1);
  const program = await openProgram(t, app, key);
  await recordTips(app, creatorId, 1);
  await gets(program, [3, 4, 5]);
  await closed(app, creatorId, program, 5);
  // Also when the events before them are gone.
  await recordTips(app, creatorId, 2);
  await executeAll(app.runtime.db, ['DELETE FROM events WHERE creator_id = $1 AND sequence <= 6', [creatorId]]);
  await gets(await openProgram(t, app, key), [7]);
});

test('a second connection of a key, and the first of another key, get what happens from then on', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  const first = await openProgram(t, app, key);
  await recordTips(app, creatorId, 2);
  const second = await openProgram(t, app, key);
  const other = await openProgram(t, app, await makeKey(app, creatorId));
  await recordTips(app, creatorId, 1);
  await gets(first, [1, 2, 3]);
  await gets(second, [3]);
  await gets(other, [3]);
});

test('the position is written while the program is connected, and a node that died holds nothing up', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  const program = await openProgram(t, app, key);
  await recordTips(app, creatorId, 3);
  await until('the position is written', async () => (await positionOf(app.runtime, creatorId)) === 3);
  await closed(app, creatorId, program, 3);
  await recordTips(app, creatorId, 2);
  await executeAll(app.runtime.db, [
    `INSERT INTO stream_key_nodes (creator_id, key_id, node_id, opened_at)
     SELECT creator_id, id, 'a node that died', 0 FROM stream_keys WHERE creator_id = $1`,
    [creatorId],
  ]);
  await gets(await openProgram(t, app, key), [4, 5]);
  const nodes = await app.runtime.db.all<{ node_id: string }>('SELECT node_id FROM stream_key_nodes');
  assert.ok(!nodes.some(({ node_id }) => node_id === 'a node that died'));
});

for (const generation of generations)
  for (const names of transports)
    test(`through a planned restart nothing is lost or doubled: generation ${generation}, ${names.join(' and ')}`, async (t) => {
      const port = await freePort();
      const app = await listen(t, {}, port);
      const { creatorId } = await makePair(app.runtime);
      const key = await makeKey(app, creatorId);
      const options = { generation, transports: names, reconnection: true };
      const program = await openProgram(t, app, key, options);
      const recording = recordTips(app, creatorId, 20);
      await until('the first have come', () => program.ids().length > 0);
      await app.drain({ socketsMs: 0 });
      await app.http.close();
      await recording;
      await recordTips(app, creatorId, 5);
      const next = await buildApp(t, app.env);
      await next.http.listen({ host: '127.0.0.1', port });
      await until('it has all', () => program.ids().length >= 25);
      await recordTips(next, creatorId, 1);
      await gets(program, range(1, 26));
    });

test('what waits for a poll when the session ends was missed', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  const { poll } = await openByHand(app, key);
  await recordTips(app, creatorId, 1);
  const answer = await poll('GET');
  assert.match(answer, /"id":1,/);
  await recordTips(app, creatorId, 2);
  await until('they wait', async () => app.runtime.streams.connected(creatorId, 'program') === 1);
  // The client says goodbye without having polled again.
  assert.equal(await poll('POST', '1'), 'ok');
  await until('it is gone', () => app.runtime.streams.connected(creatorId, 'program') === 0);
  await gets(await openProgram(t, app, key), [2, 3]);
});

/** A WebSocket whose client takes what is sent and answers no ping: as one that has vanished does. */
async function openSilently(t: TestContext, { address }: LiveApp, key: string) {
  const webSocket = new WebSocket(`ws://${address}/socket.io/?EIO=3&transport=websocket&token=${key}`, {
    autoPong: false,
  });
  t.after(() => webSocket.terminate());
  const packets: string[] = [];
  webSocket.on('message', (data) => packets.push(String(data)));
  const pings: Buffer[] = [];
  webSocket.on('ping', (payload: Buffer) => pings.push(payload));
  await until('it is connected', () => packets.includes('40'));
  return { webSocket, events: () => packets.filter((packet) => packet.startsWith('42')).length, pings };
}

test('of a program that vanished, what it has not confirmed comes again', async (t) => {
  const app = await listen(t);
  const other = onNodes ? await listen(t, app.env) : app;
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  const vanished = await openSilently(t, app, key);
  await recordTips(app, creatorId, 2);
  await until('both are sent', () => vanished.events() === 2);
  // The server does not know yet that nobody is there.
  const program = await openProgram(t, other, key);
  await recordTips(app, creatorId, 1);
  await gets(program, [1, 2, 3]);
});

test('of a program that was killed, what it has not confirmed comes again', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  const killed = await openSilently(t, app, key);
  await recordTips(app, creatorId, 2);
  await until('both are sent', () => killed.events() === 2);
  killed.webSocket.terminate();
  await until('it is gone', () => app.runtime.streams.connected(creatorId, 'program') === 0);
  await gets(await openProgram(t, app, key), [1, 2]);
});

test('a program that says that it lives, and vanishes then, gets again what came after it was asked', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  const vanishing = await openSilently(t, app, key);
  const second = new WebSocket(`ws://${app.address}/socket.io/?EIO=3&transport=websocket&token=${key}`);
  second.on('error', () => {});
  await until('it is asked whether it lives', () => vanishing.pings.length === 1);
  second.terminate();
  await recordTips(app, creatorId, 1);
  await until('it has the event, and a ping that follows it', () => vanishing.pings.length === 2);
  assert.equal(vanishing.events(), 1);
  vanishing.webSocket.pong(vanishing.pings[0]);
  const heard = once(vanishing.webSocket, 'pong');
  vanishing.webSocket.ping();
  await heard;
  vanishing.webSocket.terminate();
  await until('both are gone', async () => {
    const nodes = await app.runtime.db.all('SELECT node_id FROM stream_key_nodes WHERE creator_id = $1', [creatorId]);
    return nodes.length === 0;
  });
  await gets(await openProgram(t, app, key), [1]);
});

test('a connection that closes while the next one opens leaves its position to it', async (t) => {
  const app = await listen(t);
  const other = onNodes ? await listen(t, app.env) : app;
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  const closing = await openSilently(t, app, key);
  await recordTips(app, creatorId, 2);
  await until('both are sent', () => closing.events() === 2);
  const opening = openProgram(t, other, key);
  await until('the next one waits for a sign of the other', () => closing.pings.length > 1);
  closing.webSocket.close();
  const program = await opening;
  await recordTips(app, creatorId, 1);
  await gets(program, [3]);
});

test('over two nodes a key continues where the other node left it', { skip: !onNodes }, async (t) => {
  const app = await listen(t);
  const other = await listen(t, app.env);
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  const first = await openProgram(t, app, key);
  await recordTips(app, creatorId, 2);
  await gets(first, [1, 2]);
  // While it is connected there, a connection here gets only what is new.
  const meanwhile = await openProgram(t, other, key);
  await recordTips(app, creatorId, 1);
  await gets(meanwhile, [3]);
  meanwhile.close();
  await gets(first, [1, 2, 3]);
  await closed(app, creatorId, first, 3);
  await recordTips(app, creatorId, 2);
  await gets(await openProgram(t, other, key), [4, 5]);
});

test('security 51: a key that is revoked at one node ends its connections at another', {
  skip: !onNodes,
}, async (t) => {
  const app = await listen(t);
  const other = await listen(t, app.env);
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  const program = await openProgram(t, other, key);
  const [row] = await app.runtime.streamKeys.list(creatorId);
  const stopwatch = startStopwatch();
  await app.runtime.streamKeys.revoke(creatorId, row?.id ?? '');
  await until('it is ended', () => program.log.at(-1) === 'io server disconnect');
  // Far less than the sweep of ten seconds, which would find it without the hint.
  assert.ok(stopwatch() < 5_000);
});
