import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runCommand, startCommand } from '../../test/cli-process.ts';
import { makeCreator } from '../../test/factories.ts';
import { freePort } from '../../test/free-port.ts';
import { startReceiver } from '../../test/receiver.ts';
import { listen } from '../../test/sockets.ts';
import { temporaryDirectory } from '../../test/temporary-directory.ts';
import { signedInVisitor } from '../../test/visitor.ts';

/** A server, a creator who can approve in a browser, and a machine that has nothing of the server. */
async function setup(t: TestContext) {
  const app = await listen(t);
  const server = `http://${app.address}`;
  const creator = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creator.creatorId);
  const env = { XDG_CONFIG_HOME: temporaryDirectory(t) };

  async function decide(userCode: string, decision: 'approve' | 'deny') {
    const page = await visitor.post('/device', { user_code: userCode });
    const request = /name="request" value="([^"]+)"/.exec(page.body)?.[1];
    assert.ok(request, page.body);
    assert.equal((await visitor.post('/device/decision', { request, decision })).statusCode, 200);
  }

  async function login(decision: 'approve' | 'deny' = 'approve') {
    const command = startCommand(t, env, 'login', '--server', server);
    const code = await command.note();
    await decide(code.user_code, decision);
    return { command, code };
  }

  /** What the command prints with `--json`. */
  async function run(...args: string[]) {
    const { code, out, err } = await runCommand(env, ...args, '--json');
    assert.equal(code, 0, err);
    return JSON.parse(out);
  }

  async function refused(...args: string[]) {
    const { code, out, err } = await runCommand(env, ...args, '--json');
    assert.deepEqual([code, out], [1, '']);
    return JSON.parse(err).error;
  }
  const files = () => {
    const folder = join(env.XDG_CONFIG_HOME, 'namjai');
    return readdirSync(folder).map((name) => join(folder, name));
  };
  return { ...app, server, creator, env, login, run, refused, files };
}

test('login by a code that is approved in the browser; then whoami, trigger, trace and events work, and logout ends it', async (t) => {
  const { server, creator, env, login, run, refused, files, clock, runtime } = await setup(t);
  const { command, code } = await login();
  assert.match(code.user_code, /^[A-Z]{4}-[A-Z]{4}$/);
  assert.match(code.verification_uri, /\/device$/);
  const signedIn = await command.line();
  assert.deepEqual([signedIn.server, signedIn.username], [server, creator.username]);
  assert.equal(await command.exit, 0);
  for (const file of files()) {
    assert.equal(statSync(file).mode & 0o777, 0o600, file);
    // Sealed text has no quotation mark, so that chance cannot bring this about.
    assert.doesNotMatch(readFileSync(file, 'utf8'), /"(njr_|eyJ)/, 'no token in clear');
  }

  const me = await run('whoami');
  assert.deepEqual([me.server, me.username, me.app.name], [server, creator.username, 'Namjai CLI']);
  const plain = await runCommand(env, 'whoami');
  assert.ok(plain.out.startsWith(`${creator.username} at ${server}\n`), plain.out);
  const following = startCommand(t, env, 'events', '--after', '0');
  const tip = await run('trigger', 'tip', '--amount', '99.5', '--message', 'hello');
  assert.deepEqual([tip.amount, tip.message, tip.source.app_name], [99.5, 'hello', 'Namjai CLI']);
  const trace = await run('trace', tip.id);
  assert.deepEqual(
    [trace.tip_id, trace.steps.map(({ kind }: { kind: string }) => kind), trace.missing.length],
    [tip.id, ['recorded', 'event'], 1],
  );
  const alert = await run('trigger', 'alert', '--name', 'MALI', '--server', server);
  assert.equal(alert.name, 'MALI');
  const events = [await following.line(), await following.line()];
  assert.deepEqual(
    events.map(({ type, sequence }) => [type, sequence]),
    [
      ['tip.created', 1],
      ['alert.test', 2],
    ],
  );
  const wrong = await refused('trigger', 'tip', '--amount', '0', '--name', 'x');
  assert.equal(wrong.code, 'validation_failed');
  assert.match(wrong.message, /--amount .*; --name /);

  // The access token has expired: the refresh goes by itself.
  clock.advance(2 * 3_600_000);
  assert.equal((await run('whoami')).username, creator.username);

  assert.deepEqual(await run('logout'), { server, username: creator.username, revoked: true });
  assert.equal(await following.exit, 1);
  assert.equal((await following.error()).code, 'not_signed_in');
  assert.deepEqual(await runtime.grants.connections(creator.creatorId), []);
  assert.equal((await refused('whoami')).code, 'not_signed_in');
  assert.equal((await refused('logout')).code, 'not_signed_in');
  assert.equal(files().length, 1, 'the tokens are gone');
});

test('a sign-in replaces the one before, one that is denied changes nothing, and a disconnected one says so', async (t) => {
  const { server, creator, login, run, refused, files, runtime } = await setup(t);
  const denied = await login('deny');
  assert.equal(await denied.command.exit, 1);
  assert.equal((await denied.command.error()).code, 'access_denied');
  assert.equal((await refused('whoami')).code, 'not_signed_in');
  for (let i = 0; i < 2; i++) assert.equal(await (await login()).command.exit, 0);
  assert.equal(files().length, 2, 'the names of the servers, and one sign-in');
  const living = await runtime.db.all('SELECT id FROM families WHERE ended_at IS NULL');
  assert.equal(living.length, 1, 'the first one was revoked');
  const [connection] = await runtime.grants.connections(creator.creatorId);
  assert.ok(connection);
  await runtime.grants.revoke(creator.creatorId, connection.client_id, 'creator');
  const ended = await refused('trigger', 'tip');
  assert.equal(ended.code, 'not_signed_in');
  assert.match(ended.message, new RegExp(`namjai login --server ${server}`));
  assert.equal((await run('logout')).revoked, true);
});

test('a sign-in that fails after its approval leaves nothing connected', async (t) => {
  const { creator, login, runtime, files } = await setup(t);
  const { get } = runtime.db;
  // The tokens are there, and the first call with them fails.
  t.mock.method(runtime.db, 'get', (...args: Parameters<typeof get>) => {
    if (String(args[0]).includes('FROM families f')) throw new Error('broken');
    return get.apply(runtime.db, args);
  });
  const { command } = await login();
  assert.equal(await command.exit, 1);
  assert.deepEqual(await runtime.grants.connections(creator.creatorId), []);
  assert.deepEqual(files(), []);
});

test('login and the others say what is wrong with the server', async (t) => {
  const { refused, run, login, http, files } = await setup(t);
  const nobody = `http://localhost:${await freePort()}`;
  const other = await startReceiver(t);
  assert.equal((await refused('login', '--server', nobody)).code, 'connection_failed');
  assert.equal((await refused('login', '--server', new URL(other.url).origin)).code, 'not_a_server');
  for (const odd of ['http://tips.example', 'ftp://tips.example', '://'])
    assert.equal((await refused('login', '--server', odd)).code, 'url_invalid', odd);
  assert.equal((await refused('whoami', '--server', nobody)).code, 'not_signed_in');
  assert.equal((await refused('trigger', 'alert')).code, 'not_signed_in');
  assert.equal((await refused('events')).code, 'not_signed_in');

  assert.equal(await (await login()).command.exit, 0);
  http.server.closeAllConnections();
  await http.close();
  for (const command of [['whoami'], ['trigger', 'tip'], ['logout']])
    assert.equal((await refused(...command)).code, 'connection_failed', command[0]);
  assert.equal((await run('logout', '--forget')).revoked, false);
  assert.equal(files().length, 1);
});
