/** Writes of tests: any statements, straight into the store. The writing thread loads this file too. */
import assert from 'node:assert/strict';
import { threadId } from 'node:worker_threads';
import { until } from '../../sdk/test/until.ts';
import {
  type Database,
  defineWrites,
  type Sql,
  StorageUnavailable,
  type Tx,
  type Value,
  type Write,
  type WriteFunction,
} from '../src/platform/db/database.ts';

type Statement = readonly [sql: Sql, params?: readonly Value[]];

const run = (tx: Tx, sql: Sql, params?: readonly Value[]): Promise<number> => tx.run(sql, params);

const get = (tx: Tx, sql: Sql, params?: readonly Value[]): Promise<unknown> => tx.get(sql, params);

async function runAll(tx: Tx, statements: readonly Statement[]): Promise<number[]> {
  const changed: number[] = [];
  for (const [sql, params] of statements) changed.push(await tx.run(sql, params));
  return changed;
}

/** Returns the id of the thread that it runs on. */
async function runTellingThread(tx: Tx, ...statement: Statement): Promise<number> {
  await tx.run(...statement);
  return threadId;
}

async function runThenFail(tx: Tx, message: string, ...statement: Statement): Promise<never> {
  await tx.run(...statement);
  throw new RangeError(message);
}

/** Returns what no thread can be sent. */
async function runReturningFunction(tx: Tx, ...statement: Statement): Promise<() => void> {
  await tx.run(...statement);
  return () => {};
}

/** Blocks its thread until the gate is 1. */
async function runAtGate(tx: Tx, gate: Int32Array<SharedArrayBuffer>, ...statement: Statement): Promise<number> {
  Atomics.wait(gate, 0, 0);
  return tx.run(...statement);
}

/** As `runAtGate`, but after the commit. */
const runThenWaitAtGate: WriteFunction<[gate: Int32Array<SharedArrayBuffer>, ...Statement], number> = Object.assign(
  (tx: Tx, _: Int32Array<SharedArrayBuffer>, ...statement: Statement) => tx.run(...statement),
  {
    complete(changed: number, gate: Int32Array<SharedArrayBuffer>): number {
      Atomics.wait(gate, 0, 0);
      return changed;
    },
  },
);

async function endThread(): Promise<void> {
  process.exit(1);
}

export const writes = defineWrites(import.meta.url, {
  run,
  get,
  runAll,
  runTellingThread,
  runThenFail,
  runReturningFunction,
  runAtGate,
  runThenWaitAtGate,
  endThread,
});

/** Runs one statement and returns how many rows it changed. */
export const execute = (db: Database, sql: Sql, params?: readonly Value[]): Promise<number> =>
  db.write(writes.run, sql, params);

/** Runs statements in one write and returns how many rows each changed. */
export const executeAll = (db: Database, ...statements: readonly Statement[]): Promise<number[]> =>
  db.write(writes.runAll, statements);

/** A function that a thread could not find: for tests of engines that run writes in this thread. */
export const inThisThread = <T>(run: (tx: Tx) => Promise<T>): Write<[], T> => ({ module: 'none', name: 'none', run });

/**
 * Writes while the database is locked until the first write is refused. Each answers whether it was recorded. The last
 * one was asked for before that refusal, and may wait nearly as long as the first did.
 */
export async function addUntilRefused(write: () => Promise<unknown>): Promise<Promise<boolean>[]> {
  const outcomes: Promise<boolean>[] = [];
  let refused = false;
  await until('the first write is refused', () => {
    if (refused) return true;
    const outcome = write().then(
      () => true,
      (error: unknown) => {
        assert.ok(error instanceof StorageUnavailable);
        return false;
      },
    );
    if (outcomes.push(outcome) === 1) void outcome.then((recorded) => (refused = !recorded));
    return false;
  });
  return outcomes;
}

/** One statement that PostgreSQL runs in a group with others; answers its row. */
export const writeOne = <Row>(db: Database, owner: string, sql: string, params: readonly Value[] = []): Promise<Row> =>
  db.write({
    ...inThisThread(async () => {
      throw new Error('the statement returned no row');
    }),
    postgres: { statement: () => ({ owner, sql, params }), answer: (row: Row) => row },
  });
