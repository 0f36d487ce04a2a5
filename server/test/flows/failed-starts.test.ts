import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
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

test('a start that fails ends at once with 1, and one line names the setting', async (t) => {
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

test('a start waits for a database that another program has locked', async (t) => {
  const file = join(temporaryDirectory(t), 'namjai.db');
  const env = { DATABASE_URL: `sqlite:${file}`, LOG_LEVEL: 'warn' };
  assert.equal((await namjai(env, 'migrate')).code, 0);
  const other = new DatabaseSync(file);
  t.after(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  const logFile = join(temporaryDirectory(t), 'log');
  const starting = startServer({ env, logFile });
  t.after(async () => (await starting).kill());
  await until('it waits', () => existsSync(logFile) && readFileSync(logFile, 'utf8').includes('the storage is busy'));
  other.exec('COMMIT');
  await starting;
});

test('check-config names a TRUST_PROXY that trusts everybody', async () => {
  for (const range of ['0.0.0.0/0', '::/0', '10.0.0.0/8, ::/00']) {
    const { code, stderr } = await namjai({ TRUST_PROXY: range }, 'check-config');
    assert.equal(code, 1, range);
    assert.match(stderr, /^namjai: TRUST_PROXY has ".*name the addresses/);
  }
  assert.equal((await namjai({ TRUST_PROXY: '10.0.0.0/8, fd00::/8' }, 'check-config')).code, 0);
});

test('check-config shows the settings also where the database is damaged', async (t) => {
  const file = join(temporaryDirectory(t), 'namjai.db');
  writeFileSync(file, 'x'.repeat(10_000));
  const { code, stdout, stderr } = await namjai({ DATABASE_URL: `sqlite:${file}`, PORT: '8081' }, 'check-config');
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^PORT +8081 +environment/m);
  assert.match(stdout, /could not be compared with the database: .*file is not a database/);
});

test('a key beside the database that was cut short is refused, and one that is missing is made once', async (t) => {
  const directory = temporaryDirectory(t);
  const env = { DATABASE_URL: `sqlite:${join(directory, 'namjai.db')}` };
  const key = join(directory, 'secret.key');
  for (const text of ['', 'x'.repeat(31)]) {
    writeFileSync(key, text);
    const { code, stderr } = await namjai(env, 'migrate');
    assert.deepEqual([code, stderr.trimEnd().split('\n').length], [1, 1], stderr);
    assert.match(stderr, /^namjai: SECRET_KEY: .*secret\.key has fewer than 32 characters/);
    assert.equal(readFileSync(key, 'utf8'), text, 'nothing is written over it');
  }
  rmSync(key);
  const starts = await Promise.all([namjai(env, 'migrate'), namjai(env, 'migrate')]);
  assert.deepEqual(
    starts.map(({ code }) => code),
    [0, 0],
  );
  assert.match(readFileSync(key, 'utf8'), /^[\w+/=]{64}$/);
  assert.deepEqual(
    readdirSync(directory).filter((name) => name.endsWith('.part')),
    [],
  );
});

test('DRAIN_SECONDS: /readyz says no, and everything is still served meanwhile; standard output is JSON alone', async (t) => {
  const DATABASE_URL = `sqlite:${join(temporaryDirectory(t), 'namjai.db')}`;
  const server = await startServer({ env: { DATABASE_URL, DRAIN_SECONDS: '600', LOG_LEVEL: 'info' } });
  t.after(() => server.kill());
  await until('it says that it is up', () => server.output().includes('is up.'));
  const ended = once(server.child, 'exit');
  process.kill(server.child.pid ?? 0, 'SIGTERM');
  await until('it says no', async () => (await fetch(`${server.url}/readyz`)).status === 503);
  assert.equal((await fetch(`${server.url}/healthz`, { headers: { connection: 'close' } })).status, 200);
  assert.equal((await fetch(`${server.url}/login`, { headers: { connection: 'close' } })).status, 200);
  await until('the requests are logged', () => server.stdout().includes('/login'));
  for (const line of server.stdout().split('\n').slice(0, -1)) assert.ok(JSON.parse(line), line);
  assert.match(server.stdout(), /"version":"\d+\.\d+\.\d+".*"msg":"listening"/);
  process.kill(server.child.pid ?? 0, 'SIGTERM');
  assert.deepEqual((await ended)[0], 1, 'a second signal does not wait');
});
