/**
 * Copies a SQLite database that may be in use. The target file is complete or absent (see linkNew).
 * Blocks the thread until it is done, so the server does it on a thread of its own (sqlite-copies.ts).
 */
import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { linkNew } from '../link-new.ts';
import { toPortError } from './sqlite-connection.ts';

const waitMs = 5_000;

export interface Backup {
  readonly from: string;
  readonly to: string;
  /** Reads the copy before it gets its name. If this throws there is none. */
  readonly check?: (file: string) => void;
}

export function backupSqlite({ from, to, check }: Backup): void {
  if (!existsSync(from)) throw new Error(`There is no database at ${from}`);
  if (existsSync(to)) throw new Error(`${to} exists already`);
  const partial = join(dirname(to), `.${basename(to)}.${randomUUID()}.part`);
  try {
    closeSync(openSync(partial, 'wx', 0o600));
    copy(from, partial);
    flush(partial);
    check?.(partial);
    linkNew(partial, to);
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

/** How thoroughly a copy is read: `quick` reads every page and row, `full` compares the indexes with the rows too. */
export type CheckDepth = 'quick' | 'full';

export interface CheckedCopy {
  /** Damage that SQLite has found, in its words; empty for a good copy. */
  readonly problems: readonly string[];
  /** The newest migration; `null`: the file is no database of this program. */
  readonly schema: string | null;
  readonly bytes: number;
}

/** Reads a whole copy, which is not in use. */
export function checkCopy(file: string, depth: CheckDepth): CheckedCopy {
  if (!existsSync(file)) throw new Error(`There is no file ${file}`);
  const { size: bytes } = statSync(file);
  const copy = new DatabaseSync(file, { readOnly: true });
  try {
    // The file may be anybody's: views and expressions in its schema get no functions that do more than compute.
    copy.exec('PRAGMA trusted_schema = OFF');
    const pragma = depth === 'quick' ? 'quick_check' : 'integrity_check';
    const found = copy
      .prepare(`PRAGMA ${pragma}`)
      .all()
      .map((row) => String(row[pragma] ?? Object.values(row)[0]));
    const isOurs =
      copy.prepare("SELECT 1 FROM sqlite_master WHERE name = 'schema_migrations' AND type = 'table'").get() !==
      undefined;
    const newest = isOurs && copy.prepare('SELECT name FROM schema_migrations ORDER BY number DESC LIMIT 1').get();
    return { problems: found.filter((line) => line !== 'ok'), schema: newest ? String(newest.name) : null, bytes };
  } catch (error) {
    // A file that is no database, or whose first page is damaged, cannot be read at all.
    if (error instanceof Error && 'errcode' in error) return { problems: [error.message], schema: null, bytes };
    throw error;
  } finally {
    copy.close();
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
