/**
 * The database port on a SQLite file. One connection writes, in shared commits (sqlite-batcher.ts), on a separate thread or
 * on the event loop. Another connection reads on the event loop and so sees only committed data.
 */
import { CommitStats } from './commit-stats.ts';
import { completeAnswer, type Database, type Reader } from './database.ts';
import { WriteBatcher, writes } from './sqlite-batcher.ts';
import { createExternalChanges, createForeignCommits, createVersions } from './sqlite-changes.ts';
import { Busy, SqliteConnection } from './sqlite-connection.ts';
import { type SqliteWriter, type ThreadOptions, WritingThread } from './sqlite-thread.ts';

export interface SqliteOptions {
  file: string;
  /** Writes run on a thread, so that a slow commit delays no read. The server uses one; the command line does not. */
  thread?: boolean;
  /** How long a call waits for the lock of another process: the contract's five seconds, less the rest of a request. */
  waitMs?: number;
  /** How long a call waits for the writing thread: a flush of a failing disk can take minutes. */
  withinMs?: number;
  /** How often changes of other processes are checked, while there are listeners. */
  pollMs?: number;
}

const retryReadMs = 10;

export function openSqlite(options: SqliteOptions): Database {
  const { file, thread = false, waitMs = 4_500, withinMs = 4_800, pollMs = 500 } = options;
  // Opened before the reader: creates the file, or fails if that is impossible.
  const first = new SqliteConnection(file, { mayWrite: true });
  const reader = new SqliteConnection(file, { mayWrite: false });
  const versions = createVersions(reader);
  const commits = new CommitStats();
  const writer = thread
    ? startThread({ file, waitMs, withinMs, statsMemory: commits.memory }, versions.committed)
    : createLoopWriter(new WriteBatcher(first, waitMs, undefined, commits), first, versions.committed);
  if (thread) first.close();
  const external = createExternalChanges(() => writer.changedByOthers(), pollMs);
  let closed: Promise<void> | undefined;

  /** Retries with a timer while the file is locked. */
  async function read<T>(attempt: () => T): Promise<T> {
    const until = performance.now() + waitMs;
    for (;;) {
      if (closed) throw new Error('The database is closed');
      try {
        return attempt();
      } catch (error) {
        if (!(error instanceof Busy) || performance.now() >= until) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, retryReadMs));
    }
  }

  const all: Reader['all'] = (sql, params) => read(() => reader.all(sql, params));
  const get: Reader['get'] = (sql, params) => read(() => reader.get(sql, params));
  const write: Database['write'] = (operation, ...args) =>
    closed ? Promise.reject(new Error('The database is closed')) : writer.write(operation, args);

  async function close(): Promise<void> {
    external.stop();
    // The last connection to close copies the WAL to the main file, so the writing one is closed last.
    reader.close();
    await writer.close();
  }

  return {
    engine: 'sqlite',
    all,
    get,
    write,
    version: versions.version,
    onExternalChange: external.onExternalChange,
    async truncateLog() {
      return closed ? false : writer.truncateLog();
    },
    async ping() {
      await get('SELECT count(*) FROM sqlite_schema');
      await write(writes.touchHeader);
    },
    stats() {
      const { seconds: commitSeconds, ...counts } = commits.read();
      return { ...counts, commitSeconds };
    },
    close() {
      closed ??= close();
      return closed;
    },
  };
}

function startThread(options: ThreadOptions, onCommit: () => void): SqliteWriter {
  const thread = new WritingThread(options, onCommit);
  thread.start();
  return thread;
}

/** Copies arguments and results as for a thread, so that both writers behave alike. */
function createLoopWriter(batcher: WriteBatcher, connection: SqliteConnection, onCommit: () => void): SqliteWriter {
  const foreignCommits = createForeignCommits(connection);
  return {
    async write(operation, args) {
      const copied = structuredClone(args);
      try {
        const answer = await batcher.write((tx) => operation.run(tx, ...copied));
        return structuredClone(completeAnswer(operation.run, answer, copied));
      } finally {
        onCommit();
      }
    },
    changedByOthers: foreignCommits,
    // Only microtasks run inside a transaction, so none is open here.
    truncateLog: () => connection.truncateLog(),
    async close() {
      await batcher.stop();
      connection.close();
    },
  };
}
