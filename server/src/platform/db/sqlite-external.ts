/**
 * Tells when another process has changed the database, soon after. `PRAGMA data_version` of a connection moves with
 * the commits of all others: another process moves it on both of ours, and one of ours on the other one only. If both
 * have written meanwhile that cannot be told apart, and listeners are called too: they look, and find nothing.
 */
import type { SqliteConnection } from './sqlite-connection.ts';

/** Asks whether anybody else has committed since it was last asked. */
export function createForeignCommits(connection: SqliteConnection): () => boolean {
  let seen = look();
  function look(): number | undefined {
    try {
      return connection.get<{ data_version: number }>('PRAGMA data_version')?.data_version;
    } catch {
      return undefined;
    }
  }
  return () => {
    const before = seen;
    seen = look();
    // What cannot be told may have happened.
    return seen === undefined || seen !== before;
  };
}

export interface ExternalParts {
  /** Of the connection on the event loop. */
  readonly foreignCommits: () => boolean;
  /** Of the one on the thread; nothing while there is no thread. */
  readonly foreignToThread: () => Promise<boolean> | undefined;
  readonly pollMs: number;
}

export function createExternalChanges({ foreignCommits, foreignToThread, pollMs }: ExternalParts) {
  const listeners = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;

  async function poll(): Promise<void> {
    if (foreignCommits() && ((await foreignToThread()) ?? true)) for (const listener of listeners) listener();
    if (listeners.size > 0) timer = setTimeout(poll, pollMs).unref();
  }

  return {
    onExternalChange(listener: () => void): () => void {
      if (listeners.size === 0) {
        foreignCommits();
        timer = setTimeout(poll, pollMs).unref();
      }
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) clearTimeout(timer);
      };
    },
    stop(): void {
      listeners.clear();
      clearTimeout(timer);
    },
  };
}
