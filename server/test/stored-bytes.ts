import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../src/platform/db/database.ts';
import type { TestApp } from './build-app.ts';

/** All that the store holds, as a thief would find it: the embedded files, or a dump of every table. */
export async function storedBytes({ directory, runtime }: Pick<TestApp, 'directory' | 'runtime'>): Promise<Buffer> {
  const { db } = runtime;
  if (db.engine === 'sqlite')
    return Buffer.concat(readdirSync(directory).map((file) => readFileSync(join(directory, file))));
  const cells: Buffer[] = [];
  for (const table of await tableNames(db))
    for (const row of await db.all<Record<string, unknown>>(`SELECT * FROM ${table}`))
      for (const value of Object.values(row))
        cells.push(value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value)), Buffer.from('\n'));
  return Buffer.concat(cells);
}

async function tableNames(db: Database): Promise<string[]> {
  const rows = await db.all<{ name: string }>("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'");
  return rows.map(({ name }) => name);
}
