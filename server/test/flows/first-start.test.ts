import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { until } from '../../../sdk/test/until.ts';
import { freePort } from '../free-port.ts';
import { namjai } from '../namjai.ts';
import { type ServerProcess, startServer } from '../server-process.ts';
import { execute } from '../sql.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const run = promisify(execFile);

async function json(env: Record<string, string>, ...args: string[]) {
  const { code, stdout, stderr } = await namjai(env, ...args, '--json');
  assert.equal(code, 0, stderr);
  assert.equal(stdout.trimEnd().split('\n').length, 1, 'one object on one line');
  return JSON.parse(stdout);
}

const settings = (t: TestContext) => ({ DATABASE_URL: `sqlite:${join(temporaryDirectory(t), 'data', 'namjai.db')}` });

/** Runs the printed line in a shell, as a person would paste it. */
async function pasteCurl({ output }: Pick<ServerProcess, 'output'>): Promise<{ status: string; body: string }> {
  // It may answer before its words are here.
  await until('it says that it is up', () => output().includes('is up.'));
  const line = output()
    .split('\n')
    .find((text) => text.startsWith('curl '));
  assert.ok(line, output());
  const { stdout } = await run('sh', ['-c', `${line} -s -w '\\n%{http_code}'`]);
  const [body = '', status = ''] = stdout.split('\n');
  return { body, status };
}

test('an empty database gets the demo world, and the printed curl line answers 200, also after a restart', async (t) => {
  const env = settings(t);
  const first = await startServer({ env });
  t.after(() => first.kill());
  const { status, body } = await pasteCurl(first);
  assert.equal(status, '200', body);
  assert.equal(JSON.parse(body).username, 'demo');
  assert.match(first.output(), /Sign in +demo \//);
  await first.kill('SIGTERM');
  const second = await startServer({ env });
  t.after(() => second.kill());
  assert.equal((await pasteCurl(second)).status, '200');
  const signIn = (output: string) => /Sign in +(.*)/.exec(output)?.[1];
  assert.equal(signIn(second.output()), signIn(first.output()), 'filled once');
  await second.kill('SIGTERM');

  const production = { ...env, NODE_ENV: 'production', SECRET_KEY: 'k'.repeat(32) };
  const refused = await namjai({ ...production, PORT: '1' }, 'serve');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /namjai demo remove/);
  assert.deepEqual(await json(env, 'demo', 'remove'), { removed: true });
  assert.deepEqual(await json(env, 'demo', 'remove'), { removed: false });
});

test('app add takes several redirect URIs after one flag, or a flag for each', async (t) => {
  const env = settings(t);
  const [one, two] = ['https://app.example/one', 'https://app.example/two'];
  for (const uris of [
    ['--redirect-uri', one, two],
    ['--redirect-uri', one, '--redirect-uri', two],
  ]) {
    const { client_id, client_secret } = await json(env, 'app', 'add', ...uris, '--name', 'Goal Bot');
    assert.match(client_id, /^app_/);
    assert.match(client_secret, /^njs_/);
  }
  const stray = await namjai(env, 'app', 'add', one, '--name', 'Goal Bot', '--redirect-uri', two, '--json');
  assert.equal(stray.code, 2);
});

test('app add --public gets no secret and needs no redirect URI', async (t) => {
  const env = settings(t);
  const about = [
    '--description',
    'A deck of keys',
    '--homepage',
    'https://deck.example',
    '--privacy',
    'https://deck.example/p',
  ];
  const made = await json(env, 'app', 'add', '--name', 'Deck', '--public', ...about);
  assert.match(made.client_id, /^app_/);
  assert.equal(made.client_secret, null);
  const refused = await namjai(env, 'app', 'add', '--name', 'Deck', '--public', '--homepage', 'http://deck.example');
  assert.match(refused.stderr, /address of the homepage must begin with https/);
  assert.equal((await namjai(env, 'app', 'add', '--name', 'Web')).code, 2);
});

test('creator add, app add and grant add make the API usable end to end beside a running server', async (t) => {
  const env = settings(t);
  const server = await startServer({ env });
  t.after(() => server.kill());
  const here = { ...env, BASE_URL: server.url, AUTH_URL: server.url };
  const creator = await json(here, 'creator', 'add', '--username', 'mali', '--display-name', 'มะลิ');
  assert.match(creator.id, /^crt_/);
  assert.ok(creator.password.length >= 10);
  const app = await json(
    here,
    'app',
    'add',
    '--name',
    'Goal Bot',
    '--redirect-uri',
    'https://bot.example/cb',
    '--redirect-uri',
    'http://localhost:3000/cb',
    '--owner',
    'mali',
  );
  const tokens = await json(
    here,
    'grant',
    'add',
    '--creator',
    'mali',
    '--client',
    app.client_id,
    '--scope',
    'tips.create tips.read tips.read',
  );
  assert.deepEqual([tokens.token_type, tokens.expires_in, tokens.scope], ['Bearer', 3600, 'tips.read tips.create']);
  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${server.url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${tokens.access_token}`, 'content-type': 'application/json' },
    });
  const posted = await call('/v1/tips', { method: 'POST', body: JSON.stringify({ amount: 5, name: 'AB' }) });
  assert.equal(posted.status, 201);

  const tip = await json(here, 'trigger', 'tip', '--creator', 'mali', '--amount', '12.5', '--message', 'ขอบคุณ');
  assert.deepEqual([tip.amount, tip.source.type], [12.5, 'cli']);
  const alert = await json(here, 'trigger', 'alert', '--creator', 'mali');
  assert.equal(alert.type, 'alert.test');
  const stats = (await (await call('/v1/tips/stats')).json()) as { all_time: object };
  assert.deepEqual(stats.all_time, { total: 17.5, total_minor: 1750, count: 2 });

  // What the command line changes counts on the running server's next request.
  const pauses: [string[], string[]][] = [
    [
      ['creator', 'suspend', 'mali'],
      ['creator', 'restore', 'mali'],
    ],
    [
      ['app', 'suspend', app.client_id],
      ['app', 'restore', app.client_id],
    ],
  ];
  for (const [suspend, restore] of pauses) {
    await json(here, ...suspend);
    assert.equal((await call('/v1/me')).status, 403);
    await json(here, ...restore);
    assert.equal((await call('/v1/me')).status, 200);
  }
  await json(here, 'keys', 'rotate');
  assert.equal((await call('/v1/me')).status, 200, 'live tokens outlive a key rotation');
  await json(here, 'grant', 'revoke', '--creator', 'mali', '--client', app.client_id);
  assert.equal((await call('/v1/me')).status, 403);
  const again = await namjai(here, 'grant', 'revoke', '--creator', 'mali', '--client', app.client_id, '--json');
  assert.equal(again.code, 1);
  assert.equal(JSON.parse(again.stderr).error.code, 'grant_unknown');
});

test('backup copies a running database whole, for its owner only, and never overwrites', async (t) => {
  const env = settings(t);
  const server = await startServer({ env });
  t.after(() => server.kill());
  const file = join(temporaryDirectory(t), 'copy.db');
  assert.deepEqual(await json(env, 'backup', file), { file });
  assert.equal(statSync(file).mode & 0o777, 0o600);
  for (const suffix of ['', '-wal', '-shm']) {
    const path = `${env.DATABASE_URL.slice('sqlite:'.length)}${suffix}`;
    if (existsSync(path)) assert.equal(statSync(path).mode & 0o777, 0o600, path);
  }
  assert.equal((await namjai(env, 'backup', file)).code, 1);
  const copy = await startServer({
    env: { DATABASE_URL: `sqlite:${file}`, SECRET_KEY: 'another key, another set of secrets!' },
  }).catch((error: Error) => error);
  assert.ok(copy instanceof Error, 'a copy without its SECRET_KEY says so');
  assert.match(copy.message, /SECRET_KEY/);
});

test('wrong usage exits 2, failures exit 1, and each says what to do', async (t) => {
  const env = settings(t);
  const cases: [args: string[], code: number, message: RegExp][] = [
    [['nothing'], 2, /There is no command "nothing". See: namjai --help/],
    [['creator', 'add'], 2, /--username is required/],
    [['creator', 'add', '--username', 'ab'], 1, /3 to 30 characters/],
    [['creator', 'add', '--username', 'mali', '--password', 'short'], 1, /10 to 200 characters/],
    [['creator', 'add', '--wrong'], 2, /Unknown option '--wrong'. See: namjai creator add --help$/m],
    [['backup', '/no/such/folder/copy.db'], 1, /There is no folder/],
    [['creator', 'suspend'], 2, /Usage: namjai creator suspend USERNAME/],
    [['creator', 'suspend', 'nobody'], 1, /no creator named "nobody"/],
    [['app', 'add', '--name', 'X', '--redirect-uri', 'http://evil.example/'], 1, /must begin with https/],
    [['grant', 'add', '--creator', 'nobody', '--client', 'x', '--scope', ''], 1, /no creator named/],
    [['trigger', 'tip', '--creator', 'nobody', '--amount', '0'], 1, /--amount must be greater than 0/],
  ];
  for (const [args, code, message] of cases) {
    const plain = await namjai(env, ...args);
    assert.equal(plain.code, code, `${args.join(' ')}: ${plain.stderr}`);
    assert.match(plain.stderr, message);
    assert.equal(plain.stdout, '');
    const machine = await namjai(env, ...args, '--json');
    assert.equal(machine.code, code);
    assert.match(JSON.parse(machine.stderr).error.message, message);
  }
  const settingsWrong = await namjai({ ...env, PORT: 'x', TIME_ZONE: 'x' }, 'serve');
  assert.equal(settingsWrong.code, 1);
  assert.equal(settingsWrong.stderr.trimEnd().split('\n').length, 2, 'one clear line for each wrong value');
  const help = await namjai(env, 'creator', 'add', '--help');
  assert.match(help.stdout, /--password-stdin/);
  const group = await namjai(env, 'creator');
  assert.equal(group.code, 0);
  assert.match(group.stdout, /creator add .*\n.*creator password USERNAME/);
  assert.doesNotMatch(group.stdout, /app add/);
  assert.match((await namjai(env, '--version')).stdout, /^namjai \d+\.\d+\.\d+\n$/);
});

test('a database of a newer version is refused in one line', async (t) => {
  const env = settings(t);
  await json(env, 'migrate');
  const { openSqlite } = await import('../../src/platform/db/sqlite.ts');
  const db = openSqlite({ file: env.DATABASE_URL.slice('sqlite:'.length) });
  await execute(db, `INSERT INTO schema_migrations (number, name, applied_at) VALUES (999, '0999-future', 0)`);
  await db.close();
  const { code, stderr } = await namjai({ ...env, PORT: String(await freePort()) }, 'serve');
  assert.equal(code, 1);
  assert.match(stderr, /0999-future/);
  assert.equal(stderr.trimEnd().split('\n').length, 1);
});

test('SIGTERM finishes what is in flight and ends with 0; the port in use is one clear line', async (t) => {
  const env = settings(t);
  const server = await startServer({ env: { ...env, DRAIN_SECONDS: '1' } });
  t.after(() => server.kill());
  const second = await namjai({ ...env, PORT: new URL(server.url).port }, 'serve');
  assert.equal(second.code, 1);
  assert.match(second.stderr, /PORT/);
  await server.kill('SIGTERM');
  assert.equal(server.child.exitCode, 0, server.output());
});
