/**
 * What may have changed since: counters of this process's own commits by table, and one for other processes.
 *
 * - A counter moves after the COMMIT and before anybody is answered, so what is read under an equal version is current.
 * - Another process is seen by `PRAGMA data_version` on the writing connection, which its own commits do not move.
 *   It is asked at most once per turn of the event loop.
 */
import type { SqliteConnection } from './sqlite-connection.ts';

export function createVersions(writer: SqliteConnection, pollMs: number) {
  const commits = new Map<string, number>();
  let external = 0;
  let lastSeen = dataVersion();
  let askedThisTurn = false;
  const listeners = new Set<() => void>();
  let told = external;
  let timer: NodeJS.Timeout | undefined;

  function dataVersion(): number | undefined {
    try {
      return writer.get<{ data_version: number }>('PRAGMA data_version')?.data_version;
    } catch {
      return undefined;
    }
  }

  function lookOutside(): void {
    const seen = dataVersion();
    // When it cannot be told, everything may have changed.
    if (seen === undefined || seen !== lastSeen) external += 1;
    lastSeen = seen;
  }

  function poll(): void {
    lookOutside();
    if (told === external) return;
    told = external;
    for (const listener of listeners) listener();
  }

  return {
    committed(tables: ReadonlySet<string>): void {
      for (const table of tables) commits.set(table, (commits.get(table) ?? 0) + 1);
    },

    version(tables: readonly string[]): number {
      if (!askedThisTurn) {
        askedThisTurn = true;
        setImmediate(() => {
          askedThisTurn = false;
        });
        lookOutside();
      }
      let sum = external;
      for (const table of tables) sum += commits.get(table) ?? 0;
      return sum;
    },

    onExternalChange(listener: () => void): () => void {
      if (listeners.size === 0) told = external;
      listeners.add(listener);
      timer ??= setInterval(poll, pollMs).unref();
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },

    stop(): void {
      clearInterval(timer);
    },
  };
}
