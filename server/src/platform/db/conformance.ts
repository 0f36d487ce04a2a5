/** What every implementation of the database port must do. Each runs the same suite on the real engine. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type Database, UniqueViolation, type Value } from './database.ts';
import { migrate } from './migrate.ts';
import { procedure } from './procedure.ts';

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

/** `open` gives an empty database and closes it after the test. */
export function databaseConformance(name: string, open: (t: TestContext) => Promise<Database>): void {
  describe(`${name} as a Database`, () => {
    const check = (behaviour: string, body: (db: Database) => Promise<void>): void => {
      test(behaviour, async (t) => {
        const db = await open(t);
        await migrate(db, { migrations: [{ name: 'conformance', sql: schema }] });
        await body(db);
      });
    };
    atomicity(check);
    visibility(check);
    races(check);
    values(check);
    life(check);
  });
}

type Check = (behaviour: string, body: (db: Database) => Promise<void>) => void;

const insert = 'INSERT INTO notes (id, body, amount, content) VALUES ($1, $2, $3, $4)';
const note = (id: string): Value[] => [id, 'text', 1, null];
const increment = 'UPDATE counters SET n = n + 1 WHERE id = $1 RETURNING n';

async function ids(db: Database): Promise<string[]> {
  return (await db.all<{ id: string }>('SELECT id FROM notes ORDER BY id')).map(({ id }) => id);
}

/** Adds notes, and answers how many there are then. */
const addNotes = procedure(import.meta.url, 'addNotes', async (tx, names: readonly string[]) => {
  for (const name of names) await tx.run(insert, note(name));
  return (await tx.all('SELECT id FROM notes')).length;
});

function atomicity(check: Check): void {
  check('records all statements of a write', async (db) => {
    const answer = await db.write(async (tx) => {
      await tx.run(insert, note('a'));
      await tx.run(insert, note('b'));
      return 'done';
    });
    assert.equal(answer, 'done');
    assert.deepEqual(await ids(db), ['a', 'b']);
  });

  check('records nothing of a write whose function throws, and passes its error on', async (db) => {
    const error = new Error('changed my mind');
    const write = db.write(async (tx) => {
      await tx.run(insert, note('a'));
      throw error;
    });
    await assert.rejects(write, error);
    assert.deepEqual(await ids(db), []);
  });

  check('keeps a failing write from harming those that run beside it', async (db) => {
    const results = await Promise.allSettled(
      Array.from({ length: 30 }, (_, i) =>
        db.write(async (tx) => {
          await tx.run(insert, note(`n${String(i).padStart(2, '0')}`));
          if (i % 3 === 0) throw new Error('no');
        }),
      ),
    );
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 20);
    assert.equal((await ids(db)).length, 20);
  });

  check('rejects with UniqueViolation when a key is taken', async (db) => {
    await db.write((tx) => tx.run(insert, note('a')));
    const again = db.write(async (tx) => {
      await tx.run(insert, note('b'));
      await tx.run(insert, note('a'));
    });
    await assert.rejects(again, UniqueViolation);
    assert.deepEqual(await ids(db), ['a']);
  });

  check('writes one statement without ado, and gives its first row', async (db) => {
    const row = await db.writeOne<{ id: string }>('owner', `${insert} RETURNING id`, note('a'));
    assert.equal(row?.id, 'a');
    assert.equal(await db.writeOne('owner', insert, note('b')), undefined);
    await assert.rejects(db.writeOne('owner', insert, note('a')), UniqueViolation);
    const twice = "INSERT INTO notes (id) VALUES ('c'), ('a')";
    await assert.rejects(db.writeOne('owner', twice), UniqueViolation);
    assert.deepEqual(await ids(db), ['a', 'b']);
  });

  check('calls a procedure: all of it or nothing, with its answer', async (db) => {
    assert.equal(await db.call(addNotes, ['a', 'b']), 2);
    await assert.rejects(db.call(addNotes, ['c', 'a']), UniqueViolation);
    assert.deepEqual(await ids(db), ['a', 'b']);
  });

  check('dooms a write by its failed statement even if the function goes on', async (db) => {
    await db.write((tx) => tx.run(insert, note('a')));
    const write = db.write(async (tx) => {
      await tx.run(insert, note('a')).catch(() => {});
      await tx.run(insert, note('b')).catch(() => {});
    });
    await assert.rejects(write, UniqueViolation);
    assert.deepEqual(await ids(db), ['a']);
  });

  check('passes on the error of a statement that is wrong, and goes on', async (db) => {
    await assert.rejects(db.all('SELECT id FROM nowhere'), { message: /nowhere/ });
    await assert.rejects(
      db.write((tx) => tx.run('UPDATE nowhere SET n = 1')),
      { message: /nowhere/ },
    );
    await db.write((tx) => tx.run(insert, note('a')));
  });
}

function visibility(check: Check): void {
  check('shows a write its own changes, and others only what is committed', async (db) => {
    const awhile = { sqlite: 'SELECT 1', postgres: 'SELECT 1 FROM pg_sleep(0.3)' };
    const { inside, outside } = await db.write(async (tx) => {
      await tx.run(insert, note('a'));
      const outside = db.get('SELECT id FROM notes');
      const inside = await tx.get('SELECT id FROM notes');
      await tx.get(awhile);
      return { inside: Boolean(inside), outside: [outside] };
    });
    assert.equal(inside, true);
    assert.equal(await outside[0], undefined);
    assert.deepEqual(await ids(db), ['a']);
  });

  check('shows every read what a resolved write has committed', async (db) => {
    await db.write((tx) => tx.run("INSERT INTO counters (id, n) VALUES ('c', 0)"));
    for (let n = 1; n <= 100; n += 1) {
      await db.write((tx) => tx.run(increment, ['c']));
      const rows = await Promise.all([1, 2, 3].map(() => db.get<{ n: number }>('SELECT n FROM counters')));
      assert.deepEqual(
        rows.map((row) => row?.n),
        [n, n, n],
      );
    }
  });
}

function races(check: Check): void {
  check('lets one of 100 racing conditional updates win', async (db) => {
    await db.write((tx) => tx.run("INSERT INTO counters (id, n) VALUES ('c', 0)"));
    const claim = 'UPDATE counters SET winner = $2 WHERE id = $1 AND winner IS NULL RETURNING winner';
    const claims = await Promise.all(
      Array.from({ length: 100 }, (_, i) => db.write((tx) => tx.get<{ winner: number }>(claim, ['c', i]))),
    );
    const won = claims.filter((row) => row !== undefined);
    assert.equal(won.length, 1);
    const stored = await db.get<{ winner: number }>('SELECT winner FROM counters');
    assert.equal(stored?.winner, won[0]?.winner);
  });

  check('gives racing increments every number once', async (db) => {
    await db.write((tx) => tx.run("INSERT INTO counters (id, n) VALUES ('c', 0)"));
    const rows = await Promise.all(
      Array.from({ length: 300 }, () => db.write((tx) => tx.get<{ n: number }>(increment, ['c']))),
    );
    const numbers = rows.map((row) => row?.n ?? 0).sort((a, b) => a - b);
    assert.deepEqual(
      numbers,
      Array.from({ length: 300 }, (_, i) => i + 1),
    );
  });

  check('lets one of 100 racing inserts of a key win', async (db) => {
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, () => db.write((tx) => tx.run(insert, note('a')))),
    );
    const refused = results.filter((result) => result.status === 'rejected');
    assert.equal(refused.length, 99);
    assert.ok(refused.every(({ reason }) => reason instanceof UniqueViolation));
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
        await db.write((tx) => tx.run(insert, [id, body, amount, content]));
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
      // Reflect.apply hands over what the types forbid.
      await assert.rejects(
        async () => Reflect.apply(db.get, db, ['SELECT id FROM notes WHERE id = $1', [value]]),
        TypeError,
      );
      await assert.rejects(
        db.write((tx) => Reflect.apply(tx.run, tx, [insert, [value, null, null, null]])),
        TypeError,
      );
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
    await assert.rejects(db.write((tx) => tx.run("INSERT INTO notes (id) VALUES ('a'); SELECT 1")));
    await db.write((tx) => tx.run("INSERT INTO notes (id, body) VALUES ('b', ';not two');\n"));
    assert.deepEqual(await ids(db), ['b']);
  });

  check('gives numbers for what is computed, and 0 and 1 for what is compared', async (db) => {
    await db.write((tx) => tx.run("INSERT INTO counters (id, n) VALUES ('a', 3), ('b', 4)"));
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
    for (const id of ['b', 'B', 'a', '_', 'é', 'ก', '1']) await db.write((tx) => tx.run(insert, note(id)));
    assert.deepEqual(await ids(db), ['1', 'B', '_', 'a', 'b', 'é', 'ก']);
  });

  check('tells how many rows a statement changed', async (db) => {
    await db.write(async (tx) => {
      await tx.run(insert, note('a'));
      assert.equal(await tx.run(insert, note('b')), 1);
      assert.equal(await tx.run('UPDATE notes SET amount = 5'), 2);
      assert.equal(await tx.run('DELETE FROM notes WHERE id = $1', ['c']), 0);
      assert.equal(await tx.run(`${insert} ON CONFLICT (id) DO NOTHING`, note('a')), 0);
    });
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

  check('refuses a statement of a transaction that is over', async (db) => {
    const tx = await db.write(async (tx) => ({ run: () => tx.run(insert, note('late')) }));
    await assert.rejects(tx.run(), /over/);
    assert.deepEqual(await ids(db), []);
  });

  check('finishes the writes under way before it closes, and refuses those that follow', async (db) => {
    const writes = Array.from({ length: 50 }, (_, i) => db.write((tx) => tx.run(insert, note(`n${i}`))));
    const closing = db.close();
    await assert.rejects(
      db.write((tx) => tx.run(insert, note('late'))),
      /closed/,
    );
    assert.deepEqual(await Promise.all(writes), Array(50).fill(1));
    await assert.rejects(db.writeOne('owner', insert, note('late')), /closed/);
    await closing;
    await assert.rejects(db.get('SELECT 1'), /closed/);
    await db.close();
  });
}
