import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { until } from '../../../sdk/test/until.ts';
import { namjai } from '../namjai.ts';
import { freePort, startServer } from '../server-process.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

async function setUp(t: TestContext) {
  const directory = temporaryDirectory(t);
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const address = taken.address();
  assert.ok(address !== null && typeof address === 'object');
  const env = { DATABASE_URL: `sqlite:${join(directory, 'namjai.db')}`, PORT: String(await freePort()) };
  return { directory, env, taken: String(address.port) };
}

test('a start that fails ends at once with 1, and one line names the setting', { timeout: 300_000 }, async (t) => {
  const { directory, env, taken } = await setUp(t);
  const free = String(await freePort());
  const file = join(directory, 'a-file');
  writeFileSync(file, '');
  mkdirSync(join(directory, 'a-directory'));
  const nowhere = 'postgres://someone:geheim@127.0.0.1:9/tips?application_name=geheim';
  const elsewhere = { HOST: '192.0.2.1', SECRET_KEY: 'x'.repeat(40), DATABASE_URL: `sqlite:${directory}/other.db` };
  const cases: [what: string, settings: Record<string, string>, line: RegExp][] = [
    ['PORT taken', { PORT: taken }, /\bset PORT\b/],
    ['PORT taken, metrics on', { PORT: taken, METRICS_PORT: free }, /\bset PORT\b/],
    ['METRICS_PORT taken', { METRICS_PORT: taken }, /\bset METRICS_PORT\b/],
    ['an address of another machine', elsewhere, /\bSet HOST\b/],
    ['METRICS_HOST likewise', { METRICS_PORT: free, METRICS_HOST: '192.0.2.1' }, /\bSet METRICS_HOST\b/],
    ['everybody trusted', { TRUST_PROXY: '0.0.0.0/0' }, /^namjai: TRUST_PROXY has "0\.0\.0\.0\/0".*name the addresses/],
    ['a path that cannot be made', { DATABASE_URL: 'sqlite:/proc/x/y.db' }, /DATABASE_URL.*\/proc\/x/],
    ['a file in place of a directory', { DATABASE_URL: `sqlite:${file}/y.db` }, /DATABASE_URL.*a-file/],
    [
      'a directory in place of a file',
      { DATABASE_URL: `sqlite:${directory}/a-directory` },
      /DATABASE_URL.*a-directory/,
    ],
    [
      'no PostgreSQL',
      { DATABASE_URL: nowhere, REDIS_URL: 'redis://127.0.0.1:9' },
      /DATABASE_URL.*127\.0\.0\.1:9\/tips/,
    ],
  ];
  for (const [what, settings, line] of cases) {
    const { code, stdout, stderr } = await namjai({ ...env, LOG_LEVEL: 'silent', ...settings }, 'serve');
    assert.equal(code, 1, `${what}: ${stderr}`);
    assert.match(stderr, line, what);
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
    assert.doesNotMatch(stdout + stderr, /geheim/);
  }
});

test('check-config names a TRUST_PROXY that trusts everybody', async () => {
  for (const range of ['0.0.0.0/0', '::/0', '10.0.0.0/8, ::/00']) {
    const { code, stderr } = await namjai({ TRUST_PROXY: range }, 'check-config');
    assert.equal(code, 1, range);
    assert.match(stderr, /^namjai: TRUST_PROXY has ".*name the addresses/);
  }
  assert.equal((await namjai({ TRUST_PROXY: '10.0.0.0/8, fd00::/8' }, 'check-config')).code, 0);
});

test('DRAIN_SECONDS: /readyz says no, and everything is still served meanwhile', { timeout: 300_000 }, async (t) => {
  const DATABASE_URL = `sqlite:${join(temporaryDirectory(t), 'namjai.db')}`;
  const server = await startServer({ env: { DATABASE_URL, DRAIN_SECONDS: '600' } });
  t.after(() => server.kill());
  const ended = once(server.child, 'exit');
  process.kill(server.child.pid ?? 0, 'SIGTERM');
  await until('it says no', async () => (await fetch(`${server.url}/readyz`)).status === 503);
  assert.equal((await fetch(`${server.url}/healthz`, { headers: { connection: 'close' } })).status, 200);
  assert.equal((await fetch(`${server.url}/login`, { headers: { connection: 'close' } })).status, 200);
  process.kill(server.child.pid ?? 0, 'SIGTERM');
  assert.deepEqual((await ended)[0], 1, 'a second signal does not wait');
});
