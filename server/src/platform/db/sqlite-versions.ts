/**
 * How often the remembered tables have changed. They are counted in the database itself (migration 0008), whoever
 * writes; the counts are read again when `PRAGMA data_version` says that somebody has committed.
 *
 * That is asked once per turn of the event loop, and again after a commit of this process: nobody is answered before
 * it is known here.
 */
import type { SqliteConnection } from './sqlite-connection.ts';

export function createVersions(reader: SqliteConnection) {
  let counts = new Map<string, number>();
  let seen: number | undefined;
  let current = false;

  function look(): void {
    try {
      const version = reader.get<{ data_version: number }>('PRAGMA data_version')?.data_version;
      if (version === seen) return;
      const rows = reader.all<{ name: string; n: number }>('SELECT name, n FROM table_versions');
      counts = new Map(rows.map(({ name, n }) => [name, n]));
      seen = version;
    } catch {
      // When it cannot be told, nothing is remembered.
      counts = new Map();
      seen = undefined;
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
        look();
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
