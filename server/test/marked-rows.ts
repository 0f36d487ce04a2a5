/** A row of every table that belongs to somebody, each text of which says where it stands: `mark.table.column`. */
import type { Database, Value } from '../src/platform/db/database.ts';
import { type TablePolicy, tables } from '../src/platform/db/tables.ts';
import { execute } from './sql.ts';

interface Column {
  readonly name: string;
  readonly type: string;
  /** 1: it may be NULL. */
  readonly optional: number;
}

export const columnsOf = (db: Database, table: string): Promise<Column[]> =>
  db.all(
    {
      sqlite: `SELECT name, type, CASE WHEN "notnull" = 1 OR pk > 0 THEN 0 ELSE 1 END AS optional FROM pragma_table_info($1)`,
      postgres: `SELECT column_name::text AS name, data_type::text AS type,
        CASE WHEN is_nullable = 'YES' THEN 1 ELSE 0 END AS optional
        FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1`,
    },
    [table],
  );

/** Tables whose rows belong to a creator or an app, with the columns that say so. */
export const ownedTables = Object.entries<TablePolicy>(tables).flatMap(([table, { owner }]) =>
  owner ? [{ table, owner }] : [],
);

/** Numbers are 1, and nothing where there may be nothing: nothing has ended. Texts that are read as JSON are JSON. */
function valueFor({ name, type, optional }: Column, text: string): Value {
  if (/INT/i.test(type)) return optional ? null : 1;
  if (/BLOB|bytea/i.test(type)) return Buffer.from(text);
  return json.has(name) ? JSON.stringify([text]) : text;
}
const json = new Set(
  'attempts body channel_details details excluded fields looks looks_draft looks_previous redirect_uris report rules screened settings shares social_links spans tip_channels transports types'.split(
    ' ',
  ),
);

/** Fills the tables for a creator who exists. The id of the creator's app is `mark.apps.id`. */
export async function fillTables(db: Database, creatorId: string, mark: string): Promise<void> {
  const app = `${mark}.apps.id`;
  for (const { table, owner } of ownedTables)
    for (const kind of ['creator', 'app'] as const) {
      if (owner[kind] === undefined) continue;
      const columns = await columnsOf(db, table);
      const row = new Map(columns.map((column) => [column.name, valueFor(column, `${mark}.${table}.${column.name}`)]));
      if (row.has('client_id')) row.set('client_id', app);
      // The tokens of a family are a chain, which begins with one that has no parent.
      if (table === 'refresh_tokens')
        for (const [column, value] of Object.entries({
          family_id: `${mark}.families.id`,
          parent_hash: null,
          successor_hash: null,
        }))
          row.set(column, value);
      if (owner.app !== undefined && owner.creator !== undefined) {
        row.set('id', `${mark}.${table}.id.${kind}`);
        row.set(kind === 'creator' ? owner.app : owner.creator, kind === 'creator' ? '' : null);
      }
      row.set(owner[kind], kind === 'app' ? app : creatorId);
      if (table === 'creators' || table === 'creator_heads') await update(db, table, owner[kind], creatorId, row);
      else await insert(db, table, row);
    }
}

async function insert(db: Database, table: string, row: ReadonlyMap<string, Value>): Promise<void> {
  const placeholders = [...row.keys()].map((_, i) => `$${i + 1}`);
  await execute(db, `INSERT INTO ${table} (${[...row.keys()].join(', ')}) VALUES (${placeholders.join(', ')})`, [
    ...row.values(),
  ]);
}

/** Rows that exist with their creator keep their numbers. */
async function update(
  db: Database,
  table: string,
  key: string,
  creatorId: string,
  row: ReadonlyMap<string, Value>,
): Promise<void> {
  const texts = [...row].filter(([name, value]) => name !== key && name !== 'sandbox_of' && typeof value === 'string');
  const set = texts.map(([name], i) => `${name} = $${i + 2}`).join(', ');
  if (set !== '')
    await execute(db, `UPDATE ${table} SET ${set} WHERE ${key} = $1`, [creatorId, ...texts.map(([, value]) => value)]);
}
