import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { WebSocketServer } from 'ws';
import { Failure } from './errors.ts';
import { runListener } from './listener-client.ts';

test('a server that sends no frames is named, and nothing is thrown outside of the command', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  t.after(() => server.close());
  server.on('connection', (socket) => socket.send('hello'));
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const running = runListener({
    server: `http://127.0.0.1:${port}`,
    clientId: 'app',
    clientSecret: 'secret',
    forward: Object.assign(async () => assert.fail('nothing to forward'), { close: async () => {} }),
    onReady: () => assert.fail('it is not ready'),
    onForwarded: () => {},
    onWait: () => {},
    signal: new AbortController().signal,
  });
  await assert.rejects(running, (error) => error instanceof Failure && /no frame/.test(error.message));
});
