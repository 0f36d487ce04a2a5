/**
 * Migrations on a database that has data. One chain covers every earlier schema: after each migration all tables get
 * rows, so that the migrations after it run on rows of every schema before them.
 */
import assert from 'node:assert/strict';
import type { Database, Value } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { migrations } from '../../src/platform/db/migrations/index.ts';
import { executeAll } from '../sql.ts';

/** Tables whose rows are no data of people, and are written by migrations or triggers. */
const ownTables = ['schema_migrations', 'table_versions'];

/** What a migration does to rows on purpose. Everything else survives every migration unchanged. */
const emptied: Readonly<Record<string, readonly string[]>> = {
  '0021-canonical-supporters': ['supporter_lists', 'supporter_sums'],
};

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly optional: number;
}

const columnsSql = {
  sqlite: `SELECT t.name AS "table", c.name AS name, c.type AS type,
                  CASE WHEN c.dflt_value IS NOT NULL OR (c."notnull" = 0 AND c.pk = 0) THEN 1 ELSE 0 END AS optional
           FROM sqlite_schema t, pragma_table_info(t.name) c
           WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid`,
  postgres: `SELECT table_name AS "table", column_name AS name, data_type AS type,
                    CASE WHEN column_default IS NOT NULL OR is_nullable = 'YES' THEN 1 ELSE 0 END AS optional
             FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position`,
};

/** Everything that makes up the schema, as texts: columns with types and defaults, indexes, constraints, triggers. */
const schemaSql = {
  // SQLite keeps the statements themselves, to which ALTER TABLE adds its columns.
  sqlite: `SELECT type || ' ' || name || ': ' || COALESCE(sql, '') AS part FROM sqlite_schema
           UNION ALL
           SELECT 'column ' || t.name || '.' || c.cid || ': ' || c.name || ' ' || c.type || ' ' || c."notnull" || ' '
                  || COALESCE(c.dflt_value, '') || ' ' || c.pk
           FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'
           ORDER BY 1`,
  postgres: `SELECT 'column ' || c.relname || '.' || a.attnum || ': ' || a.attname || ' '
                    || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' '
                    || COALESCE(pg_get_expr(d.adbin, d.adrelid), '') || ' ' || COALESCE(o.collname, '') AS part
             FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
             LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
             LEFT JOIN pg_collation o ON o.oid = a.attcollation
             WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND NOT a.attisdropped
             UNION ALL
             SELECT 'index ' || indexname || ': ' || indexdef FROM pg_indexes WHERE schemaname = current_schema()
             UNION ALL
             SELECT 'constraint ' || conrelid::regclass || '.' || conname || ': ' || pg_get_constraintdef(oid)
             FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
             UNION ALL
             SELECT 'trigger ' || tgrelid::regclass || '.' || tgname || ': ' || pg_get_triggerdef(oid)
             FROM pg_trigger WHERE NOT tgisinternal
             ORDER BY 1`,
};

async function schemaOf(db: Database): Promise<string[]> {
  return (await db.all<{ part: string }>(schemaSql)).map(({ part }) => part);
}

async function columnsOf(db: Database): Promise<Map<string, Column[]>> {
  const columns = await db.all<Column>(columnsSql);
  return Map.groupBy(
    columns.filter(({ table }) => !ownTables.includes(table)),
    ({ table }) => table,
  );
}

/** A value that no other row has. Also JSON, in a column that has it. */
function makeValue({ type }: Column, row: number): Value {
  if (/INT/i.test(type)) return row;
  if (/BLOB|bytea/i.test(type)) return Buffer.from(`bytes of row ${row}`);
  return `"row ${row}"`;
}

/** Two rows for each table: one with all columns, one with those only that a row must have. */
async function fill(db: Database, tables: ReadonlyMap<string, readonly Column[]>, step: number): Promise<void> {
  const statements = [...tables].flatMap(([table, columns]) =>
    [columns, columns.filter(({ optional }) => optional === 0)].map((chosen, i) => {
      const names = chosen.map(({ name }) => `"${name}"`).join(', ');
      const params = chosen.map((_, at) => `$${at + 1}`).join(', ');
      const sql = `INSERT INTO "${table}" (${names}) VALUES (${params})`;
      return [sql, chosen.map((column) => makeValue(column, 2 * step + i))] as const;
    }),
  );
  await executeAll(db, ...statements);
}

type Row = Readonly<Record<string, unknown>>;

async function rowsOf(db: Database, tables: ReadonlyMap<string, readonly Column[]>): Promise<Map<string, Row[]>> {
  const rows = new Map<string, Row[]>();
  for (const [table, columns] of tables) {
    // Not `*`: PostgreSQL refuses a prepared statement whose columns have changed.
    const list = columns.map(({ name }) => `"${name}"`).join(', ');
    rows.set(table, await db.all<Row>(`SELECT ${list} FROM "${table}"`));
  }
  return rows;
}

const asText = (row: Row, columns: readonly Column[]): string =>
  JSON.stringify(columns.map(({ name }) => (row[name] instanceof Uint8Array ? [...row[name]] : row[name])));

/** Migrates an empty database step by step, with rows from each. In the end its schema is that of a fresh one. */
export async function checkMigrations(db: Database, fresh: Database): Promise<void> {
  let columns = new Map<string, Column[]>();
  let before = new Map<string, Row[]>();
  for (const [index, { name }] of migrations.entries()) {
    assert.deepEqual(await migrate(db, { migrations: migrations.slice(0, index + 1) }), [name]);
    const newColumns = await columnsOf(db);
    await fill(db, newColumns, index);
    const after = await rowsOf(db, newColumns);
    for (const [table, rows] of before) {
      const own = columns.get(table) ?? [];
      const left = new Set(after.get(table)?.map((row) => asText(row, own)));
      const lost = rows.map((row) => asText(row, own)).filter((row) => !left.has(row));
      const expected = emptied[name]?.includes(table) ? rows.length : 0;
      assert.equal(lost.length, expected, `${name} changed rows of ${table}: ${lost[0]}`);
    }
    [columns, before] = [newColumns, after];
  }
  await migrate(fresh);
  assert.deepEqual(await schemaOf(db), await schemaOf(fresh));
}
