import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { until } from '../../../../sdk/test/until.ts';
import { putBack, resumeReading } from './socket-reading.ts';

test('security 42: behind bytes that were put back nothing more is read, and then all comes in order', async (t) => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').setNoDelay();
  const [socket] = (await once(server, 'connection')) as [Socket];
  t.after(() => {
    client.destroy();
    server.close();
  });
  let received = '';
  let waits = true;
  socket.on('data', (chunk) => {
    if (waits) putBack(socket, chunk);
    else received += chunk;
  });
  client.write('first');
  await until('it has come', () => socket.readableLength > 0);
  const sent = Array.from({ length: 500 }, (_, n) => ` ${n}`);
  for (const bytes of sent) {
    client.write(bytes);
    await nextIteration();
  }
  // What was read before the reading ended.
  assert.ok(socket.readableLength < 20, `${socket.readableLength} bytes`);
  waits = false;
  resumeReading(socket);
  assert.ok(received.startsWith('first'), 'at once');
  await until('all has come', () => received === `first${sent.join('')}`);
});
