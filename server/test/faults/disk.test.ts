import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../../sdk/test/until.ts';
import { assertLedger } from '../ledger.ts';
import { startServer } from '../server-process.ts';
import { fillDisk, needsMount, smallDisk } from '../small-disk.ts';
import { startStopwatch } from '../stopwatch.ts';
import { makePairs, sameIssuer, withStore } from '../store.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { postTips } from '../tip-load.ts';

const needsStrace = {
  skip: spawnSync('strace', ['-V']).status === 0 ? false : 'needs strace: install it to count disk flushes',
};

test(
  'security 34: a full disk gives 502 and no half record, and the API serves again by itself',
  needsMount,
  async (t) => {
    // Room for the log of all tips even if each had a commit of its own: it must be full only while it is filled.
    const directory = smallDisk(t, 64);
    const env = { ...sameIssuer, DATABASE_URL: `sqlite:${join(directory, 'namjai.db')}`, LOG_LEVEL: 'silent' };
    const pairs = await withStore(env, (runtime) => makePairs(runtime, 10, 30));
    const server = await startServer({ env: { ...env, LOG_LEVEL: 'warn' } });
    t.after(() => server.kill());
    const answered = new Set<string>();
    const post = async (count: number) => {
      const stopwatch = startStopwatch(server.child.pid);
      const { recorded, statuses } = await postTips(server.url, pairs, { count, connections: 16 });
      assert.ok(stopwatch() < 5000, 'answered within five seconds');
      for (const { id } of recorded) answered.add(id);
      return statuses;
    };
    assert.deepEqual([...(await post(300))], [[201, 300]]);

    fillDisk(join(directory, 'filler'));
    // What is free inside the log file may still be used, so the first few can pass.
    const full = await post(300);
    assert.deepEqual(
      [...full.keys()].filter((status) => status !== 201),
      [502],
    );
    assert.ok((full.get(502) ?? 0) > 0);
    const readyz = async () => (await fetch(`${server.url}/readyz`)).status;
    // The database is asked once a second.
    await until('/readyz says no', async () => (await readyz()) === 503);
    const said = await (await fetch(`${server.url}/readyz`)).json();
    assert.deepEqual(said, { status: 'storage unavailable', reason: 'disk_full' });
    assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
    const read = await fetch(`${server.url}/v1/tips/stats`, { headers: pairs[0]!.headers });
    assert.equal(read.status, 200, 'reads go on');
    const refused = await fetch(`${server.url}/v1/tips`, {
      method: 'POST',
      headers: { ...pairs[0]!.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ amount: 1, name: 'FULL' }),
    });
    assert.equal(refused.status, 502);
    assert.equal(((await refused.json()) as { error: { code: string } }).error.code, 'upstream_failed');

    rmSync(join(directory, 'filler'));
    assert.deepEqual([...(await post(300))], [[201, 300]]);
    await until('/readyz says yes', async () => (await readyz()) === 200);
    for (const line of ['storage is away', 'not ready', 'storage is back', 'ready again'])
      await until(`the log says: ${line}`, () => server.output().includes(`"msg":"${line}"`));
    await server.kill('SIGKILL');
    const ids = await withStore(env, ({ db }) => assertLedger(db));
    assert.deepEqual([...ids].sort(), [...answered].sort(), 'exactly what was answered 201');
  },
);

test('every tip is flushed before it is answered, and flushes are shared under load', {
  ...needsStrace,
}, async (t) => {
  const directory = temporaryDirectory(t);
  const env = { ...sameIssuer, DATABASE_URL: `sqlite:${join(directory, 'namjai.db')}` };
  const pairs = await withStore(env, (runtime) => makePairs(runtime, 15, 15));
  const trace = join(directory, 'trace');
  const server = await startServer({
    env,
    // Each flush takes 20 ms, so that a slow machine, too, has more than one tip to share the next one.
    prefix: [
      'strace',
      '-f',
      '-o',
      trace,
      '-e',
      'trace=fdatasync,fsync',
      '-e',
      'inject=fdatasync,fsync:delay_exit=20000',
    ],
  });
  t.after(() => server.kill('SIGTERM'));
  const flushes = () => [...readFileSync(trace, 'utf8').matchAll(/f(data)?sync\(/g)].length;

  const before = flushes();
  const alone = await postTips(server.url, pairs, { count: 200, connections: 1 });
  const afterAlone = flushes();
  assert.equal(alone.recorded.length, 200);
  assert.ok(afterAlone - before >= 200, `${afterAlone - before} flushes for 200 tips, one after another`);

  const together = await postTips(server.url, pairs, { count: 1600, connections: 64 });
  const shared = flushes() - afterAlone;
  assert.equal(together.recorded.length, 1600);
  assert.ok(shared >= 1600 / 64 && shared < 800, `${shared} flushes for 1600 tips at 64 connections`);
  t.diagnostic(`200 tips alone: ${afterAlone - before} flushes; 1600 at 64 connections: ${shared}`);
});
