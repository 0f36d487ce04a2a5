import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../test/build-app.ts';
import { runCommand, startCommand } from '../../test/cli-process.ts';
import { makeApp, makeCreator } from '../../test/factories.ts';
import { execute } from '../../test/sql.ts';
import type { AuditEntry } from '../features/audit/index.ts';

test('namjai audit lists what happened, by time, account, app and action, and goes on with --follow', async (t) => {
  const { runtime, env, clock } = await buildApp(t);
  // The command line has the system's clock.
  clock.set(Date.now() - 7_200_000);
  const { creatorId } = await makeCreator(runtime, 'malee');
  const other = await makeCreator(runtime, 'somchai');
  const { clientId } = await makeApp(runtime, 'Goal Bot', creatorId);
  const between = new Date(clock() + 1_800_000).toISOString();
  clock.advance(3_600_000);
  await runtime.recovery.renew(creatorId);
  clock.advance(1);
  await runtime.recovery.renew(other.creatorId);

  const list = async (...args: string[]): Promise<string[]> => {
    const { code, out, err } = await runCommand(env, 'audit', ...args, '--json');
    assert.equal(code, 0, err);
    return JSON.parse(out).data.map(({ action, username }: AuditEntry) => `${action} ${username}`);
  };
  const all = ['app.created malee', 'recovery_codes.replaced malee', 'recovery_codes.replaced somchai'];
  assert.deepEqual(await list(), all);
  assert.deepEqual(await list('--limit', '1'), all.slice(2), 'the newest');
  assert.deepEqual(await list('--creator', 'malee'), all.slice(0, 2));
  assert.deepEqual(await list('--app', clientId), all.slice(0, 1));
  assert.deepEqual(await list('--action', 'recovery_codes.replaced', '--creator', 'somchai'), all.slice(2));
  assert.deepEqual(await list('--since', between), all.slice(1));
  assert.deepEqual(await list('--until', between), all.slice(0, 1));
  assert.deepEqual(await list('--since', '90m'), all.slice(1));
  assert.deepEqual(await list('--since', '2020-01-01'), all);
  assert.deepEqual(await list('--until', '2020-01-01'), []);

  const { out } = await runCommand(env, 'audit');
  assert.match(out, /^TIME \(UTC\) +ACTION +ACCOUNT +APP +BY +FROM +DETAILS +REQUEST/);
  assert.match(out, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +app\.created +malee +Goal Bot +the server +- +name=Goal Bot/m);
  assert.match((await runCommand(env, 'audit', '--until', '2020-01-01')).out, /^Nothing found/);
  for (const wrong of [
    ['--action', 'x'],
    ['--since', 'x'],
    ['--limit', '0'],
    ['--follow', '--until', '24h'],
  ])
    assert.equal((await runCommand(env, 'audit', ...wrong)).code, 2, wrong.join(' '));
  assert.equal((await runCommand(env, 'audit', '--creator', 'nobody')).code, 1);

  const following = startCommand(t, env, 'audit', '--follow', '--limit', '2');
  assert.deepEqual([(await following.line()).username, (await following.line()).username], ['malee', 'somchai']);
  assert.deepEqual(await following.note(), { following: true });
  // Another process, at another time by its clock.
  await runCommand(env, 'creator', 'suspend', 'somchai');
  const { action, actor, actor_name, details } = await following.line();
  assert.deepEqual([action, actor, details], ['account.suspended_or_restored', 'operator', { now: 'suspended' }]);
  assert.ok(actor_name);
  assert.equal(await following.stop(), 0);
});

test('no terminal obeys what others wrote, whichever command prints it, as text and as JSON', async (t) => {
  const { runtime, env } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime, 'malee');
  const { clientId } = await makeApp(runtime, 'Goal Bot', creatorId);
  const hostile = 'Bot \u001b[2J\u009b31m\u0085\u202ex\u2066';
  await execute(runtime.db, 'UPDATE apps SET name = $1', [hostile]);
  await execute(runtime.db, 'UPDATE audit SET details = $1', [JSON.stringify({ user_agent: hostile })]);
  const commands = [
    ['audit'],
    ['app', 'list'],
    ['app', 'show', clientId],
    ['app', 'suspend', clientId],
    ['app', 'restore', clientId],
    ['grant', 'add', '--creator', 'malee', '--client', clientId, '--scope', 'tips.read'],
    ['grant', 'revoke', '--creator', 'malee', '--client', clientId],
    ['grant', 'revoke', '--creator', 'malee', '--client', clientId],
  ];
  for (const command of commands)
    for (const json of [[], ['--json']]) {
      const { out, err } = await runCommand(env, ...command, ...json);
      assert.doesNotMatch(`${out}${err}`, /[^\P{Cc}\n]|\p{Bidi_Control}/u, `${command.join(' ')} ${json}`);
    }
  assert.equal(JSON.parse((await runCommand(env, 'app', 'show', clientId, '--json')).out).name, hostile);
});
