import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { until } from '../../../sdk/test/until.ts';
import { freePort } from '../free-port.ts';
import { skipWithoutRedis } from '../redis.ts';

const script = fileURLToPath(new URL('../../../scripts/cluster.ts', import.meta.url));

/** Processes of the server that this one has started. */
const nodesOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .map(Number)
    .filter((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('namjai.js'));

test('npm run cluster: two nodes behind one address, with a first call that works even while a node is killed', {
  skip: skipWithoutRedis,
}, async (t) => {
  const port = await freePort();
  const { PATH } = process.env;
  const cwd = fileURLToPath(new URL('../../../', import.meta.url));
  const cluster = spawn(process.execPath, [script], { cwd, env: { PATH, PORT: String(port) } });
  t.after(() => cluster.kill('SIGTERM'));
  let output = '';
  for (const stream of [cluster.stdout, cluster.stderr]) stream.on('data', (chunk) => (output += chunk));
  await until('it says that it is up', () => output.includes('The cluster is up'));

  const token = /Bearer (\S+)"/.exec(output)?.[1];
  const me = async () => {
    // A connection of its own for each, so that every node has its turn.
    const options = { headers: { authorization: `Bearer ${token}` }, reset: true };
    const { statusCode, body } = await request(`http://localhost:${port}/v1/me`, options);
    await body.dump();
    return statusCode;
  };
  for (let i = 0; i < 4; i++) assert.equal(await me(), 200);
  const [first] = nodesOf(cluster.pid!);
  process.kill(first!, 'SIGKILL');
  await until('it is gone', () => !existsSync(`/proc/${first}`));
  for (let i = 0; i < 4; i++) assert.equal(await me(), 200);

  cluster.kill('SIGTERM');
  const [code] = await once(cluster, 'exit');
  assert.equal(code, 0);
  await assert.rejects(me());
});
