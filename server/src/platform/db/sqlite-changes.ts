/**
 * Detects changes. `PRAGMA data_version` of a connection changes with the commits of all other connections, of this process
 * or of another.
 */
import type { SqliteConnection } from './sqlite-connection.ts';

/** `undefined` if it cannot be read now. */
function dataVersion(connection: SqliteConnection): number | undefined {
  try {
    return connection.get<{ data_version: number }>('PRAGMA data_version')?.data_version;
  } catch {
    return undefined;
  }
}

/** Returns a function that tells whether another connection has committed since its last call; `true` if unknown. */
export function createForeignCommits(connection: SqliteConnection): () => boolean {
  let seen = dataVersion(connection);
  return () => {
    const before = seen;
    seen = dataVersion(connection);
    return seen === undefined || seen !== before;
  };
}

/**
 * The change counts of tables. Triggers in the database count the changes of all processes (migration 0008). The counts
 * are read again when the data version of the reading connection has changed. That is checked once in each iteration of
 * the event loop, and after a commit of this process, before its callers get their results.
 */
export function createVersions(reader: SqliteConnection) {
  let counts = new Map<string, number>();
  let seen: number | undefined;
  let current = false;

  function refresh(): void {
    const version = dataVersion(reader);
    if (version !== undefined && version === seen) return;
    seen = undefined;
    counts = new Map();
    try {
      const rows = reader.all<{ name: string; n: number }>('SELECT name, n FROM table_versions');
      counts = new Map(rows.map(({ name, n }) => [name, n]));
      seen = version;
    } catch {
      // Without counts `version` returns undefined, so nothing is cached.
    }
  }

  return {
    committed(): void {
      current = false;
    },

    version(tables: readonly string[]): number | undefined {
      if (!current) {
        current = true;
        setImmediate(() => {
          current = false;
        });
        refresh();
      }
      let sum = 0;
      for (const table of tables) {
        const count = counts.get(table);
        if (count === undefined) return undefined;
        sum += count;
      }
      return sum;
    },
  };
}

/** Calls listeners soon after another process has changed the database. `changed` asks the writing connection. */
export function createExternalChanges(changed: () => boolean | Promise<boolean>, pollMs: number) {
  const listeners = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;

  async function poll(): Promise<void> {
    if (await changed()) for (const listener of listeners) listener();
    if (listeners.size > 0) timer = setTimeout(poll, pollMs).unref();
  }

  return {
    onExternalChange(listener: () => void): () => void {
      if (listeners.size === 0) timer = setTimeout(poll, pollMs).unref();
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
