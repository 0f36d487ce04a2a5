/**
 * The program of the writing thread: runs procedures on a connection of its own. Groups that arrive while it commits
 * share the next commit.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { steadyMs } from '../clock.ts';
import { type Procedure, StorageUnavailable, UniqueViolation } from './database.ts';
import { Batches } from './sqlite-batches.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { createForeignCommits } from './sqlite-external.ts';
import type { FromThread, Outcome, ThreadError, ThreadOptions, ToThread } from './sqlite-thread.ts';

const { file, waitMs }: ThreadOptions = workerData;
// Whoever waits for this thread waits for a lock by its batches, which know how long.
const connection = new SqliteConnection(file, { mayWrite: true, waitMs: 0 });
const batches = new Batches({ connection, waitMs, onLocked: () => answer({ kind: 'locked' }) });
const foreignCommits = createForeignCommits(connection);
/** What was committed before this thread began may not have been told to anybody. */
let neverAsked = true;
const known = new Map<string, Promise<Procedure<unknown, unknown>['run']>>();

function find(module: string, name: string): Promise<Procedure<unknown, unknown>['run']> {
  const key = `${module}#${name}`;
  let found = known.get(key);
  if (!found) {
    found = import(module).then((exported) => exported[name].run);
    known.set(key, found);
    found.catch(() => known.delete(key));
  }
  return found;
}

function perform({ procedures, calls, since }: Extract<ToThread, { kind: 'group' }>): Promise<Outcome[]> {
  const runs = procedures.map(({ module, name }) => find(module, name));
  return Promise.all(
    calls.map(([index, input]) =>
      runs[index]!.then((run) => batches.write((tx) => run(tx, input), steadyMs() - since)).then(
        (value) => ({ value }),
        (error: unknown) => ({ error: told(error) }),
      ),
    ),
  );
}

/** What crosses to the other thread of an error. */
function told(error: unknown): ThreadError {
  const kind =
    error instanceof UniqueViolation ? 'taken' : error instanceof StorageUnavailable ? 'unavailable' : 'other';
  return error instanceof Error
    ? { kind, message: error.message, stack: error.stack }
    : { kind, message: String(error), stack: undefined };
}

function answer(message: FromThread): void {
  parentPort?.postMessage(message);
}

/** The groups before this one are answered first. */
let answered: Promise<void> = Promise.resolve();

parentPort?.on('message', (message: ToThread) => {
  if (message.kind === 'look') {
    answer({ kind: 'look', foreign: foreignCommits() || neverAsked });
    neverAsked = false;
    return;
  }
  if (message.kind === 'close') return void answered.then(close);
  const before = answered;
  answered = perform(message).then(async (outcomes) => {
    await before;
    answer({ kind: 'group', outcomes });
  });
});

async function close(): Promise<void> {
  await batches.stop();
  connection.close();
  parentPort?.close();
}
