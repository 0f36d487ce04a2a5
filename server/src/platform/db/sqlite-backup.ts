/**
 * Copies a SQLite database that may be in use. The target file is complete or absent.
 * Blocks the thread until it is done, so only the command line uses it.
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
    // Unlike a rename, this fails if the file was created meanwhile.
    linkSync(partial, to);
  } catch (error) {
    throw toPortError(error);
  } finally {
    rmSync(partial, { force: true });
  }
  flush(dirname(to));
}

/** Uses one read transaction, so that writers do not wait and the copy is consistent. An empty target may exist. */
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
