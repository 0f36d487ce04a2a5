import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { rounds } from '../../../sdk/test/rounds.ts';
import { runCommand } from '../../test/cli-process.ts';
import { freePort } from '../../test/free-port.ts';
import { temporaryDirectory } from '../../test/temporary-directory.ts';

const program = fileURLToPath(new URL('../../bin/namjai.js', import.meta.url));

const key = 'a key of thirty-two characters and more';
const production = {
  NODE_ENV: 'production',
  HOST: '127.0.0.1',
  BASE_URL: 'https://api.tips.example',
  AUTH_URL: 'https://tips.example',
  SECRET_KEY: key,
};
const nodes = { DATABASE_URL: 'postgres://127.0.0.1:1/namjai', REDIS_URL: 'redis://127.0.0.1:1' };

/** What is set, and the setting that the line must name, if it is not the first of them. */
const wrong: readonly (readonly [env: Record<string, string>, named?: string])[] = [
  ...['x', '0', '-1', '70000', '80.5', '8080 '].map((PORT) => [{ PORT }] as const),
  ...['no address', '999.1.1.1', '127.0.0.1:80', 'http://localhost', '192.0.2.1'].map(
    (HOST) => [{ HOST, SECRET_KEY: key }] as const,
  ),
  ...['tips.example', 'ftp://tips.example', 'https://tips.example/api', 'https://a:b@tips.example'].map(
    (BASE_URL) => [{ BASE_URL }] as const,
  ),
  [{ AUTH_URL: 'https://tips.example/#x' }],
  [{ ...production, BASE_URL: 'http://api.tips.example' }, 'BASE_URL'],
  [{ ...production, AUTH_URL: 'http://tips.example' }, 'AUTH_URL'],
  ...['mysql://host/name', 'sqlite:', 'postgres://', 'namjai.db', 'sqlite:/proc/none/namjai.db'].map(
    (DATABASE_URL) => [{ DATABASE_URL }] as const,
  ),
  [nodes],
  [{ DATABASE_URL: nodes.DATABASE_URL }, 'REDIS_URL'],
  [{ REDIS_URL: nodes.REDIS_URL }],
  [{ ...nodes, REDIS_URL: 'http://127.0.0.1' }, 'REDIS_URL'],
  [{ SECRET_KEY: 'short' }],
  [{ ...production, SECRET_KEY: '' }, 'SECRET_KEY'],
  [{ SECRET_KEY_OLD: 'short', SECRET_KEY: key }],
  [{ SECRET_KEY_OLD: key, SECRET_KEY: key }],
  [{ SECRET_KEY_OLD: key }],
  [{ ...production, SECRET_KEY: '', SECRET_KEY_OLD: key }, 'SECRET_KEY'],
  [{ TIME_ZONE: 'Asia/Bangkoc' }],
  [{ TIME_ZONE: '+7' }],
  ...['0', '-5', '1e5', '1.005', 'many', '99999999999'].map((TIP_CAP_THB) => [{ TIP_CAP_THB }] as const),
  [{ TIP_NAME_PATTERN: '[' }],
  [{ ACCESS_TOKEN_SECONDS: '59' }],
  [{ ACCESS_TOKEN_SECONDS: '1h' }],
  [{ REFRESH_IDLE_DAYS: '0' }],
  [{ REFRESH_MAX_DAYS: '9999' }],
  [{ REFRESH_RACE_SECONDS: '301' }],
  [{ WEBHOOK_ALLOW_CIDRS: '10.0.0.0/33' }],
  [{ WEBHOOK_ALLOW_CIDRS: 'localhost' }],
  ...['0.0.0.0/0', '::/0', '10.0.0.0/8/8', 'fe80::1%eth0'].map((TRUST_PROXY) => [{ TRUST_PROXY }] as const),
  [{ SIGNUP: 'yes' }],
  [{ LOG_LEVEL: 'loud' }],
  [{ METRICS_PORT: 'on' }],
  [{ METRICS_HOST: 'all of them' }],
  [{ METRICS_PORT: '9464', METRICS_HOST: '192.0.2.1' }, 'METRICS_HOST'],
  [{ DRAIN_SECONDS: '-1' }],
  [{ DRAIN_SECONDS: '1m' }],
  [{ BACKUP_DIR: '/var/backups/namjai' }],
  [{ BACKUP_EVERY: '60' }],
  [{ BACKUP_EVERY: 'hour', BACKUP_DIR: '/var/backups/namjai' }],
  [{ BACKUP_DIR: '/proc/none/copies', BACKUP_EVERY: '60' }],
  [{ ...nodes, BACKUP_DIR: '/var/backups/namjai', BACKUP_EVERY: '60' }, 'BACKUP_DIR'],
];

async function start(t: Parameters<typeof temporaryDirectory>[0], env: Record<string, string>) {
  const directory = temporaryDirectory(t);
  const file = join(directory, 'namjai.db');
  const PORT = String(await freePort());
  return runCommand({ DATABASE_URL: `sqlite:${file}`, PORT, LOG_LEVEL: 'silent', ...env }, 'serve');
}

/** The server does not start: one line names the setting and tells what it takes. */
function assertOneLine({ code, err, out }: { code: number | null; err: string; out: string }, named: string): void {
  assert.deepEqual([code, out], [1, ''], err);
  const lines = err.trimEnd().split('\n');
  assert.equal(lines.length, 1, err);
  assert.ok(err.includes(named), `${named} is not in: ${err}`);
  assert.match(err, / must | has | is needed| is required| goes with | cannot be used| is for | Set | set /);
}

test(`${wrong.length} wrong settings: each stops the start with one line that names it`, async (t) => {
  assert.ok(wrong.length >= 40);
  for (const [env, named = Object.keys(env)[0] ?? ''] of wrong)
    await t.test(JSON.stringify(env), async (t) => assertOneLine(await start(t, env), named));
});

/** As an operator sees it: the start of a process, until it has ended. */
async function startProcess(t: Parameters<typeof temporaryDirectory>[0], env: Record<string, string>) {
  const DATABASE_URL = `sqlite:${join(temporaryDirectory(t), 'namjai.db')}`;
  const started = performance.now();
  const child = spawn(process.execPath, [program, 'serve'], { env: { DATABASE_URL, LOG_LEVEL: 'silent', ...env } });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (err += chunk));
  const [code] = await once(child, 'close');
  return { code, out, err, ms: performance.now() - started };
}

// Times are judged on a machine that does nothing else: npm run proof -- wrong-settings.
const timed = rounds(0);
test('each stops the start of a process within two seconds', { skip: timed === 0 && 'a proof' }, async (t) => {
  // The first start on a machine compiles the modules.
  await startProcess(t, { PORT: 'x' });
  const times: { ms: number; name: string }[] = [];
  for (let round = 0; round < timed; round += 1)
    for (const [env, named = Object.keys(env)[0] ?? ''] of wrong) {
      const { ms, ...ended } = await startProcess(t, env);
      assertOneLine(ended, named);
      times.push({ ms: Math.round(ms), name: JSON.stringify(env) });
    }
  times.sort((a, b) => b.ms - a.ms);
  for (const { ms, name } of times.slice(0, 5)) t.diagnostic(`${ms} ms: ${name}`);
  assert.deepEqual(
    times.filter(({ ms }) => ms >= 2_000),
    [],
  );
});

test('a port that another program has: the line names the setting', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await new Promise((resolve) => other.once('listening', resolve));
  const address = other.address();
  assert.ok(address && typeof address === 'object');
  const taken = String(address.port);
  assertOneLine(await start(t, { PORT: taken, HOST: '127.0.0.1' }), 'set PORT');
  assertOneLine(await start(t, { METRICS_PORT: taken }), 'set METRICS_PORT');
});

test('a file that is no database: the line names DATABASE_URL and the file', async (t) => {
  const directory = temporaryDirectory(t);
  const text = join(directory, 'text.db');
  writeFileSync(text, 'this is a letter and no database, although it is long enough to have a header. '.repeat(20));
  assertOneLine(await start(t, { DATABASE_URL: `sqlite:${text}` }), `DATABASE_URL: ${text}`);
  const folder = join(directory, 'folder.db');
  mkdirSync(folder);
  assertOneLine(await start(t, { DATABASE_URL: `sqlite:${folder}` }), `DATABASE_URL: ${folder}`);
});

test('keys that do not fit the database: the line names the setting', async (t) => {
  const directory = temporaryDirectory(t);
  const env = { DATABASE_URL: `sqlite:${join(directory, 'namjai.db')}`, LOG_LEVEL: 'silent', HOST: '127.0.0.1' };
  const [first, second] = ['the first key of this database, kept apart', 'the second key of this database, kept apart'];
  const run = async (settings: Record<string, string>, ...args: string[]) => {
    const answer = await runCommand({ ...env, ...settings }, ...args);
    assert.equal(answer.code, 0, answer.err);
  };
  await run({ SECRET_KEY: first }, 'migrate');
  await run({ SECRET_KEY: first }, 'keys', 'rotate');
  assertOneLine(await start(t, { ...env, SECRET_KEY: second }), 'SECRET_KEY');
  assertOneLine(await start(t, { ...env, SECRET_KEY: second, SECRET_KEY_OLD: key }), 'SECRET_KEY_OLD');
  assertOneLine(await start(t, { ...env, SECRET_KEY: first, SECRET_KEY_OLD: second }), 'SECRET_KEY_OLD');
  await run({ SECRET_KEY: second, SECRET_KEY_OLD: first }, 'secret-key', 'rotate', '--json');
  assertOneLine(await start(t, { ...env, SECRET_KEY: first }), 'SECRET_KEY');
  await run({ SECRET_KEY: second }, 'secret-key', 'rotate', '--check');
});
