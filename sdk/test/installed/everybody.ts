/** `npm install -g` of the server's package into an empty prefix, and its use by somebody who may write nearly nowhere. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { freePort } from '../../../server/test/free-port.ts';
import { until } from '../until.ts';
import { run } from './packages.ts';

/** Whoever is root installs for others: nobody runs it then. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** Why npm could not install, if not because of the package. */
const networkFault = /E(NOTFOUND|AI_AGAIN|TIMEDOUT|CONNRESET|CONNREFUSED|NOTCACHED|5\d\d)\b|network/;

/** Installs a tarball for everybody. `undefined`: npm's registry cannot be reached. */
export async function installGlobally(folder: string, tarball: string, path = process.env.PATH) {
  const prefix = join(folder, 'prefix');
  const args = ['install', '--global', '--prefix', prefix, '--prefer-offline', '--no-audit', '--no-fund'];
  try {
    await run('npm', [...args, '--loglevel=error', tarball], folder, { PATH: path });
  } catch (error) {
    if (networkFault.test(String(error))) return undefined;
    throw error;
  }
  return prefix;
}

/** The home is read-only except for the data folder, and so is the folder that commands are run in. */
export async function useAsNobody(t: Pick<TestContext, 'after'>, folder: string, prefix: string, version: string) {
  // Of the one that tests run on, which may lie where only root can go.
  cpSync(process.execPath, join(prefix, 'bin/node'));
  const [home, elsewhere] = [join(folder, 'home'), join(folder, 'elsewhere')];
  const data = join(home, '.local/share/namjai');
  for (const path of [data, elsewhere]) mkdirSync(path, { recursive: true });
  if (user.uid !== undefined) chownSync(data, user.uid, user.gid);
  chmodSync(folder, 0o755);
  for (const path of [home, elsewhere]) chmodSync(path, 0o555);
  t.after(() => chmodSync(home, 0o755));

  const port = String(await freePort());
  const env = { PATH: `${join(prefix, 'bin')}:/usr/bin:/bin`, HOME: home, PORT: port, LOG_LEVEL: 'error' };
  const start = (cwd: string, ...args: string[]) => {
    const child = spawn(join(prefix, 'bin/namjai'), args, { cwd, env, ...user });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    return { child, output: () => output, ended: once(child, 'close').then(([code]): number | null => code) };
  };
  const command = async (...args: string[]) => {
    const { ended, output } = start(elsewhere, ...args);
    assert.equal(await ended, 0, output());
    return output().trim();
  };

  assert.equal(await command('--version'), `namjai ${version}`);
  const server = start(folder, 'serve');
  t.after(() => void server.child.kill('SIGKILL'));
  await until(
    () => `the server is ready: ${server.output()}`,
    async () => {
      assert.equal(server.child.exitCode, null, server.output());
      return (await fetch(`http://localhost:${port}/readyz`).catch(() => undefined))?.ok;
    },
  );
  await command('creator', 'add', '--username', 'mali');
  const { data: creators } = JSON.parse(await command('creator', 'list', '--json'));
  assert.deepEqual(creators.map(({ username }: { username: string }) => username).sort(), ['demo', 'mali']);
  server.child.kill('SIGINT');
  assert.equal(await server.ended, 0, server.output());

  const files = readdirSync(home, { recursive: true, encoding: 'utf8' })
    .map((name) => [name, statSync(join(home, name))] as const)
    .filter(([, status]) => status.isFile());
  assert.deepEqual(files.map(([name, { mode }]) => [name, (mode & 0o777).toString(8)]).sort(), [
    ['.local/share/namjai/namjai.db', '600'],
    ['.local/share/namjai/secret.key', '600'],
  ]);
}
