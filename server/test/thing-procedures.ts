/** Procedures of tests; in a file of their own, because the thread that runs them loads it. */
import { threadId } from 'node:worker_threads';
import { procedure } from '../src/platform/db/procedure.ts';

export const insert = 'INSERT INTO things (n) VALUES ($1)';

export const addThing = procedure(import.meta.url, 'addThing', async (tx, n: number) => {
  await tx.run(insert, [n]);
  return threadId;
});

export const fail = procedure(import.meta.url, 'fail', async (tx, message: string) => {
  await tx.run(insert, [0]);
  throw new RangeError(message);
});

export const addEntry = procedure(import.meta.url, 'addEntry', async (tx, n: number) => {
  await tx.run('INSERT INTO entries (n, filler) VALUES ($1, $2)', [n, 'x'.repeat(200)]);
});

/** The thread does not find it. */
export const unknown = { ...addThing, name: 'nowhere' };

export const endThread = procedure(import.meta.url, 'endThread', async (tx) => {
  await tx.run(insert, [0]);
  process.exit(1);
});
