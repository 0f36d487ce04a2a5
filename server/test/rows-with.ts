import { tables } from '../src/platform/db/tables.ts';
import { onNodes, type TestApp } from './build-app.ts';

/** Where the tables hold a text: `tips.name`. */
export async function rowsWith({ runtime: { db } }: TestApp, mark: string): Promise<string[]> {
  const found: string[] = [];
  for (const table of Object.keys(tables)) {
    if (onNodes && table === 'table_versions') continue;
    for (const row of await db.all<Record<string, unknown>>(`SELECT * FROM ${table}`))
      for (const [column, value] of Object.entries(row)) {
        const text = value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);
        if (text.includes(mark)) found.push(`${table}.${column}`);
      }
  }
  return found;
}
