/**
 * A consistent copy of a SQLite database that may be in use, in one file that is complete or absent.
 * The copying runs on this thread from start to end: it belongs in a process of its own, the command line.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { toPortError } from './sqlite-connection.ts';

const waitMs = 5_000;

export function backupSqlite({ from, to }: { from: string; to: string }): void {
  if (!existsSync(from)) throw new Error(`There is no database at ${from}`);
  if (existsSync(to)) throw new Error(`${to} exists already`);
  const partial = join(dirname(to), `.${basename(to)}.${randomUUID()}.part`);
  try {
    closeSync(openSync(partial, 'wx', 0o600));
    copy(from, partial);
    flush(partial);
    // Unlike a rename, this fails if somebody else has made the file meanwhile.
    linkSync(partial, to);
  } catch (error) {
    throw toPortError(error);
  } finally {
    rmSync(partial, { force: true });
  }
  flush(dirname(to));
}

/** One read transaction, so writers neither wait nor show up halfway. The target may exist if it is empty. */
function copy(from: string, to: string): void {
  const source = new DatabaseSync(from, { readOnly: true, timeout: waitMs });
  try {
    source.prepare('VACUUM INTO ?').run(to);
  } finally {
    source.close();
  }
}

function flush(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
