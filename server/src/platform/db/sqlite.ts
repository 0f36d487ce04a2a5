/**
 * The database port on a SQLite file. One connection writes, in shared commits (sqlite-batches.ts), another reads and
 * so sees only what is committed. Procedures are written by a third, on a thread of its own (sqlite-thread.ts).
 */
import type { Database, Reader } from './database.ts';
import { Batches } from './sqlite-batches.ts';
import { Busy, SqliteConnection } from './sqlite-connection.ts';
import { createExternalChanges, createForeignCommits } from './sqlite-external.ts';
import { WriterThread } from './sqlite-thread.ts';
import { Turns } from './sqlite-turns.ts';
import { createVersions } from './sqlite-versions.ts';

export interface SqliteOptions {
  file: string;
  /** How long a call waits for another process that holds the database. The contract's five seconds, less the rest of a request. */
  waitMs?: number;
  /** How often changes of other processes are looked for, while somebody listens. */
  pollMs?: number;
}

const retryReadMs = 10;

export function openSqlite({ file, waitMs = 4_500, pollMs = 500 }: SqliteOptions): Database {
  const writer = new SqliteConnection(file, { mayWrite: true });
  const reader = new SqliteConnection(file, { mayWrite: false });
  const versions = createVersions(reader);
  const turns = new Turns();
  const batches = new Batches({ connection: writer, waitMs, turns, onCommit: versions.committed });
  const thread = new WriterThread({
    file,
    waitMs,
    turns,
    onCommit: versions.committed,
    // Writes wait for the turn meanwhile, and perhaps longer already.
    onLocked: () => batches.refuse(new Busy('The database is locked')),
  });
  const external = createExternalChanges({
    foreignCommits: createForeignCommits(writer),
    foreignToThread: () => thread.foreignCommits(),
    pollMs,
  });
  let closed: Promise<void> | undefined;

  /** At once, unless the file is locked: then again by a timer. */
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

  const write: Database['write'] = (fn) =>
    closed ? Promise.reject(new Error('The database is closed')) : batches.write(fn);

  async function close(): Promise<void> {
    external.stop();
    await Promise.all([batches.stop(), thread.stop()]);
    reader.close();
    // Last, so that it folds the WAL into the main file.
    writer.close();
  }

  return {
    engine: 'sqlite',
    all,
    get,
    write,
    call: (procedure, input) =>
      closed ? Promise.reject(new Error('The database is closed')) : thread.call(procedure, input),
    writeOne: (_owner, sql, params) => write((tx) => tx.get(sql, params)),
    version: versions.version,
    onExternalChange: external.onExternalChange,
    async ping() {
      await get('SELECT count(*) FROM sqlite_schema');
      // Rewrites the file's header page, so it needs room on the disk and no table.
      await write((tx) => tx.run('PRAGMA user_version = 1'));
    },
    close() {
      closed ??= close();
      return closed;
    },
  };
}
