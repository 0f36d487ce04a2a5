import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { freePort } from './free-port.ts';

test('a free port is none of those for outgoing connections, not given twice in a row, and nobody listens there', async (t) => {
  const port = await freePort();
  const server = createServer().listen(port, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const others = await Promise.all(Array.from({ length: 50 }, freePort));
  assert.equal(new Set(others).size, others.length);
  assert.ok(Math.max(port, ...others) < 32_768);
  // As many as there are: each comes again.
  const round = await Promise.all(Array.from({ length: 99 }, freePort));
  assert.ok(!round.includes(port));
});
