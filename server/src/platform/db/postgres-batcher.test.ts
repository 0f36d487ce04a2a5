import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { until } from '../../../../sdk/test/until.ts';
import { freshDatabase, waitingSessions } from '../../../test/postgres.ts';
import { execute, writeOne } from '../../../test/sql.ts';
import { StorageUnavailable } from './database.ts';
import { openPostgres } from './postgres.ts';
import { StatementBatcher } from './postgres-batcher.ts';
import { nameStatement } from './postgres-statements.ts';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** Heads of so many owners, and another session, to be in the way. */
async function open(t: TestContext, owners: number, withinMs = 30_000) {
  const url = await freshDatabase(t);
  const db = openPostgres({ url, withinMs });
  const other = new pg.Client({ connectionString: url });
  // The database is dropped while it is still connected.
  other.on('error', () => {});
  await other.connect();
  t.after(async () => {
    await other.end();
    await db.close();
  });
  await execute(db, 'CREATE TABLE heads (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)');
  for (const id of numbers(owners)) await execute(db, 'INSERT INTO heads (id, n) VALUES ($1, 0)', [id]);
  const advance = async (id: number, by = 1): Promise<number | undefined> =>
    (
      await writeOne<{ n: number }>(
        db,
        String(id),
        'UPDATE heads SET n = n + 12 / CAST($2 AS BIGINT) WHERE id = $1 RETURNING n',
        [id, by],
      )
    )?.n;
  /** Resolves when somebody waits for the other session, with who. */
  const untilWaiting = (): Promise<number[]> =>
    until('somebody waits', async () => {
      const waiting = await waitingSessions(other);
      return waiting.length > 0 && waiting;
    });
  return { db, other, advance, untilWaiting };
}

describe('groups of statements', () => {
  test('a write that is held up holds up those of its owner, and nobody else’s', async (t) => {
    const { db, other, advance, untilWaiting } = await open(t, 100);
    const { writes } = db.stats();
    await other.query('BEGIN');
    await other.query('SELECT n FROM heads WHERE id = 50 FOR UPDATE');
    const order: string[] = [];
    const first = advance(50).then((n) => order.push(`first ${n}`));
    await untilWaiting();
    const second = advance(50).then((n) => order.push(`second ${n}`));
    const others = numbers(100).filter((id) => id !== 50);
    for (let times = 1; times <= 3; times += 1) {
      const seen = await Promise.all(others.map((id) => advance(id)));
      assert.deepEqual(new Set(seen), new Set([12 * times]));
    }
    assert.deepEqual(order, []);
    await other.query('ROLLBACK');
    await Promise.all([first, second]);
    assert.deepEqual(order, ['first 12', 'second 24']);
    assert.equal(db.stats().writes - writes, 3 * 99 + 2, 'those that ran alone are counted too');
  });

  test('security 40: rows that others keep locked hold up their owners, and nobody else’s group', async (t) => {
    const { other, advance } = await open(t, 200);
    const locked = [3, 50, 51, 52, 120, 121, 122, 123, 124, 125, 126, 199];
    await other.query('BEGIN');
    await other.query('SELECT n FROM heads WHERE id = ANY($1) FOR UPDATE', [locked]);
    const order: string[] = [];
    let others = 0;
    const all: Promise<unknown>[] = [];
    // All of them at once, so that every group has locked ones in it.
    for (let times = 1; times <= 3; times += 1)
      for (const id of numbers(200))
        all.push(
          advance(id).then((n) => {
            if (locked.includes(id)) order.push(`${id} ${n}`);
            else others += 1;
          }),
        );
    await until('all others are done', () => others === 3 * (200 - locked.length));
    assert.equal(order.length, 0, 'while what needs the rows waits');
    assert.equal(await advance(0), 48, 'and a newcomer does not');
    await other.query('ROLLBACK');
    await Promise.all(all);
    for (const id of locked)
      assert.deepEqual(
        order.filter((done) => done.startsWith(`${id} `)),
        [`${id} 12`, `${id} 24`, `${id} 36`],
      );
  });

  test('security 40: transactions that wait for a locked row leave connections to the others', async (t) => {
    const { db, other, advance } = await open(t, 20);
    await other.query('BEGIN');
    await other.query('SELECT n FROM heads WHERE id = 5 FOR UPDATE');
    let waiting = 30;
    const increment = 'UPDATE heads SET n = n + 1 WHERE id = $1';
    const held = numbers(30).map(() => execute(db, increment, [5]).finally(() => (waiting -= 1)));
    assert.equal(await advance(1), 12);
    assert.equal(await execute(db, increment, [2]), 1);
    assert.deepEqual(await db.get('SELECT n FROM heads WHERE id = 5'), { n: 0 });
    assert.equal(waiting, 30);
    await other.query('ROLLBACK');
    await Promise.all(held);
    assert.deepEqual(await db.get('SELECT n FROM heads WHERE id = 5'), { n: 30 });
  });

  test('security 40: what PostgreSQL cancelled while it waited runs again, alone and in a group', async (t) => {
    const { db, other, advance, untilWaiting } = await open(t, 20);
    await other.query('BEGIN');
    await other.query('SELECT n FROM heads WHERE id = 5 FOR UPDATE');
    await other.query('SELECT pg_advisory_lock(7)');
    const writes = [execute(db, 'UPDATE heads SET n = n + 1 WHERE id = 5'), ...numbers(20).map((id) => advance(id))];
    const reads = [db.all('SELECT pg_advisory_xact_lock(7)'), db.get('SELECT pg_advisory_xact_lock(7)')];
    for (let round = 0; round < 5; round += 1) {
      const waiting = await untilWaiting();
      await other.query('SELECT pg_cancel_backend(pid) FROM unnest($1::int[]) AS pid', [waiting]);
    }
    await other.query('ROLLBACK');
    await other.query('SELECT pg_advisory_unlock(7)');
    await Promise.all([...writes, ...reads]);
    assert.deepEqual(await db.all('SELECT DISTINCT n FROM heads WHERE id <> 5'), [{ n: 12 }]);
    assert.deepEqual(await db.get('SELECT n FROM heads WHERE id = 5'), { n: 13 });
  });

  test('security 40: a group has as long as its youngest call, and what is too late is not sent', async () => {
    const sent: [number, number][] = [];
    const batcher = new StatementBatcher({
      maxGroups: 1,
      together: async (until, calls) => {
        sent.push([until, calls.length]);
        return calls.map(() => ({ row: {} }));
      },
      alone: async () => ({ row: {} }),
    });
    const statement = nameStatement('SELECT 1');
    const now = performance.now();
    const add = (ms: number) => batcher.add({ until: now + ms, statement, params: [], owner: '' });
    void add(-1);
    await Promise.all([add(1_000), add(4_000), add(2_000)]);
    assert.deepEqual(sent, [[now + 4_000, 3]]);
  });

  test('security 40: a call that was refused because its time was up leaves nothing behind', async (t) => {
    const url = await freshDatabase(t);
    const db = openPostgres({ url, withinMs: 12_000 });
    const other = new pg.Client({ connectionString: url });
    other.on('error', () => {});
    await other.connect();
    t.after(async () => {
      await other.end();
      await db.close();
    });
    await execute(db, 'CREATE TABLE heads (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)');
    await execute(db, 'INSERT INTO heads (id, n) VALUES (1, 0)');
    const advance = () => writeOne<{ n: number }>(db, '1', 'UPDATE heads SET n = n + 1 WHERE id = 1 RETURNING n');
    await other.query('BEGIN');
    await other.query('SELECT n FROM heads FOR UPDATE');
    const old = advance();
    const refused = assert.rejects(old, StorageUnavailable);
    await delay(6_000);
    const young = advance();
    await refused;
    await other.query('ROLLBACK');
    assert.deepEqual(await young, { n: 1 }, 'only the young one is recorded');
  });

  test('security 40: calls whose time was up while others waited for the same row are not begun', async (t) => {
    const { db, other, advance } = await open(t, 2, 4_000);
    await advance(1);
    const { rows } = await other.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    await other.query('BEGIN');
    await other.query('SELECT n FROM heads WHERE id = 0 FOR UPDATE');
    const calls = await Promise.allSettled(numbers(50).map(() => advance(0)));
    assert.ok(calls.every(({ status }) => status === 'rejected'));
    await other.query('ROLLBACK');
    // Those of the owner run in order, so this one is behind all of them.
    assert.equal(await advance(0), 12, 'none of them was recorded');
    assert.equal(await advance(1), 24);
    const young = `SELECT pid FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'namjai' AND backend_start > $1`;
    const later = new Date(Number(rows[0]?.now) + 3_000);
    assert.deepEqual((await other.query(young, [later])).rows, [], 'no connection was broken and opened again');
    assert.equal((await db.get<{ n: number }>('SELECT n FROM heads WHERE id = 0'))?.n, 12);
  });

  test('security 40: what waited for a connection into the last tenth of its time is not begun', async (t) => {
    const url = await freshDatabase(t);
    const db = openPostgres({ url, withinMs: 2_000, connections: 2 });
    t.after(() => db.close());
    await execute(db, 'CREATE TABLE heads (id BIGINT PRIMARY KEY)');
    const slow = db.all('SELECT pg_sleep(1.9)').catch(() => {});
    const refused = assert.rejects(execute(db, 'INSERT INTO heads (id) VALUES (1)'), StorageUnavailable);
    await Promise.all([slow, refused]);
    assert.deepEqual(await db.all('SELECT id FROM heads'), [], 'nor recorded after its caller was refused');
  });

  test('a read that is held up holds up no other', async (t) => {
    const { db, other, untilWaiting } = await open(t, 1);
    await other.query('SELECT pg_advisory_lock(7)');
    const slow = db.get('SELECT pg_advisory_xact_lock(7)');
    await untilWaiting();
    const reads = numbers(100).map((i) => db.get<{ i: number }>('SELECT CAST($1 AS BIGINT) AS i', [i]));
    assert.deepEqual(
      (await Promise.all(reads)).map((row) => row?.i),
      numbers(100),
    );
    await other.query('SELECT pg_advisory_unlock(7)');
    await slow;
  });

  test('values arrive as they were given, however long, with and without bytes among them', async (t) => {
    const { db } = await open(t, 1);
    const texts = ['', 'a', "o'\\n\n", 'น้ำใจ', '🙏🏽', '\u{10FFFF}', 'ก'.repeat(700_000), '0'.repeat(5_000), null];
    const integers = [0, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, null];
    const allBytes = Uint8Array.from(numbers(256));
    const bytes = [new Uint8Array(0), allBytes.subarray(7, 9), null, allBytes, new Uint8Array(100_000).fill(255)];
    const plainSql = 'SELECT CAST($1 AS TEXT) AS text, CAST($2 AS BIGINT) AS "integer"';
    const mixed = numbers(90).map((i) => ({
      text: texts[i % texts.length]!,
      integer: integers[i % integers.length]!,
      bytes: bytes[i % bytes.length]!,
    }));
    const rows = await Promise.all(
      mixed.flatMap((value) => [
        db.get(`${plainSql}, CAST($3 AS BYTEA) AS bytes`, [value.text, value.integer, value.bytes]),
        db.get(plainSql, [value.text, value.integer]),
      ]),
    );
    const expected = mixed.flatMap(({ text, integer, bytes: given }) => [
      { text, integer, bytes: given && Buffer.from(given) },
      { text, integer },
    ]);
    assert.deepEqual(rows, expected);
  });

  test('only those that fail are refused, wherever they stand and however many they are', async (t) => {
    const { db, advance } = await open(t, 40);
    for (const bad of [[0], [39], [3, 4, 20], numbers(40)]) {
      const before = await db.all<{ id: number; n: number }>('SELECT id, n FROM heads ORDER BY id');
      const done = await Promise.allSettled(numbers(40).map((id) => advance(id, bad.includes(id) ? 0 : 1)));
      const expected = before.map(({ id, n }) => (bad.includes(id) ? 'rejected' : n + 12));
      assert.deepEqual(
        done.map((result) => (result.status === 'fulfilled' ? result.value : result.status)),
        expected,
      );
      const after = await db.all<{ n: number }>('SELECT n FROM heads ORDER BY id');
      assert.deepEqual(
        after.map(({ n }) => n),
        before.map(({ id, n }) => (bad.includes(id) ? n : n + 12)),
      );
    }
  });
});
