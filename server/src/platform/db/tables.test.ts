import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp, onNodes } from '../../../test/build-app.ts';
import { jobs } from '../../housekeeping.ts';
import type { Database } from './database.ts';
import { type TablePolicy, tables } from './tables.ts';

const policies: [string, TablePolicy][] = Object.entries(tables);

/** The real schema: the columns of every table. */
async function schemaOf(db: Database): Promise<Map<string, string[]>> {
  const rows = await db.all<{ table: string; column: string }>({
    sqlite: `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c
             WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`,
    postgres: `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
               WHERE table_schema = current_schema()`,
  });
  const schema = new Map<string, string[]>();
  for (const { table, column } of rows) schema.set(table, [...(schema.get(table) ?? []), column]);
  return schema;
}

test('every table says what becomes of its rows, and every column that it names exists', async (t) => {
  const { runtime } = await buildApp(t);
  const schema = await schemaOf(runtime.db);
  const declared = policies.map(([name]) => name).filter((name) => !onNodes || name !== 'table_versions');
  assert.deepEqual([...schema.keys()].sort(), declared.sort(), 'tables.ts must name every table, and no other');
  for (const [name, { owner, exported, sealed }] of policies) {
    const columns = schema.get(name) ?? [];
    if (onNodes && name === 'table_versions') continue;
    const named = [
      ...Object.values(owner ?? {}),
      ...(typeof exported === 'object' && 'without' in exported ? exported.without : []),
      ...sealed.flatMap(({ column, id }) => [column, id]),
    ];
    assert.deepEqual(
      named.filter((column) => !columns.includes(column)),
      [],
      `columns of ${name} that do not exist`,
    );
    const looksSealed = columns.filter((column) => column.startsWith('sealed_'));
    assert.deepEqual(
      looksSealed.filter((name) => !sealed.some(({ column }) => column === name)),
      [],
      `sealed columns of ${name}`,
    );
    if (columns.includes('creator_id')) assert.equal(owner?.creator, 'creator_id', `the owner of ${name}`);
    if (typeof exported === 'object' && 'without' in exported)
      for (const column of columns.filter((one) => /sealed_|hash/.test(one)))
        assert.ok(exported.without.includes(column), `${name}.${column} would be exported`);
  }
});

/** Found by a secret that is shown, before its creator is known. */
const foundBySecret = ['device_codes', 'refresh_tokens'];

test('every table of a creator has a unique key that begins with the creator', async (t) => {
  const { runtime } = await buildApp(t);
  const rows = await runtime.db.all<{ name: string }>({
    sqlite: `SELECT t.name FROM sqlite_schema t WHERE t.type = 'table' AND EXISTS (
               SELECT 1 FROM pragma_index_list(t.name) l, pragma_index_info(l.name) i
               WHERE l."unique" = 1 AND i.seqno = 0 AND i.name = 'creator_id')`,
    postgres: `SELECT DISTINCT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
               JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
               WHERE i.indisunique AND a.attname = 'creator_id' AND c.relnamespace = current_schema()::regnamespace`,
  });
  const ofCreators = policies.filter(([, { owner }]) => owner?.creator === 'creator_id').map(([name]) => name);
  const keyed = new Set(rows.map(({ name }) => name));
  assert.deepEqual(ofCreators.filter((name) => !keyed.has(name)).sort(), foundBySecret);
});

test('a table that grows has a job that deletes what is old', () => {
  for (const [name, { pruned }] of policies)
    if ('job' in pruned) assert.ok(Object.hasOwn(jobs, pruned.job), `${name} is pruned by no job: ${pruned.job}`);
});
