/**
 * The deletions of the last weeks, in a file beside the continuous copies. A copy is a state of the past: without the file, a
 * server that is restored from it would bring back people who have left. The file holds ids and times only.
 *
 * - What was once recorded stays until all copies of its time have ended, also if the database does not know it: it may have
 *   been restored from a copy that is older than the account, and the next one may be newer.
 * - A process that is killed while it writes leaves the file as it was. One process writes it.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { AskedDeletion, DeletedAccount } from './repo.ts';

export interface Deletions {
  readonly erased: readonly DeletedAccount[];
  readonly asked: readonly AskedDeletion[];
}

const day = 86_400_000;
/** The time to change one's mind. */
export const gracePeriodMs = 7 * day;
/** A day longer than continuous copies are kept. */
export const recordRetentionMs = 31 * day;

export type DeletionsFile = ReturnType<typeof createDeletionsFile>;

export function createDeletionsFile(directory: string) {
  const path = join(directory, 'deletions.json');

  function readText(): string | undefined {
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw unreadable(error);
    }
  }

  function parse(text: string | undefined): Deletions {
    try {
      return text === undefined ? { erased: [], asked: [] } : JSON.parse(text);
    } catch (error) {
      throw unreadable(error);
    }
  }

  const unreadable = (error: unknown): Error =>
    new Error(`${path} cannot be read, and says which accounts must stay deleted: ${String(error)}`);

  return {
    read: (): Deletions => parse(readText()),

    /** Adds what the database knows, and forgets what no copy can bring back. Writes only what has changed. */
    record(known: Deletions, now: number): void {
      const before = readText();
      const after = `${JSON.stringify(merge(parse(before), known, now))}\n`;
      if (after !== before) replaceFile(path, after);
    },
  };
}

function merge(stored: Deletions, known: Deletions, now: number): Deletions {
  const erased = latest([...stored.erased, ...known.erased], ({ erased_at }) => erased_at, now - recordRetentionMs);
  const asked = latest(
    [...stored.asked, ...known.asked],
    ({ asked_at }) => asked_at,
    now - recordRetentionMs - gracePeriodMs,
  );
  for (const creatorId of erased.keys()) asked.delete(creatorId);
  return { erased: [...erased.values()], asked: [...asked.values()] };
}

/** The latest entry of each account; of the same time, the one that stands last. In the order of their times. */
function latest<Entry extends { readonly creator_id: string }>(
  entries: readonly Entry[],
  timeOf: (entry: Entry) => number,
  since: number,
): Map<string, Entry> {
  const kept = entries.filter((entry) => timeOf(entry) >= since).sort((a, b) => timeOf(a) - timeOf(b));
  return new Map(kept.map((entry) => [entry.creator_id, entry]));
}

/** Durable when it returns. */
function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.part`, text, { mode: 0o600, flush: true });
  renameSync(`${path}.part`, path);
  const directory = openSync(dirname(path), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
