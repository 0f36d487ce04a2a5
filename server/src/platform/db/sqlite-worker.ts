/** The program of the writing thread: runs write functions on the writing connection. */
import { flushCompileCache } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { steadyMs } from '../clock.ts';
import type { Write } from './database.ts';
import { WriteBatcher } from './sqlite-batcher.ts';
import { createForeignCommits } from './sqlite-changes.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import {
  type FromThread,
  serializeError,
  type ThreadCall,
  type ThreadOptions,
  type ThreadOutcome,
  type ToThread,
} from './sqlite-thread.ts';

type Run = Write<unknown[], unknown>['run'];

const { file, waitMs, withinMs }: ThreadOptions = workerData;
// The batcher waits for the locks of other processes, because it knows the deadline of each caller.
const connection = new SqliteConnection(file, { mayWrite: true, waitMs: 0 });
const batcher = new WriteBatcher(connection, waitMs, withinMs);
const foreignCommits = createForeignCommits(connection);
/** A commit before the start of this thread may not have been reported. */
let firstCheck = true;
const loaded = new Map<string, Promise<Run>>();

function load(module: string, name: string): Promise<Run> {
  const key = `${module}#${name}`;
  let run = loaded.get(key);
  if (!run) {
    run = import(module).then(({ writes }) => {
      if (!writes?.[name]) throw new Error(`${module} has no write named ${name}: export it as a part of \`writes\``);
      // Otherwise a server that is killed compiles the module again at every start.
      flushCompileCache();
      return writes[name].run;
    });
    loaded.set(key, run);
    run.catch(() => loaded.delete(key));
  }
  return run;
}

async function runCall(run: Promise<Run> | undefined, [, args, since]: ThreadCall): Promise<ThreadOutcome> {
  try {
    const write = await run;
    if (!write) throw new Error('A call names no function');
    return { value: await batcher.write((tx) => write(tx, ...args), performance.now() - (steadyMs() - since)) };
  } catch (error) {
    return { error: serializeError(error) };
  }
}

function send(message: FromThread): void {
  parentPort?.postMessage(message);
}

/** A result that is not plain data fails its own write only, although that is recorded. */
function answer(outcomes: readonly ThreadOutcome[]): void {
  try {
    send({ kind: 'writes', outcomes });
  } catch {
    send({ kind: 'writes', outcomes: outcomes.map(asPlainData) });
  }
}

function asPlainData(outcome: ThreadOutcome): ThreadOutcome {
  try {
    return structuredClone(outcome);
  } catch (error) {
    return { error: serializeError(error) };
  }
}

/** Groups are answered in order. */
let answered: Promise<void> = Promise.resolve();

parentPort?.on('message', (message: ToThread) => {
  if (message.kind === 'changed') {
    send({ kind: 'changed', changed: foreignCommits() || firstCheck });
    firstCheck = false;
  } else if (message.kind === 'close') {
    void answered.then(close);
  } else {
    const before = answered;
    const runs = message.functions.map(({ module, name }) => load(module, name));
    const outcomes = Promise.all(message.calls.map((call) => runCall(runs[call[0]], call)));
    answered = outcomes.then(async (done) => {
      await before;
      answer(done);
    });
  }
});

async function close(): Promise<void> {
  await batcher.stop();
  connection.close();
  parentPort?.close();
}
