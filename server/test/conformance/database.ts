/** What every implementation of the database port must do. Each runs the same suite on the real engine. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { isMainThread } from 'node:worker_threads';
import { type Database, defineWrites, type Tx, UniqueViolation, type Value } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { execute, executeAll, inThisThread, writes as sqlWrites } from '../sql.ts';

const schema = `
CREATE TABLE notes (
  id {id} PRIMARY KEY,
  body {text},
  amount {int},
  content {bytes}
){options};
CREATE TABLE counters (
  id {id} PRIMARY KEY,
  n {int} NOT NULL,
  winner {int}
){options};
`;

/** `open` returns an empty database and closes it after the test. `thread`: its writes run on a thread of their own. */
export function databaseConformance(
  name: string,
  open: (t: TestContext) => Promise<Database>,
  { thread = false } = {},
): void {
  describe(`${name} as a Database`, () => {
    const check = (behaviour: string, body: (db: Database) => Promise<void>): void => {
      test(behaviour, async (t) => {
        const db = await open(t);
        await migrate(db, { migrations: [{ name: 'conformance', sql: schema }] });
        await body(db);
      });
    };
    atomicity(check);
    completion(check, thread ? 'the writing thread' : 'the event loop');
    visibility(check);
    races(check);
    values(check);
    life(check);
    if (!thread) inOneThread(check);
  });
}

type Check = (behaviour: string, body: (db: Database) => Promise<void>) => void;

const insert = 'INSERT INTO notes (id, body, amount, content) VALUES ($1, $2, $3, $4)';
const note = (id: string): Value[] => [id, 'text', 1, null];
const increment = 'UPDATE counters SET n = n + 1 WHERE id = $1 RETURNING n';

async function ids(db: Database): Promise<string[]> {
  return (await db.all<{ id: string }>('SELECT id FROM notes ORDER BY id')).map(({ id }) => id);
}

/** Adds notes and returns how many there are. */
async function addNotes(tx: Tx, ...names: string[]): Promise<number> {
  for (const name of names) await tx.run(insert, note(name));
  return (await tx.all('SELECT id FROM notes')).length;
}

/** Catches the errors of failed statements. */
async function addNotesRegardless(tx: Tx, ...names: string[]): Promise<void> {
  for (const name of names) await tx.run(insert, note(name)).catch(() => {});
}

/** Fails while its statements are under way. */
async function failAhead(tx: Tx, ...names: string[]): Promise<void> {
  for (const name of names) tx.run(insert, note(name)).catch(() => {});
  throw new Error('changed my mind');
}

/** On PostgreSQL one statement, which fails like the function where the note is there. */
async function addNote(tx: Tx, name: string): Promise<string> {
  await tx.run(insert, note(name));
  return name;
}

/** On PostgreSQL one statement; the function runs where that returns no row. */
async function addNoteOnce(tx: Tx, name: string): Promise<string> {
  const added = await tx.run(`${insert} ON CONFLICT (id) DO NOTHING`, note(name));
  return added === 1 ? 'added' : 'there before';
}

async function numberOfRows(tx: Tx): Promise<number[]> {
  await tx.run(insert, note('a'));
  return [
    await tx.run(insert, note('b')),
    await tx.run('UPDATE notes SET amount = 5'),
    await tx.run('DELETE FROM notes WHERE id = $1', ['c']),
    await tx.run(`${insert} ON CONFLICT (id) DO NOTHING`, note('a')),
  ];
}

const completed = Object.assign(async (tx: Tx, name: string) => addNote(tx, name), {
  complete(answer: string, name: string): string {
    if (name === 'cannot be completed') throw new Error(name);
    return `${answer}, completed on ${isMainThread ? 'the event loop' : 'the writing thread'}`;
  },
});

/** @public The writing thread imports it. */
export const writes = defineWrites(
  import.meta.url,
  {
    addNotes,
    addNotesRegardless,
    failAhead,
    addNote,
    addNoteOnce,
    numberOfRows,
    completed,
    completedStatement: Object.assign(async (tx: Tx, name: string) => addNote(tx, name), completed),
  },
  {
    addNote: {
      statement: (name) => ({ owner: name, sql: `${insert} RETURNING id`, params: note(name) }),
      answer: ({ id }: { id: string }) => id,
    },
    completedStatement: {
      statement: (name) => ({ owner: name, sql: `${insert} RETURNING id`, params: note(name) }),
      answer: ({ id }: { id: string }) => id,
    },
    addNoteOnce: {
      statement: (name) => ({
        owner: name,
        sql: `${insert} ON CONFLICT (id) DO NOTHING RETURNING id`,
        params: note(name),
      }),
      answer: () => 'added',
    },
  },
);

function completion(check: Check, where: string): void {
  check('completes an answer where the write ran, after its commit', async (db) => {
    assert.equal(await db.write(writes.completed, 'a'), `a, completed on ${where}`);
    assert.equal(await db.write(writes.completedStatement, 'b'), `b, completed on ${where}`);
    await assert.rejects(db.write(writes.completed, 'cannot be completed'), { message: 'cannot be completed' });
    assert.deepEqual(await ids(db), ['a', 'b', 'cannot be completed']);
  });
}

function atomicity(check: Check): void {
  check('records all statements of a write, with its answer', async (db) => {
    assert.equal(await db.write(writes.addNotes, 'a', 'b'), 2);
    assert.deepEqual(await ids(db), ['a', 'b']);
  });

  check('records nothing of a write whose function throws, and passes its message on', async (db) => {
    const write = db.write(sqlWrites.runThenFail, 'changed my mind', insert, note('a'));
    await assert.rejects(write, { message: 'changed my mind' });
    assert.deepEqual(await ids(db), []);
  });

  check('keeps a failing write from harming those that run beside it', async (db) => {
    const results = await Promise.allSettled(
      Array.from({ length: 30 }, (_, i) =>
        i % 3 === 0 ? db.write(sqlWrites.runThenFail, 'no', insert, note(`n${i}`)) : execute(db, insert, note(`n${i}`)),
      ),
    );
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 20);
    assert.equal((await ids(db)).length, 20);
  });

  check('rejects with UniqueViolation when a key is taken', async (db) => {
    await execute(db, insert, note('a'));
    await assert.rejects(executeAll(db, [insert, note('b')], [insert, note('a')]), UniqueViolation);
    assert.deepEqual(await ids(db), ['a']);
  });

  check('writes by one statement where there is one, and by the function where that returns no row', async (db) => {
    assert.equal(await db.write(writes.addNoteOnce, 'a'), 'added');
    assert.equal(await db.write(writes.addNoteOnce, 'a'), 'there before');
    const names = Array.from({ length: 40 }, (_, i) => `n${i % 20}`);
    const answers = await Promise.all(names.map((name) => db.write(writes.addNoteOnce, name)));
    assert.equal(answers.filter((answer) => answer === 'added').length, 20);
    assert.equal((await ids(db)).length, 21);
  });

  check('rejects with UniqueViolation by one statement too, and harms nothing beside it', async (db) => {
    assert.equal(await db.write(writes.addNote, 'a'), 'a');
    const results = await Promise.allSettled(['b', 'a', 'c'].map((name) => db.write(writes.addNote, name)));
    assert.ok(results[1]?.status === 'rejected' && results[1].reason instanceof UniqueViolation);
    assert.deepEqual(await ids(db), ['a', 'b', 'c']);
  });

  check('dooms a write by its failed statement even if the function goes on', async (db) => {
    await execute(db, insert, note('a'));
    await assert.rejects(db.write(writes.addNotesRegardless, 'a', 'b'), UniqueViolation);
    assert.deepEqual(await ids(db), ['a']);
  });

  check('records none of the statements that a failed function did not wait for', async (db) => {
    for (const round of ['a', 'b', 'c']) {
      const names = [1, 2, 3].map((n) => `${round}${n}`);
      await assert.rejects(db.write(writes.failAhead, ...names), { message: 'changed my mind' });
      await execute(db, insert, note(round));
    }
    assert.deepEqual(await ids(db), ['a', 'b', 'c']);
  });

  check('passes on the error of a statement that is wrong, and goes on', async (db) => {
    await assert.rejects(db.all('SELECT id FROM nowhere'), { message: /nowhere/ });
    await assert.rejects(execute(db, 'UPDATE nowhere SET n = 1'), { message: /nowhere/ });
    await execute(db, insert, note('a'));
  });
}

function visibility(check: Check): void {
  check('shows every read what a resolved write has committed', async (db) => {
    await execute(db, "INSERT INTO counters (id, n) VALUES ('c', 0)");
    for (let n = 1; n <= 100; n += 1) {
      await execute(db, increment, ['c']);
      const rows = await Promise.all([1, 2, 3].map(() => db.get<{ n: number }>('SELECT n FROM counters')));
      assert.deepEqual(
        rows.map((row) => row?.n),
        [n, n, n],
      );
    }
  });
}

/**
 * Many at once, but no more than a busy machine answers within the port's five seconds: how soon each is answered is
 * not what these tests are about.
 */
async function atMostInFlight<T>(most: number, calls: readonly (() => Promise<T>)[]): Promise<T[]> {
  const results: T[] = [];
  const waiting = calls.values();
  const worker = async (): Promise<void> => {
    for (const call of waiting) results.push(await call());
  };
  await Promise.all(Array.from({ length: most }, worker));
  return results;
}

function races(check: Check): void {
  check('lets one of 100 racing conditional updates win', async (db) => {
    await execute(db, "INSERT INTO counters (id, n) VALUES ('c', 0)");
    const claim = 'UPDATE counters SET winner = $2 WHERE id = $1 AND winner IS NULL RETURNING winner';
    const claims = await atMostInFlight(
      20,
      Array.from({ length: 100 }, (_, i) => () => db.write(sqlWrites.get, claim, ['c', i])),
    );
    const won = claims.filter((row) => row !== undefined);
    assert.deepEqual(won, [await db.get('SELECT winner FROM counters')]);
  });

  check('gives racing increments every number once', async (db) => {
    await execute(db, "INSERT INTO counters (id, n) VALUES ('c', 0)");
    const rows = await atMostInFlight(
      20,
      Array.from({ length: 300 }, () => () => db.write(sqlWrites.get, increment, ['c'])),
    );
    const numbers = Array.from({ length: 300 }, (_, i) => i + 1);
    assert.deepEqual(new Set(rows.map((row) => JSON.stringify(row))), new Set(numbers.map((n) => `{"n":${n}}`)));
  });

  check('lets one of 100 racing inserts of a key win', async (db) => {
    const results = await atMostInFlight(
      20,
      Array.from({ length: 100 }, () => () => execute(db, insert, note('a')).catch((error: unknown) => error)),
    );
    assert.equal(results.filter((result) => result === 1).length, 1);
    assert.equal(results.filter((result) => result instanceof UniqueViolation).length, 99);
  });
}

function values(check: Check): void {
  check('gives back the values that it was given', async (db) => {
    const texts = ['', 'ขอบคุณนะคะ 🙏🏽', 'it\'s "quoted" $1 ?1 \\ \n', null];
    const numbers = [0, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 1_790_000_000_000, null];
    const bytes = [new Uint8Array(0), Uint8Array.from([0, 255, 39, 92]), null];
    for (const [i, body] of texts.entries()) {
      for (const [j, amount] of numbers.entries()) {
        const content = bytes[j % bytes.length] ?? null;
        const id = `${i}-${j}`;
        await execute(db, insert, [id, body, amount, content]);
        const row = await db.get<{ body: string | null; amount: number | null; content: Uint8Array | null }>(
          'SELECT body, amount, content FROM notes WHERE id = $1',
          [id],
        );
        assert.equal(row?.body, body);
        assert.equal(row?.amount, amount);
        assert.deepEqual(row?.content && Array.from(row.content), content && Array.from(content));
      }
    }
  });

  check('refuses what no column can hold, and a wrong count of parameters', async (db) => {
    const wrong: unknown[] = [undefined, true, new Date(), 1.5, 2 ** 53, Number.NaN, {}, [], 1n];
    for (const value of wrong) {
      // Reflect.apply passes arguments that the types forbid.
      await assert.rejects(
        async () => Reflect.apply(db.get, db, ['SELECT id FROM notes WHERE id = $1', [value]]),
        TypeError,
      );
      await assert.rejects(async () => Reflect.apply(execute, undefined, [db, insert, [value, null, null, null]]), {
        message: /^Parameter \$1 is/,
      });
    }
    await assert.rejects(db.get('SELECT id FROM notes WHERE id = $1', []), TypeError);
    await assert.rejects(db.get('SELECT id FROM notes', ['a']), TypeError);
    assert.deepEqual(await ids(db), []);
  });

  check('takes a parameter as often as it is named, and none from quotes or comments', async (db) => {
    const row = await db.get<{ twice: string; quoted: string }>(
      `SELECT $2 || $1 || $2 AS twice, 'it''s $3' AS quoted -- not $4's`,
      ['a', 'b'],
    );
    assert.deepEqual({ ...row }, { twice: 'bab', quoted: "it's $3" });
  });

  check('refuses more than one statement at a time', async (db) => {
    await assert.rejects(execute(db, "INSERT INTO notes (id) VALUES ('a'); SELECT 1"));
    await execute(db, "INSERT INTO notes (id, body) VALUES ('b', ';not two');\n");
    assert.deepEqual(await ids(db), ['b']);
  });

  check('gives numbers for what is computed, and 0 and 1 for what is compared', async (db) => {
    await execute(db, "INSERT INTO counters (id, n) VALUES ('a', 3), ('b', 4)");
    const row = await db.get<object>(
      'SELECT sum(n) AS sum, count(*) AS count, max(n) AS max, min(n) < 4 AS below, 3 = 4 AS same FROM counters',
    );
    assert.deepEqual({ ...row }, { sum: 7, count: 2, max: 4, below: 1, same: 0 });
  });

  check('refuses to give back an integer that a number cannot hold', async (db) => {
    await assert.rejects(db.get('SELECT CAST($1 AS BIGINT) + 1 AS n', [Number.MAX_SAFE_INTEGER]), RangeError);
    await assert.rejects(db.get('SELECT CAST($1 AS BIGINT) + 1 AS n', [Number.MAX_SAFE_INTEGER]), /9007199254740992/);
  });

  check('refuses a statement that writes outside write', async (db) => {
    await assert.rejects(db.all("INSERT INTO notes (id) VALUES ('a') RETURNING id"), /outside write/);
    assert.deepEqual(await ids(db), []);
  });

  check('computes with integers as integers', async (db) => {
    const row = await db.get<{ half: number }>('SELECT CAST($1 AS BIGINT) / 2 AS half', [7]);
    assert.equal(row?.half, 3);
  });

  check('sorts keys byte by byte', async (db) => {
    for (const id of ['b', 'B', 'a', '_', 'é', 'ก', '1']) await execute(db, insert, note(id));
    assert.deepEqual(await ids(db), ['1', 'B', '_', 'a', 'b', 'é', 'ก']);
  });

  check('tells how many rows a statement changed', async (db) => {
    assert.deepEqual(await db.write(writes.numberOfRows), [1, 2, 0, 0]);
  });

  check('takes the variant of a statement that is meant for its engine', async (db) => {
    const row = await db.get<{ engine: string }>({
      sqlite: "SELECT 'sqlite' AS engine",
      postgres: "SELECT 'postgres' AS engine",
    });
    assert.equal(row?.engine, db.engine);
  });
}

function life(check: Check): void {
  check('answers a ping', async (db) => {
    await db.ping();
  });

  check('finishes the writes under way before it closes, and refuses those that follow', async (db) => {
    const underWay = Array.from({ length: 50 }, (_, i) => execute(db, insert, note(`n${i}`)));
    const closing = db.close();
    await assert.rejects(execute(db, insert, note('late')), /closed/);
    assert.deepEqual(await Promise.all(underWay), Array(50).fill(1));
    await closing;
    await assert.rejects(db.get('SELECT 1'), /closed/);
    await db.close();
  });
}

/** With functions that reach outside of their transaction, which no thread could run. */
function inOneThread(check: Check): void {
  check('shows a write its own changes, and others only what is committed', async (db) => {
    const awhile = { sqlite: 'SELECT 1', postgres: 'SELECT 1 FROM pg_sleep(0.3)' };
    let outside: Promise<unknown> | undefined;
    const inside = await db.write(
      inThisThread(async (tx) => {
        await tx.run(insert, note('a'));
        outside = db.get('SELECT id FROM notes');
        const seen = await tx.get('SELECT id FROM notes');
        await tx.get(awhile);
        return seen;
      }),
    );
    assert.deepEqual(inside, { id: 'a' });
    assert.equal(await outside, undefined);
    assert.deepEqual(await ids(db), ['a']);
  });

  check('refuses a statement of a transaction that is over', async (db) => {
    let late: (() => Promise<number>) | undefined;
    await db.write(
      inThisThread(async (tx) => {
        late = () => tx.run(insert, note('late'));
      }),
    );
    await assert.rejects(async () => late?.(), /over/);
    assert.deepEqual(await ids(db), []);
  });
}
