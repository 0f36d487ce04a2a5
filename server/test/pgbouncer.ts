/** PgBouncer as a process, with the file of `ops/`. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import pg from 'pg';
import { until } from '../../sdk/test/until.ts';
import { freePort } from './free-port.ts';
import { supervisor } from './supervisor.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const found = /PgBouncer (\d+)\.(\d+)/.exec(spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' }).stdout ?? '');

/** For the `skip` of suites that need it: false, or what would enable them. */
export const skipWithoutPgbouncer: string | false = found
  ? false
  : 'no pgbouncer on the path; `apt-get install pgbouncer` enables this';

/** An older one cannot keep prepared statements apart. */
export const poolMode = found && Number(found[1]) + Number(found[2]) / 1000 >= 1.021 ? 'transaction' : 'session';

const role = 'namjai';
const password = 'a password of this test';

/** As docs/scaling.md says. */
const roleLimits = [
  `ALTER ROLE ${role} SET statement_timeout = '4500ms'`,
  `ALTER ROLE ${role} SET idle_in_transaction_session_timeout = '2250ms'`,
];

/** Starts one in front of the PostgreSQL of this address. Returns the same address through it. */
export async function startPgbouncer(
  t: Pick<TestContext, 'after'>,
  postgresUrl: string,
): Promise<(database: string) => string> {
  const target = new URL(postgresUrl);
  const admin = new pg.Client({ connectionString: postgresUrl });
  await admin.connect();
  const { rows } = await admin.query('SELECT FROM pg_roles WHERE rolname = $1', [role]);
  if (rows.length === 0) await admin.query(`CREATE ROLE ${role} LOGIN SUPERUSER`);
  for (const statement of roleLimits) await admin.query(statement);
  await admin.end();

  const [directory, port] = [temporaryDirectory(t), await freePort()];
  const users = join(directory, 'userlist.txt');
  const replace = {
    'namjai = host=db.example port=5432 dbname=namjai': `* = host=${target.hostname} port=${target.port}`,
    '0.0.0.0': '127.0.0.1',
    'listen_port = 6432': `listen_port = ${port}`,
    '/etc/pgbouncer/userlist.txt': users,
    ...(poolMode === 'session' && {
      'pool_mode = transaction': 'pool_mode = session',
      'max_prepared_statements = 200': '',
      'default_pool_size = 16': 'default_pool_size = 60',
    }),
  };
  let text = readFileSync(new URL('../../ops/pgbouncer/pgbouncer.ini', import.meta.url), 'utf8').replace(/^;.*$/gm, '');
  for (const [from, to] of Object.entries(replace)) {
    if (!text.includes(from)) throw new Error(`ops/pgbouncer/pgbouncer.ini has no ${JSON.stringify(from)}`);
    text = text.replace(from, to);
  }
  // Sockets would go into /tmp.
  writeFileSync(join(directory, 'pgbouncer.ini'), `${text}\nunix_socket_dir =\n`);
  writeFileSync(users, `"${role}" "${password}"\n`);
  chmodSync(directory, 0o755);

  // It refuses to be root, and ends with this process.
  const child = spawn('sh', ['-c', supervisor, 'sh', 'pgbouncer', join(directory, 'pgbouncer.ini')], {
    ...(process.getuid?.() === 0 && { uid: 65_534, gid: 65_534 }),
    cwd: directory,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  t.after(async () => {
    const ended = once(child, 'exit');
    child.stdin.end();
    await ended;
  });
  const url = (database: string) => `postgres://${role}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
  await until(
    () => `PgBouncer answers: ${output}`,
    async () => {
      const client = new pg.Client({ connectionString: url('postgres') });
      try {
        await client.connect();
        await client.query('SELECT 1');
        return true;
      } catch (error) {
        output += `${error}\n`;
        return false;
      } finally {
        await client.end().catch(() => {});
      }
    },
  );
  return url;
}
