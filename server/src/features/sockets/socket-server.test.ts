import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import Fastify from 'fastify';
import { until } from '../../../../sdk/test/until.ts';
import { connect, rawSocket } from '../../../test/sockets.ts';
import { useWebSockets } from '../../platform/http/websocket.ts';
import { createLog } from '../../platform/log.ts';
import { type Auth, webSocketOptions } from './socket.ts';
import { createSocketServer } from './socket-server.ts';

/** A server that lets everyone in whom it has room for, and never answers. */
async function setUp(t: TestContext, maxUnauthenticated: number) {
  const app = Fastify({ forceCloseConnections: true });
  const webSockets = useWebSockets(app, webSocketOptions);
  const greeted: string[] = [];
  const subscribe = ({ token }: Auth) => {
    greeted.push(token);
    return new Promise<never>(() => {});
  };
  const server = createSocketServer(app, {
    webSockets,
    log: createLog({ level: 'silent' }),
    subscribe,
    onRefused: () => {},
    maxUnauthenticated,
  });
  app.get('/v1/socket', (request, reply) => server.accept(request, reply));
  const address = new URL(await app.listen({ host: '127.0.0.1', port: 0 })).host;
  t.after(() => app.close());
  const open = async () => {
    const client = connect(t, address, null);
    await once(client.webSocket, 'open');
    return client;
  };
  return { address, open, greeted };
}

test('of those who have not said who they are, the one that waited longest makes room', async (t) => {
  const { open, greeted } = await setUp(t, 2);
  const spoken = await open();
  spoken.webSocket.send('{"type":"auth","token":"mine"}');
  await until('it is heard', () => greeted.length === 1);
  const [first, second] = [await open(), await open()];
  const third = await open();
  assert.equal((await first.closed).code, 4402);
  for (const { webSocket } of [spoken, second, third]) assert.equal(webSocket.readyState, webSocket.OPEN);
  second.webSocket.send('{"type":"auth","token":"late"}');
  await until('it is heard', () => greeted.length === 2);
  const fourth = await open();
  assert.equal(third.webSocket.readyState, third.webSocket.OPEN, 'the second has spoken and takes no room');
  assert.deepEqual(greeted, ['mine', 'late']);
  fourth.webSocket.close();
});

test('room is made at once, though the peer never answers the close', async (t) => {
  const { address, open } = await setUp(t, 1);
  const mute = await rawSocket(t, address);
  const ended = once(mute.resume(), 'end');
  await open();
  const timeout = AbortSignal.timeout(webSocketOptions.closeTimeout / 2);
  await Promise.race([ended, once(timeout, 'abort').then(() => assert.fail('the connection is still open'))]);
});
