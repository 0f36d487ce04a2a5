import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
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
  const round = await Promise.all(Array.from({ length: 98 }, freePort));
  assert.ok(!round.includes(port));
});

test('a process does not choose from a range that another one has claimed', () => {
  const program = `
    import { createServer } from 'node:net';
    import { freePort } from '${new URL('free-port.ts', import.meta.url)}';
    const first = 11_000 + (process.pid % 200) * 100;
    const claim = createServer().listen(first, '127.0.0.1').unref();
    // If the range is another process's already, that one's claim does as well.
    await new Promise((done) => claim.once('listening', done).once('error', done));
    console.log(first, await freePort(), await freePort());`;
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  const [first = 0, ...chosen] = printed.split(' ').map(Number);
  for (const port of chosen) assert.ok(port < first || port >= first + 100, printed);
});
