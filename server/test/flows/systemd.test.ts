import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startServer } from '../server-process.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url)).replace(/\/$/, '');

function run(command: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  return { status, stdout, stderr };
}

const missing = (command: string): string | false =>
  run(command, '--version').status === 0 ? false : `no ${command} on the path`;

/** ops/systemd/namjai.service, for a program that is where this one is. */
function writeUnit(t: TestContext): string {
  const unit = readFileSync(join(root, 'ops/systemd/namjai.service'), 'utf8');
  assert.ok(unit.includes('=/opt/namjai'));
  const file = join(temporaryDirectory(t), 'namjai.service');
  writeFileSync(file, unit.replaceAll('=/opt/namjai', `=${root}`));
  return file;
}

test('systemd finds nothing wrong with the unit', { skip: missing('systemd-analyze') }, (t) => {
  const unit = writeUnit(t);
  assert.deepEqual(run('systemd-analyze', 'verify', '--man=no', unit), { status: 0, stdout: '', stderr: '' });
  const { status, stdout } = run('systemd-analyze', 'security', '--offline=true', '--no-pager', '--threshold=20', unit);
  assert.equal(status, 0, `less exposed than 2.0:\n${stdout}`);
});

test('the command line has the settings of the unit, and the audit log names who typed a command', {
  skip: process.getuid?.() === 0 ? missing('setpriv') : 'not root',
}, (t) => {
  const folder = temporaryDirectory(t);
  const [settings, command] = [join(folder, 'namjai.env'), join(folder, 'namjai')];
  writeFileSync(settings, `DATABASE_URL=sqlite:${join(folder, 'namjai.db')}\n`);
  const script = readFileSync(join(root, 'ops/systemd/namjai'), 'utf8');
  const here = script.replaceAll('/opt/namjai', root).replace('/etc/namjai.env', settings);
  writeFileSync(command, here.replace('--reuid=namjai --regid=namjai', '--reuid=root --regid=root'));
  const namjai = (...args: string[]) =>
    spawnSync('bash', [command, ...args, '--json'], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, SUDO_USER: 'somying' },
    });
  assert.equal(namjai('creator', 'add', '--username', 'mali').status, 0);
  const { data } = JSON.parse(namjai('audit').stdout);
  assert.deepEqual([data[0].action, data[0].actor_name], ['account.created', 'somying']);
  assert.equal(namjai('creator', 'show', 'nobody').status, 1);
});

/** The names of a filter set, those of the sets inside it included. */
function systemCalls(set: string): string[] {
  const lines = run('systemd-analyze', 'syscall-filter', '--no-pager', set).stdout.split('\n').slice(1);
  const names = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
  return names.flatMap((name) => (name.startsWith('@') ? systemCalls(name) : [name]));
}

test('the server starts, answers and ends within the system calls that the unit allows', {
  skip: missing('systemd-analyze') || missing('strace'),
}, async (t) => {
  const allowed = systemCalls('@system-service');
  assert.ok(allowed.includes('openat'));
  const folder = temporaryDirectory(t);
  const trace = join(folder, 'trace');
  // Everything but these. `?`: strace need not know a name.
  const filter = `trace=!${allowed.map((name) => `?${name}`).join(',')}`;
  const server = await startServer({
    env: { DATABASE_URL: `sqlite:${join(folder, 'namjai.db')}` },
    prefix: ['strace', '-f', '--seccomp-bpf', '-qq', '-o', trace, '-e', filter, '-e', 'signal=none'],
  });
  t.after(() => server.kill());
  assert.equal((await fetch(`${server.url}/login`)).status, 200);
  // To the traced process alone: strace itself would let go of it.
  const { pid } = server.child;
  const ended = once(server.child, 'exit');
  process.kill(Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()), 'SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  assert.deepEqual(readFileSync(trace, 'utf8').split('\n').filter(Boolean).slice(0, 5), []);
});
