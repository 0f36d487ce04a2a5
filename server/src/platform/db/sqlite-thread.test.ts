/** What the writing thread promises beyond the port (server/test/conformance). */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay, setImmediate as nextIteration } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';
import { until } from '../../../../sdk/test/until.ts';
import { addUntilRefused, execute, writes } from '../../../test/sql.ts';
import { startStopwatch } from '../../../test/stopwatch.ts';
import { CommitStats } from './commit-stats.ts';
import { type Database, StorageUnavailable } from './database.ts';
import { migrate } from './migrate.ts';
import { countChanges, createTableVersions } from './migrations/0008-table-versions.ts';
import { openSqlite, type SqliteOptions } from './sqlite.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { groupSize, WritingThread } from './sqlite-thread.ts';

const sql = `CREATE TABLE things (n {int}){options};\n${createTableVersions}${countChanges('things')}`;
const insert = 'INSERT INTO things (n) VALUES ($1)';

async function open(t: TestContext, options: Partial<SqliteOptions> = {}): Promise<Database & { file: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'namjai-thread-'));
  const file = join(directory, 'test.db');
  const patient = openSqlite({ file });
  await migrate(patient, { migrations: [{ name: 'things', sql }] });
  await patient.close();
  const db = openSqlite({ file, thread: true, ...options });
  t.after(async () => {
    await db.close();
    rmSync(directory, { recursive: true });
  });
  await untilAnswers(db);
  return { ...db, file };
}

/** On a busy machine the thread takes longer to start than a write of some tests may. */
const untilAnswers = (db: Database): Promise<boolean> =>
  until('the thread answers', () =>
    db.ping().then(
      () => true,
      () => false,
    ),
  );

/** The thread waits at it until it is released. */
function makeGate(t: TestContext) {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const release = () => {
    Atomics.store(gate, 0, 1);
    Atomics.notify(gate, 0);
  };
  t.after(release);
  return { gate, release };
}

const add = (db: Database, n: number): Promise<number> => execute(db, insert, [n]);
const count = async (db: Database) => (await db.get<{ n: number }>('SELECT COUNT(*) AS n FROM things'))?.n;

test('writes run on a thread of their own, and on this one where none is wanted', async (t) => {
  const db = await open(t);
  assert.notEqual(await db.write(writes.runTellingThread, insert, [1]), threadId);
  const here = await open(t, { thread: false });
  assert.equal(await here.write(writes.runTellingThread, insert, [1]), threadId);
});

test('a group is answered while the answers of the next one, in the same commit, are completed', async (t) => {
  const db = await open(t);
  const { gate: begin, release: releaseBegin } = makeGate(t);
  const { gate: complete, release: releaseComplete } = makeGate(t);
  const before = db.write(writes.runAtGate, begin, insert, [0]);
  await nextIteration();
  const group = Array.from({ length: groupSize }, (_, n) => add(db, n));
  const next = db.write(writes.runThenWaitAtGate, complete, insert, [groupSize]);
  await nextIteration();
  releaseBegin();
  await before;
  assert.deepEqual(await Promise.all(group), Array(groupSize).fill(1));
  releaseComplete();
  assert.equal(await next, 1);
});

for (const thread of [true, false])
  test(`slow writes are answered one commit after another, not all at the end${thread ? '' : ', on the event loop too'}`, async (t) => {
    const { gate, release } = makeGate(t);
    const db = await open(t, { thread, withinMs: 60_000 });
    // Each takes some milliseconds, and a batch ends after ten.
    const slow = `WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20000)
      INSERT INTO things (n) SELECT COUNT(*) FROM c`;
    const all = Array.from({ length: 40 }, () => execute(db, slow));
    // The thread goes on while this test waits for a core, so its last write waits for the test.
    const last = thread ? db.write(writes.runAtGate, gate, slow) : execute(db, slow);
    await all[0];
    assert.ok(Number(await count(db)) < 41, 'the first is answered before the last is recorded');
    release();
    await Promise.all([...all, last]);
    assert.equal(await count(db), 41);
  });

test('a write that fails takes nothing of the others with it, and says why', async (t) => {
  const db = await open(t);
  const results = await Promise.allSettled(
    Array.from({ length: 40 }, (_, i) =>
      i % 4 === 0 ? db.write(writes.runThenFail, `no ${i}`, insert, [i]) : add(db, i),
    ),
  );
  for (const [i, result] of results.entries()) {
    assert.equal(result.status, i % 4 === 0 ? 'rejected' : 'fulfilled');
    if (result.status === 'rejected') assert.equal(result.reason.message, `no ${i}`);
  }
  assert.equal(await count(db), 30);
});

for (const thread of [true, false])
  test(`an argument that is no plain data is refused, and those beside it are not${thread ? '' : ', on the event loop too'}`, async (t) => {
    const db = await open(t, { thread });
    const before = add(db, 1);
    const refused = assert.rejects(db.write(writes.run, insert, (() => 1) as never), { name: 'DataCloneError' });
    const after = add(db, 2);
    await Promise.all([before, refused, after]);
    assert.equal(await count(db), 2);
  });

for (const thread of [true, false])
  test(`a result that is no plain data is refused, and those beside it are answered${thread ? '' : ', on the event loop too'}`, async (t) => {
    const db = await open(t, { thread });
    const before = add(db, 1);
    const refused = assert.rejects(db.write(writes.runReturningFunction, insert, [2]), /could not be cloned/);
    const after = add(db, 3);
    assert.deepEqual(await Promise.all([before, after]), [1, 1]);
    await refused;
    assert.equal(await count(db), 3);
  });

test('a thread that ends refuses its writes, and the next write has a new one', async (t) => {
  const db = await open(t);
  const [dead, ...others] = await Promise.allSettled([
    db.write(writes.endThread),
    ...Array.from({ length: 20 }, (_, i) => add(db, i)),
  ]);
  assert.ok(dead?.status === 'rejected' && dead.reason instanceof StorageUnavailable);
  const recorded = others.filter(({ status }) => status === 'fulfilled').length;
  await add(db, 1);
  assert.equal(await count(db), recorded + 1);
});

test('a write that cannot be found takes nothing of the others with it, and says what is missing', async (t) => {
  const db = await open(t);
  const unknown = { ...writes.run, name: 'nowhere' };
  const results = await Promise.allSettled([add(db, 1), db.write(unknown, insert, [2]), add(db, 3)]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.match(String(results[1]?.status === 'rejected' && results[1].reason), /no write named nowhere/);
  assert.equal(await count(db), 2);
});

test('where no thread can be started writes are refused', async () => {
  const thread = new WritingThread(
    { file: 'none', waitMs: 0, withinMs: 5_000, statsMemory: new CommitStats().memory },
    () => {},
    () => {
      throw new Error('EAGAIN');
    },
  );
  for (let i = 0; i < 2; i++) await assert.rejects(thread.write(writes.run, [insert, [1]]), StorageUnavailable);
  assert.equal(await thread.changedByOthers(), true);
  await thread.close();
});

/** Takes the write lock, as another process would; returns a function that releases it. */
function lock(t: TestContext, file: string): () => void {
  const other = new SqliteConnection(file, { mayWrite: true });
  t.after(() => other.close());
  other.run('BEGIN IMMEDIATE');
  return () => other.run('ROLLBACK');
}

test('a thread that starts while the database is locked waits as long as its callers may', async (t) => {
  const db = await open(t, { waitMs: 1_000 });
  await assert.rejects(db.write(writes.endThread), StorageUnavailable);
  const unlock = lock(t, db.file);
  const stopwatch = startStopwatch();
  await assert.rejects(add(db, 1), StorageUnavailable);
  assert.ok(stopwatch() < 4_000);
  const waiting = add(db, 2);
  await nextIteration();
  unlock();
  await waiting;
  assert.equal(await count(db), 1);
});

test('each write waits for another process as long as it may by itself, whoever came with it', async (t) => {
  const db = await open(t, { waitMs: 1_500 });
  const unlock = lock(t, db.file);
  const outcomes = await addUntilRefused(() => add(db, 1));
  unlock();
  const recorded = (await Promise.all(outcomes)).filter(Boolean).length;
  assert.equal(await outcomes.at(-1), true, 'the last one could still wait');
  assert.equal(await count(db), recorded);
});

test('a write has moved the version of its tables before it is answered', async (t) => {
  const db = await open(t);
  for (let i = 0; i < 20; i++) {
    const before = db.version(['things']);
    let answered = false;
    const write = add(db, 1).then(() => {
      answered = true;
      assert.notEqual(db.version(['things']), before);
    });
    // So the version was asked for in the very iteration in which the answer comes.
    while (!answered) {
      await nextIteration(undefined, { signal: t.signal });
      db.version(['things']);
    }
    await write;
  }
});

test('its commits are not taken for those of another process, and those are noticed', async (t) => {
  const pollMs = 5;
  const db = await open(t, { pollMs });
  const other = openSqlite({ file: db.file });
  t.after(() => other.close());
  let heard = 0;
  const stop = db.onExternalChange?.(() => (heard += 1));
  // The thread cannot know what happened before its first question.
  await until('the first question is answered', () => heard === 1);
  for (let i = 0; i < 20; i++) {
    await add(db, i);
    // A timer that is set later and runs as long ends later: the thread is asked, and answers before the next write.
    await delay(pollMs);
  }
  await add(db, 20);
  assert.equal(heard, 1);
  await add(other, 7);
  await until('the other process is noticed', () => heard === 2);
  stop?.();
});

test('keeps a process alive until its writes are answered, and no longer', async (t) => {
  const { file } = await open(t);
  const program = `
    import { openSqlite } from ${JSON.stringify(new URL('./sqlite.ts', import.meta.url).href)};
    const db = openSqlite({ file: ${JSON.stringify(file)}, thread: true });
    const run = { module: ${JSON.stringify(writes.run.module)}, name: 'run' };
    db.write(run, ${JSON.stringify(insert)}, [5]).then(() => console.log('answered'));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { timeout: 300_000 });
  let printed = '';
  child.stdout.on('data', (text) => {
    printed += text;
  });
  const [code] = await once(child, 'close');
  assert.equal(code, 0);
  assert.equal(printed, 'answered\n');
});

test('under `node --watch`, which has threads report what they import, writes are answered', async (t) => {
  process.env.WATCH_REPORT_DEPENDENCIES = '1';
  t.after(() => delete process.env.WATCH_REPORT_DEPENDENCIES);
  const db = await open(t);
  assert.equal(await add(db, 1), 1);
});

test('a thread that hangs refuses what waits for it within the time, and works again once it goes on', async (t) => {
  const db = await open(t, { withinMs: 3_000 });
  const { gate, release } = makeGate(t);
  const begun = performance.now();
  const hanging = db.write(writes.runAtGate, gate, insert, [1]);
  const behind = add(db, 2);
  await assert.rejects(hanging, StorageUnavailable);
  await assert.rejects(behind, StorageUnavailable);
  const waited = performance.now() - begun;
  assert.ok(waited >= 2_500, `refused after ${waited} ms`);
  await assert.rejects(add(db, 3), StorageUnavailable, 'a write that comes while it hangs');
  await assert.rejects(db.ping(), StorageUnavailable);
  assert.equal(await count(db), 0, 'reads go on');

  const late = add(db, 4).catch(() => {});
  release();
  await late;
  await untilAnswers(db);
  // On a busy machine the one that was sent at the release may have been refused; whether it is recorded is open then.
  await until('a write succeeds', () =>
    add(db, 4).then(
      () => true,
      () => false,
    ),
  );
  const rows = await db.all<{ n: number }>('SELECT n FROM things ORDER BY n');
  assert.deepEqual(
    [...new Set(rows.map(({ n }) => n))],
    [1, 4],
    'what the thread was at is recorded, what was refused while it waited is not',
  );
});

test('what waits for a late thread is sent in groups, each answered as soon as it is recorded', async (t) => {
  const db = await open(t, { withinMs: 2_000 });
  const { gate: begin, release: releaseBegin } = makeGate(t);
  const { gate: complete, release: releaseComplete } = makeGate(t);
  await assert.rejects(db.write(writes.runAtGate, begin, insert, [0]), StorageUnavailable);
  const group = Array.from({ length: groupSize }, (_, n) => add(db, n));
  const next = db.write(writes.runThenWaitAtGate, complete, insert, [groupSize]);
  await nextIteration();
  releaseBegin();
  assert.deepEqual(await Promise.all(group), Array(groupSize).fill(1));
  releaseComplete();
  assert.equal(await next, 1);
});

test('a thread that hangs does not keep the database from closing', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'namjai-thread-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const db = openSqlite({ file: join(directory, 'test.db'), thread: true, withinMs: 2_000 });
  await untilAnswers(db);
  // Loads the module of the writes.
  await db.write(writes.run, 'SELECT 1');
  const gate = new Int32Array(new SharedArrayBuffer(4));
  await assert.rejects(db.write(writes.runAtGate, gate, 'SELECT 1'), StorageUnavailable);
  await assert.rejects(db.close(), StorageUnavailable);
});
