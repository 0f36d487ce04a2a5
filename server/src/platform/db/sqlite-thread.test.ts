/** What the writing thread promises beyond the port (conformance.ts): turns, ends, and what the loop knows of it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';
import { addThing, endThread, fail, insert, unknown } from '../../../test/thing-procedures.ts';
import { type Database, StorageUnavailable } from './database.ts';
import { migrate } from './migrate.ts';
import { countChanges, createTableVersions } from './migrations/0008-table-versions.ts';
import { openSqlite, type SqliteOptions } from './sqlite.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { WriterThread } from './sqlite-thread.ts';
import { Turns } from './sqlite-turns.ts';

const sql = `CREATE TABLE things (n {int}){options};\n${createTableVersions}${countChanges('things')}`;

async function open(t: TestContext, options: Partial<SqliteOptions> = {}): Promise<Database & { file: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'namjai-thread-'));
  const file = join(directory, 'test.db');
  const db = openSqlite({ file, ...options });
  t.after(async () => {
    await db.close();
    rmSync(directory, { recursive: true });
  });
  await migrate(db, { migrations: [{ name: 'things', sql }] });
  return { ...db, file };
}

const count = async (db: Database) => (await db.get<{ n: number }>('SELECT COUNT(*) AS n FROM things'))?.n;

test('procedures run on a thread of their own, writes on this one', async (t) => {
  const db = await open(t);
  assert.notEqual(await db.call(addThing, 1), threadId);
  assert.equal(
    await db.write(async (tx) => {
      await tx.run(insert, [2]);
      return threadId;
    }),
    threadId,
  );
  assert.equal(await count(db), 2);
});

test('calls and writes at the same time never find the database locked by each other', async (t) => {
  // Whoever found it locked would be refused: nobody has this long.
  const db = await open(t, { waitMs: 0 });
  for (let round = 0; round < 10; round++)
    await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        if (i % 3 === 0) await delay(i / 20);
        await (i % 2 === 0 ? db.call(addThing, i) : db.write((tx) => tx.run(insert, [i])));
      }),
    );
  assert.equal(await count(db), 600);
});

test('writes get their turn while calls keep coming, and calls while writes do', async (t) => {
  const db = await open(t);
  let going = true;
  const keepOn = async (write: () => Promise<unknown>): Promise<void> => {
    while (going) await write();
  };
  const calls = Array.from({ length: 20 }, () => keepOn(() => db.call(addThing, 1)));
  await delay(50);
  for (let i = 0; i < 5; i++) await db.write((tx) => tx.run(insert, [2]));
  const writes = Array.from({ length: 20 }, () => keepOn(() => db.write((tx) => tx.run(insert, [3]))));
  for (let i = 0; i < 5; i++) await db.call(addThing, 4);
  going = false;
  await Promise.all([...calls, ...writes]);
});

test('one that fails takes nothing of the others with it, and says why', async (t) => {
  const db = await open(t);
  const results = await Promise.allSettled(
    Array.from({ length: 40 }, (_, i) => (i % 4 === 0 ? db.call(fail, `no ${i}`) : db.call(addThing, i))),
  );
  for (const [i, result] of results.entries()) {
    assert.equal(result.status, i % 4 === 0 ? 'rejected' : 'fulfilled');
    if (result.status === 'rejected') assert.equal(result.reason.message, `no ${i}`);
  }
  assert.equal(await count(db), 30);
});

test('what is no plain data is refused, and the next call is not', async (t) => {
  const db = await open(t);
  await assert.rejects(db.call(addThing, (() => 1) as never), { name: 'DataCloneError' });
  await db.call(addThing, 1);
});

test('a thread that ends is told to who waits, and the next call has a new one', async (t) => {
  const db = await open(t);
  const [dead, ...others] = await Promise.allSettled([
    db.call(endThread, undefined),
    ...Array.from({ length: 20 }, (_, i) => db.call(addThing, i)),
  ]);
  assert.ok(dead.status === 'rejected' && dead.reason instanceof StorageUnavailable);
  const recorded = others.filter(({ status }) => status === 'fulfilled').length;
  await db.call(addThing, 1);
  await db.write((tx) => tx.run(insert, [1]));
  assert.equal(await count(db), recorded + 2);
});

test('one that cannot be found takes nothing of the others with it', async (t) => {
  const db = await open(t);
  const results = await Promise.allSettled([db.call(addThing, 1), db.call(unknown, 2), db.call(addThing, 3)]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.equal(await count(db), 2);
});

test('where no thread can be started calls are refused, and all goes on when one can', async () => {
  const turns = new Turns();
  const thread = new WriterThread({
    file: 'none',
    waitMs: 0,
    turns,
    onCommit() {},
    onLocked() {},
    startThread() {
      throw new Error('EAGAIN');
    },
  });
  for (let i = 0; i < 2; i++) await assert.rejects(thread.call(addThing, 1), StorageUnavailable);
  await new Promise<void>((resolve) => turns.take(async () => resolve()));
  await thread.stop();
});

/** Takes the write lock, as another process would; gives back how to let go of it. */
function lock(t: TestContext, file: string): () => void {
  const other = new SqliteConnection(file, { mayWrite: true });
  t.after(() => other.close());
  other.run('BEGIN IMMEDIATE');
  return () => other.run('ROLLBACK');
}

test('a thread that starts while the database is locked waits as long as its calls may, and is then told', async (t) => {
  const db = await open(t, { waitMs: 1_000 });
  const unlock = lock(t, db.file);
  const started = performance.now();
  await assert.rejects(db.call(addThing, 1), StorageUnavailable);
  assert.ok(performance.now() - started < 4_000);
  const waiting = db.call(addThing, 2);
  await nextTurn();
  unlock();
  await waiting;
  assert.equal(await count(db), 1);
});

test('a write is not kept waiting by a later call that waits for another process', async (t) => {
  const db = await open(t, { waitMs: 400 });
  await db.call(addThing, 1);
  const unlock = lock(t, db.file);
  const refused: string[] = [];
  const write = db.write((tx) => tx.run(insert, [2])).catch(() => refused.push('write'));
  await delay(200);
  const call = db.call(addThing, 3).catch(() => refused.push('call'));
  await Promise.all([write, call]);
  assert.deepEqual(refused, ['write', 'call']);
  unlock();
  await db.write((tx) => tx.run(insert, [4]));
  assert.equal(await count(db), 2);
});

test('a call has moved the version of what it wrote before it is answered', async (t) => {
  const db = await open(t);
  for (let i = 0; i < 20; i++) {
    const before = db.version(['things']);
    let answered = false;
    const call = db.call(addThing, 1).then(() => {
      answered = true;
      assert.notEqual(db.version(['things']), before);
    });
    // So it was asked in the very turn in which the answer comes.
    while (!answered) {
      await nextTurn();
      db.version(['things']);
    }
    await call;
  }
});

test('its commits are not taken for those of another process, and those are noticed', async (t) => {
  const db = await open(t, { pollMs: 5 });
  const other = openSqlite({ file: db.file });
  t.after(() => other.close());
  let heard = 0;
  const stop = db.onExternalChange?.(() => {
    heard += 1;
  });
  const hear = async (): Promise<void> => {
    const until = performance.now() + 2_000;
    while (heard === 0 && performance.now() < until) await delay(5);
    assert.ok(heard > 0);
    heard = 0;
  };
  // The first time it is asked it cannot know.
  await db.call(addThing, 1);
  await hear();
  for (let i = 0; i < 20; i++) {
    await db.call(addThing, i);
    await delay(2);
  }
  assert.equal(heard, 0);
  await other.write((tx) => tx.run(insert, [7]));
  await hear();
  stop?.();
});

test('what another process has changed just before the thread began is noticed', async (t) => {
  const db = await open(t, { pollMs: 300 });
  const other = openSqlite({ file: db.file });
  t.after(() => other.close());
  const { promise: noticed, resolve } = Promise.withResolvers<void>();
  const stop = db.onExternalChange?.(resolve);
  await other.write((tx) => tx.run(insert, [7]));
  await db.call(addThing, 1);
  await Promise.race([noticed, delay(3_000, undefined, { ref: false }).then(() => assert.fail('not noticed'))]);
  stop?.();
});

test('keeps a process alive until its calls are answered, and no longer', async (t) => {
  const { file } = await open(t);
  const program = `
    import { openSqlite } from ${JSON.stringify(new URL('./sqlite.ts', import.meta.url).href)};
    const db = openSqlite({ file: ${JSON.stringify(file)} });
    const addThing = { module: ${JSON.stringify(addThing.module)}, name: 'addThing' };
    db.call(addThing, 5).then(() => console.log('answered'));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { timeout: 10_000 });
  let printed = '';
  child.stdout.on('data', (text) => {
    printed += text;
  });
  const [code] = await once(child, 'close');
  assert.equal(code, 0);
  assert.equal(printed, 'answered\n');
});
