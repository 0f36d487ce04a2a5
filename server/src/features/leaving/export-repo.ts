/** Reads a creator's rows of any table for the export. What is exported stands in platform/db/tables.ts. */
import type { Reader, Value } from '../../platform/db/database.ts';
import { type ExportedTableName, exportedTableNames, type TablePolicy, tables } from '../../platform/db/tables.ts';

export interface ExportedTable {
  readonly name: ExportedTableName;
  /** Selects the rows of the creator `$1`, and of the creator's apps. */
  readonly where: string;
  /** Unique among the rows of a creator: their order. */
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** Whether the rows name an app by its id alone: `nextRows` then adds `app_name`. */
  readonly addsAppName: boolean;
  /** Columns with pictures and sounds, which become files of their own. */
  readonly files: readonly string[];
}

export type Row = Record<string, Value>;

/** The tables that the owner's export contains. */
export async function exportedTables(db: Reader): Promise<ExportedTable[]> {
  const found: ExportedTable[] = [];
  for (const name of exportedTableNames) {
    const { owner, exported }: TablePolicy = tables[name];
    if (!owner) continue;
    const without = typeof exported === 'object' && 'without' in exported ? exported.without : [];
    const columns = (await columnsOf(db, name)).filter(({ column }) => !without.includes(column));
    const has = (wanted: string): boolean => columns.some(({ column }) => column === wanted);
    found.push({
      name,
      where: ownedBy(owner),
      key: keyWithin(owner, await keyOf(db, name, owner.creator ?? '')),
      columns: columns.filter(({ bytes }) => bytes === 0).map(({ column }) => column),
      addsAppName: has('client_id') && !has('app_name'),
      files: columns.filter(({ bytes }) => bytes === 1).map(({ column }) => column),
    });
  }
  return found;
}

function ownedBy({ creator, app }: NonNullable<TablePolicy['owner']>): string {
  const conditions = [
    ...(creator === undefined ? [] : [`${creator} = $1`]),
    ...(app === undefined ? [] : [`${app} IN (SELECT id FROM apps WHERE owner_id = $1)`]),
  ];
  return `(${conditions.join(' OR ')})`;
}

function columnsOf(db: Reader, table: string): Promise<{ column: string; bytes: number }[]> {
  return db.all(
    {
      sqlite: `SELECT name AS "column", CASE WHEN type = 'BLOB' THEN 1 ELSE 0 END AS bytes FROM pragma_table_info($1)`,
      postgres: `SELECT column_name::text AS "column", CASE WHEN data_type = 'bytea' THEN 1 ELSE 0 END AS bytes
        FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1
        ORDER BY ordinal_position`,
    },
    [table],
  );
}

/** The columns of a unique key, one that begins with the creator if there is one: an index then finds the rows in order. */
async function keyOf(db: Reader, table: string, creator: string): Promise<string[]> {
  const rows = await db.all<{ name: string; column: string }>(
    {
      sqlite: `SELECT i.name AS name, x.name AS "column" FROM pragma_index_list($1) i, pragma_index_info(i.name) x
        WHERE i."unique" = 1 AND i.partial = 0 ORDER BY i.seq, x.seqno`,
      postgres: `SELECT i.indexrelid::text AS name, a.attname::text AS "column"
        FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k (number, position)
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
        WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indpred IS NULL ORDER BY i.indexrelid, k.position`,
    },
    [table],
  );
  const keys = Map.groupBy(rows, ({ name }) => name);
  const lists = [...keys.values()].map((key) => key.map(({ column }) => column));
  const chosen = lists.find(([first]) => first === creator) ?? lists[0];
  if (!chosen) throw new Error(`${table} has no unique key`);
  return chosen;
}

/**
 * The rest of a key that begins with the creator, who is the same in all rows. SQLite finds rows after a position by an
 * index only if the position does not begin with a column that is given already; else each read passes all rows before.
 */
const keyWithin = ({ creator, app }: NonNullable<TablePolicy['owner']>, key: string[]): string[] =>
  app === undefined && key.length > 1 && key[0] === creator ? key.slice(1) : key;

/** The next rows after `last`, which is a row with the columns of the key. */
export function nextRows(
  db: Reader,
  { name, where, key, addsAppName }: ExportedTable,
  columns: readonly string[],
  creatorId: string,
  last: Row | undefined,
  limit: number,
): Promise<Row[]> {
  const appName = `(SELECT apps.name FROM apps WHERE apps.id = ${name}.client_id) AS app_name`;
  const selected = [...new Set([...columns, ...key]), ...(addsAppName ? [appName] : [])].join(', ');
  const order = key.join(', ');
  if (!last)
    return db.all(`SELECT ${selected} FROM ${name} WHERE ${where} ORDER BY ${order} LIMIT $2`, [creatorId, limit]);
  const after = key.map((_, i) => `$${i + 3}`).join(', ');
  return db.all(
    `SELECT ${selected} FROM ${name} WHERE ${where} AND (${order}) > (${after}) ORDER BY ${order} LIMIT $2`,
    [creatorId, limit, ...key.map((column) => last[column] ?? null)],
  );
}
