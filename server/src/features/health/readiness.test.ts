import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp } from '../../../test/build-app.ts';
import { writes } from '../../../test/sql.ts';
import { createLog } from '../../platform/log.ts';
import { createReadiness } from './readiness.ts';

test('security 42: however often it is asked, the database is asked once a second', async () => {
  let [now, asked] = [0, 0];
  const problemOf = createReadiness(
    async () => {
      asked += 1;
    },
    () => now,
  );
  for (const at of [0, 1, 500, 999]) {
    now = at;
    assert.deepEqual(await Promise.all(Array.from({ length: 100 }, problemOf)), Array(100).fill(null));
  }
  assert.equal(asked, 1);
  now = 1000;
  await problemOf();
  assert.equal(asked, 2);
});

test('a database that does not answer is not ready after two seconds, and is asked no second time', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let [now, asked, answer] = [0, 0, () => {}];
  const problemOf = createReadiness(
    () => {
      asked += 1;
      return new Promise<void>((resolve) => {
        answer = resolve;
      });
    },
    () => now,
  );
  const first = problemOf();
  t.mock.timers.tick(2000);
  assert.equal(await first, 'no_answer');
  now = 10_000;
  assert.equal(await problemOf(), 'no_answer', 'at once');
  assert.equal(asked, 1);
  answer();
  await new Promise(setImmediate);
  const next = problemOf();
  answer();
  assert.equal(await next, null);
  assert.equal(asked, 2);
});

test('/readyz says no while the writing thread hangs', async (t) => {
  const lines: string[] = [];
  const log = createLog({ level: 'warn', stream: { write: (line) => void lines.push(line) } });
  const app = await buildApp(t, {}, { writingThread: true, log });
  if (app.runtime.db.engine !== 'sqlite') return t.skip('PostgreSQL has no writing thread');
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const release = () => {
    Atomics.store(gate, 0, 1);
    Atomics.notify(gate, 0);
  };
  t.after(release);
  assert.equal((await app.http.inject('/readyz')).statusCode, 200);
  const hanging = app.runtime.db.write(writes.runAtGate, gate, 'SELECT 1');
  const answer = await until('it is not ready', async () => {
    const answer = await app.http.inject('/readyz');
    return answer.statusCode !== 200 && answer;
  });
  assert.equal(answer.statusCode, 503);
  assert.deepEqual(answer.json(), { status: 'storage unavailable', reason: 'no_answer' });
  assert.match(lines.join(''), /"status":"storage unavailable","reason":"no_answer","msg":"not ready"/);
  release();
  await hanging;
  await until('it is ready again', async () => (await app.http.inject('/readyz')).statusCode === 200);
  assert.equal(lines.filter((line) => /"away_seconds":[\d.]+,"msg":"ready again"/.test(line)).length, 1);
});
