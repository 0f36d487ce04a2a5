/** What PostgreSQL keeps in its files of rows that were deleted or overwritten, until a vacuum. */
import type { Database } from '../src/platform/db/database.ts';
import { execute } from './sql.ts';

/** From here on nobody vacuums or reads these tables by itself. */
export async function watchDeadRows(db: Database, tables: readonly string[]): Promise<void> {
  await execute(db, 'CREATE EXTENSION pgstattuple');
  for (const table of tables) await execute(db, `ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
}

export async function deadRows(db: Database, table: string): Promise<number> {
  const row = await db.get<{ count: number }>('SELECT dead_tuple_count AS count FROM pgstattuple($1::text)', [table]);
  return row?.count ?? Number.NaN;
}

export async function indexEntries(db: Database, index: string): Promise<number> {
  const row = await db.get<{ count: number }>('SELECT tuple_count AS count FROM pgstattuple($1::text)', [index]);
  return row?.count ?? Number.NaN;
}
