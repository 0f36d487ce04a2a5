import { join } from 'node:path';
import type { Database } from '../src/platform/db/database.ts';
import { migrate } from '../src/platform/db/migrate.ts';
import { openPostgres } from '../src/platform/db/postgres.ts';
import { openSqlite } from '../src/platform/db/sqlite.ts';
import { freshDatabase } from './postgres.ts';
import { temporaryDirectory } from './temporary-directory.ts';

interface Ending {
  after(end: () => Promise<void> | void): void;
}

/**
 * A database with today's schema, to be copied: that is quicker than making it for every test. The name of one of
 * PostgreSQL, or a file. `npm test` makes one for all test files.
 */
export async function makeMigrated(t: Ending, onNodes: boolean): Promise<string> {
  if (process.env.TEST_MIGRATED) return process.env.TEST_MIGRATED;
  if (onNodes) {
    const url = await freshDatabase(t);
    await migrateAndClose(openPostgres({ url }));
    return new URL(url).pathname.slice(1);
  }
  const file = join(temporaryDirectory(t), 'migrated.db');
  await migrateAndClose(openSqlite({ file }));
  return file;
}

async function migrateAndClose(db: Database): Promise<void> {
  await migrate(db);
  await db.close();
}
