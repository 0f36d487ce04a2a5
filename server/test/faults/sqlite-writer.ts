/**
 * A process to be hurt: opens the database given and writes to it, saying on its output what it began and what was
 * answered, one line each, written at once. Arguments: `thread` or `loop`, file, writes to make, how many at a time.
 */
import { writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { openSqlite } from '../../src/platform/db/sqlite.ts';
import { execute } from '../sql.ts';

// Stays, with the database open, until it is killed or who started it is gone.
process.stdin.on('end', () => process.exit()).resume();

const [where = '', file = '', total = '0', concurrency = '1'] = process.argv.slice(2);
const db = openSqlite({ file, thread: where === 'thread' });
await execute(db, 'CREATE TABLE IF NOT EXISTS entries (n INTEGER PRIMARY KEY, filler TEXT) STRICT');

function say(line: string): void {
  for (;;)
    try {
      writeSync(1, `${line}\n`);
      return;
    } catch (error) {
      // Once there is a thread the pipe does not wait while it is full.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
    }
}
const newest = await db.get<{ n: number | null }>('SELECT max(n) AS n FROM entries');
let next = (newest?.n ?? 0) + 1;
const end = next + Number(total);

async function writer(): Promise<void> {
  while (next < end) {
    const n = next;
    next += 1;
    say(`began ${n}`);
    try {
      await execute(db, 'INSERT INTO entries (n, filler) VALUES ($1, $2)', [n, 'x'.repeat(200)]);
      say(`recorded ${n}`);
    } catch (error) {
      say(`refused ${n} ${error instanceof Error ? error.name : error}`);
      await delay(20);
    }
  }
}

await Promise.all(Array.from({ length: Number(concurrency) }, writer));
say('finished');
