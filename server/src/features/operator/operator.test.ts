import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { runCommand } from '../../../test/cli-process.ts';
import { makeCreator } from '../../../test/factories.ts';
import { temporaryDirectory } from '../../../test/temporary-directory.ts';

test('creators are listed by name, in pages and by search, with counts and last use', async (t) => {
  const { runtime, clock } = await buildApp(t);
  const { accounts, apps, grants, tips, operator } = runtime;
  const names = ['anong', 'boon', 'chai', 'dao'];
  for (const username of names) await makeCreator(runtime, username);
  const { id } = await accounts.byUsername('boon');
  const app = await apps.add({ name: 'Bot', redirectUris: ['https://x.example/cb'], ownerId: id });
  await grants.addByOperator(id, app.clientId, 'tips.read');
  await tips.record({ creatorId: id, app: null, amount: 12.5, name: 'A SUPPORTER', displayName: null, message: null });

  const first = await operator.creators({ limit: 3 });
  assert.deepEqual([first.data.map(({ username }) => username), first.next_after], [names.slice(0, 3), 'chai']);
  const second = await operator.creators({ limit: 3, after: 'chai' });
  assert.deepEqual([second.data.map(({ username }) => username), second.next_after], [['dao'], null]);
  const found = await operator.creators({ search: 'OON' });
  assert.equal(found.data.length, 1);
  const { tips: counted, connected_apps, own_apps, last_event_at } = await operator.creator('boon');
  assert.deepEqual(counted, { total: 12.5, total_minor: 1250, count: 1 });
  assert.deepEqual([connected_apps, own_apps, last_event_at], [1, 1, new Date(clock()).toISOString()]);
  assert.deepEqual((await operator.creators({ search: '%' })).data, []);
});

test('apps are listed with their owner, creators and last use; deleted ones are not', async (t) => {
  const app = await buildApp(t);
  const { accounts, apps, grants, lastUsed, operator } = app.runtime;
  const { id } = await accounts.add({ username: 'malee', password: 'a long password' });
  const { clientId } = await apps.add({ name: 'Bot One', redirectUris: ['https://x.example/cb'], ownerId: id });
  const { access_token } = await grants.addByOperator(id, clientId, 'tips.read');
  assert.equal((await operator.app(clientId)).last_used_at, null);
  const headers = { authorization: `Bearer ${access_token}` };
  assert.equal((await app.http.inject({ url: '/v1/me', headers })).statusCode, 200);
  await lastUsed.flush();
  const shown = await operator.app(clientId);
  assert.deepEqual(
    [shown.owner, shown.connected_creators, shown.redirect_uris],
    ['malee', 1, ['https://x.example/cb']],
  );
  assert.equal(shown.last_used_at, new Date(app.clock()).toISOString());
  const creator = await operator.creator('malee');
  assert.deepEqual(
    creator.apps.map(({ client_id, scope, last_used_at }) => [client_id, scope, last_used_at]),
    [[clientId, 'tips.read', shown.last_used_at]],
  );
  assert.equal((await operator.apps({ search: 'bot' })).data[0]?.client_id, clientId);
  await grants.deleteApp(id, clientId);
  assert.deepEqual((await operator.apps({ search: 'bot' })).data, []);
});

test('the command line prints the lists as text and as one object', async (t) => {
  const { runtime, env } = await buildApp(t);
  await runtime.accounts.add({ username: 'malee', password: 'a long password', displayName: 'Malee' });
  const text = await runCommand(env, 'creator', 'list');
  assert.equal(text.code, 0, text.err);
  assert.match(text.out, /^USERNAME +STATE/);
  assert.match(text.out, /^malee +active +0 +0\.00/m);
  const { out } = await runCommand(env, 'creator', 'list', '--json');
  assert.equal(JSON.parse(out).data[0].username, 'malee');
  assert.match((await runCommand(env, 'creator', 'show', 'malee')).out, /No app is connected/);
  const { delete_at } = JSON.parse((await runCommand(env, 'creator', 'delete', 'malee', '--yes', '--json')).out);
  assert.match((await runCommand(env, 'creator', 'list')).out, /^malee +leaving /m);
  assert.match(
    (await runCommand(env, 'creator', 'show', 'malee')).out,
    /^state +leaving: will be deleted after .* UTC$/m,
  );
  assert.equal(JSON.parse((await runCommand(env, 'creator', 'show', 'malee', '--json')).out).delete_at, delete_at);
  assert.match((await runCommand(env, 'app', 'list', '--search', 'none of them')).out, /^No app found/);
  assert.equal((await runCommand(env, 'app', 'list', '--limit', '0')).code, 2);
  assert.equal((await runCommand(env, 'app', 'show', 'app_unknown')).code, 1);
});

test('a command without the settings of the server says so, and makes no database', async (t) => {
  const file = join(temporaryDirectory(t), 'namjai.db');
  const env = { DATABASE_URL: `sqlite:${file}` };
  for (const command of [['creator', 'list'], ['app', 'list'], ['audit'], ['creator', 'show', 'malee']]) {
    const { code, err } = await runCommand(env, ...command);
    assert.equal(code, 1, command.join(' '));
    assert.match(err, /There is no database .*namjai\.db\. Set DATABASE_URL/);
  }
  assert.ok(!existsSync(file));
  assert.equal((await runCommand(env, 'creator', 'add', '--username', 'malee')).code, 0);
  assert.match((await runCommand(env, 'creator', 'list')).out, /^malee /m);
});

test('a reader that stops early ends a command without an error', async () => {
  const program = new URL('../../../bin/namjai.js', import.meta.url).pathname;
  const child = spawn('sh', ['-c', `"${process.execPath}" "${program}" --help | true`], { stdio: 'pipe' });
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr += chunk));
  await once(child, 'close');
  assert.equal(stderr, '');
});
