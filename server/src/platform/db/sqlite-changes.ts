/**
 * What SQLite tells of changes. `PRAGMA data_version` of a connection moves with the commits of all other connections,
 * of this process or of another.
 */
import type { SqliteConnection } from './sqlite-connection.ts';

/** `undefined` where it cannot be read just now. */
function dataVersion(connection: SqliteConnection): number | undefined {
  try {
    return connection.get<{ data_version: number }>('PRAGMA data_version')?.data_version;
  } catch {
    return undefined;
  }
}

/** Asks whether another connection has committed since it was last asked; also `true` where that cannot be known. */
export function createForeignCommits(connection: SqliteConnection): () => boolean {
  let seen = dataVersion(connection);
  return () => {
    const before = seen;
    seen = dataVersion(connection);
    return seen === undefined || seen !== before;
  };
}

/**
 * How often each counted table has changed. Triggers count in the database itself (migration 0008), whoever writes.
 * The counts are read again when the data version of the reading connection has moved. That is asked once per turn of
 * the event loop, and again after a commit of this process, before its callers are answered.
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
      // What cannot be read is not cached.
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

/** Calls listeners soon after another process has changed the database. `changed` asks the one connection that writes. */
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
