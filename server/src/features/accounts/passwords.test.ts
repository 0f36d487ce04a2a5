import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import * as argon2 from '@node-rs/argon2';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';
import { createVisitor } from '../../../test/visitor.ts';
import { systemWait } from '../../platform/clock.ts';
import { createPasswords } from './passwords.ts';

/** Where only the order counts, a hash need not take its time. */
const quick = {
  ...argon2,
  hash: (password: string | Uint8Array) => argon2.hash(password, { memoryCost: 8, timeCost: 1 }),
};

const forms: Record<string, Record<string, string>> = {
  '/login': { username: 'nobody_%', password: 'wrong password' },
  '/login/recovery': { username: 'nobody_%', code: 'aaaa-bbbb-cccc-dddd', password: 'a new password' },
  '/signup': { username: 'newcomer_%', password: 'a new password' },
};

for (const [path, form] of Object.entries(forms))
  test(`security 37: three hundred posts of ${path} at once keep no fresh token waiting`, async (t) => {
    const app = await buildApp(t);
    const pair = await makePair(app.runtime);
    const post = await poster(app, path, form);
    const statuses: number[] = [];
    const attack = Array.from({ length: 300 }, async (_, n) => {
      const answer = await post(n);
      statuses.push(answer.statusCode);
      if (answer.statusCode !== 429) return;
      assert.match(String(answer.headers['retry-after']), /^\d+$/);
      assert.match(String(answer.headers['content-type']), /^text\/html/);
    });
    // All of them have asked by the time the first hash is made.
    await Promise.race(attack);
    const { headers } = await makePair(app.runtime, { creator: pair, app: pair });
    const release = holdThreadPool(app.directory);
    try {
      let status: number | undefined;
      void app.http.inject({ url: '/v1/me', headers }).then(({ statusCode }) => (status = statusCode));
      assert.equal(await until('the token is verified although no hash is made', () => status), 200);
    } finally {
      await release();
    }
    await Promise.all(attack);
    assert.deepEqual([...new Set(statuses)].sort(), path === '/signup' ? [303, 429] : [401, 429]);
    assert.ok(hashed(statuses) >= 20 && hashed(statuses) < 150, `${hashed(statuses)} of 300 were let through`);
  });

/** Takes all threads that make hashes, until the function it returns is called: each opens a pipe that nobody writes to. */
function holdThreadPool(directory: string): () => Promise<void> {
  const pipe = join(directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const threads = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
  const readers = Array.from({ length: threads }, () => open(pipe, 'r'));
  return async () => {
    const writer = openSync(pipe, 'r+');
    for (const reader of await Promise.all(readers)) await reader.close();
    closeSync(writer);
  };
}

const hashed = (statuses: readonly number[]): number => statuses.filter((status) => status !== 429).length;

/** Posts the form from one of fifty addresses. */
async function poster(app: TestApp, path: string, form: Record<string, string>) {
  const visitors = await Promise.all(
    Array.from({ length: 50 }, async (_, n) => {
      const visitor = createVisitor(app, { address: `192.0.2.${n + 1}` });
      await visitor.get(path);
      return visitor;
    }),
  );
  return async (n: number) => {
    const fields = Object.entries(form).map(([name, value]) => [name, value.replace('%', String(n))]);
    const visitor = visitors[n % visitors.length];
    assert.ok(visitor);
    return visitor.post(path, Object.fromEntries(fields));
  };
}

test('security 37: an owner signs in while fifty addresses guess passwords as fast as they can', async (t) => {
  const app = await buildApp(t);
  const password = 'correct horse battery';
  await app.runtime.accounts.add({ username: 'mali', password });
  const owner = createVisitor(app, { address: '198.51.100.7' });
  await owner.get('/login');
  const post = await poster(app, '/login', forms['/login'] ?? {});
  const statuses: number[] = [];
  let attacking = true;
  // Four guesses of each address at a time, up to its limit.
  const attack = Array.from({ length: 200 }, async (_, n) => {
    for (let round = 0; attacking && round < 25; round++) statuses.push((await post(n + 200 * round)).statusCode);
  });
  try {
    await until('the queue of hashes is full', () => statuses.includes(429));
    const answer = await owner.post('/login', { username: 'mali', password });
    assert.equal(answer.statusCode, 303);
  } finally {
    attacking = false;
    await Promise.all(attack);
  }
});

test('security 37: before an address’s turn at most one hash of each other address is begun', async () => {
  const begun: string[] = [];
  const passwords = createPasswords(
    { wait: systemWait },
    {
      ...quick,
      verify(stored, password) {
        begun.push(String(password));
        return argon2.verify(stored, password);
      },
    },
  );
  const known = await passwords.hash('operator', 'correct horse battery');
  const others = 50;
  let [verified, refused, attacking] = [0, 0, true];
  // Four guesses of each address at a time, each followed by another: twice as many as may wait.
  const attack = Array.from({ length: 4 * others }, async (_, n) => {
    while (attacking) {
      await passwords.verify(`192.0.2.${n % others}`, undefined, 'wrong').then(
        () => (verified += 1),
        () => (refused += 1),
      );
      await nextIteration();
    }
  });
  try {
    await until('the queue of hashes is full', () => refused > 0 && verified > 0);
    const before = begun.length;
    assert.ok(await passwords.verify('198.51.100.7', known, 'correct horse battery'));
    const ahead = begun.indexOf('correct horse battery') - before;
    assert.ok(ahead <= others, `${ahead} guesses were begun before the owner's password`);
  } finally {
    attacking = false;
    await Promise.all(attack);
  }
});

test('security 37: who is refused hears of it half a second later or more, not all at once', async () => {
  const waits: number[] = [];
  const passwords = createPasswords({ wait: async (ms) => void waits.push(ms) }, quick);
  const asked = Array.from({ length: 150 }, () => passwords.verify('192.0.2.1', undefined, 'wrong'));
  const refused = (await Promise.allSettled(asked)).filter(({ status }) => status === 'rejected');
  const running = availableParallelism() > 2 ? 2 : 1;
  assert.equal(refused.length, 50 - running);
  assert.equal(waits.length, refused.length);
  assert.ok(Math.min(...waits) >= 500 && Math.max(...waits) <= 1_500, waits.join(' '));
  assert.ok(new Set(waits).size > 1);
});
