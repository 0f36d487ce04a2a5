/** The program of the writing thread: runs write functions on the writing connection. */
import { flushCompileCache } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { steadyMs } from '../clock.ts';
import { CommitStats } from './commit-stats.ts';
import { completeAnswer, type Write } from './database.ts';
import { serializeError } from './serialized-error.ts';
import { WriteBatcher } from './sqlite-batcher.ts';
import { createForeignCommits } from './sqlite-changes.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import type { FromThread, ThreadCall, ThreadOptions, ThreadOutcome, ToThread } from './sqlite-thread.ts';

type Run = Write<unknown[], unknown>['run'];

const { file, waitMs, withinMs, statsMemory }: ThreadOptions = workerData;
// The batcher waits for the locks of other processes, because it knows the deadline of each caller.
const connection = new SqliteConnection(file, { mayWrite: true, waitMs: 0 });
const batcher = new WriteBatcher(connection, waitMs, withinMs, new CommitStats(statsMemory));
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

/** Resolves after the commit, with the function that completes the answer. */
async function runCall(run: Promise<Run> | undefined, [, args, since]: ThreadCall): Promise<() => unknown> {
  const write = await run;
  if (!write) throw new Error('A call names no function');
  const answer = await batcher.write((tx) => write(tx, ...args), performance.now() - (steadyMs() - since));
  return () => completeAnswer(write, answer, [...args]);
}

function outcomeOf(committed: PromiseSettledResult<() => unknown>): ThreadOutcome {
  try {
    if (committed.status === 'rejected') throw committed.reason;
    return { value: committed.value() };
  } catch (error) {
    return { error: serializeError(error) };
  }
}

function send(message: FromThread): void {
  parentPort?.postMessage(message);
}

/** A result that is not plain data fails its own write only, although that is recorded. */
function answer(group: readonly PromiseSettledResult<() => unknown>[]): void {
  const outcomes = group.map(outcomeOf);
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

/** Groups are answered in order: each when its answers are complete, before those of the next are completed. */
let answered: Promise<void> = Promise.resolve();

parentPort?.on('message', (message: ToThread) => {
  if (message.kind === 'changed') {
    send({ kind: 'changed', changed: foreignCommits() || firstCheck });
    firstCheck = false;
  } else if (message.kind === 'truncate') {
    send({ kind: 'truncated', truncated: truncateLog() });
  } else if (message.kind === 'close') {
    void answered.then(close);
  } else {
    const before = answered;
    const runs = message.functions.map(({ module, name }) => load(module, name));
    const group = Promise.allSettled(message.calls.map((call) => runCall(runs[call[0]], call)));
    answered = group.then(async (committed) => {
      await before;
      answer(committed);
    });
  }
});

/** Only microtasks run inside a transaction, so none is open while a message is handled. */
function truncateLog(): boolean {
  try {
    return connection.truncateLog();
  } catch {
    // The storage fails. Writes report it; the log is truncated later.
    return false;
  }
}

async function close(): Promise<void> {
  await batcher.stop();
  connection.close();
  parentPort?.close();
}
