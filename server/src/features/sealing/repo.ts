import { defineWrites, type Reader, type Sql, type Tx } from '../../platform/db/database.ts';
import type { SealedColumn } from '../../platform/db/tables.ts';
import { audited } from '../audit/index.ts';

export interface SealingState {
  /** The id of the key that seals; nothing as long as SECRET_KEY was never replaced. */
  readonly sealingKey: string | undefined;
  /** Whether everything is sealed with it. */
  readonly complete: boolean;
}

export async function sealingState(db: Reader): Promise<SealingState> {
  const rows = await db.all<{ key: string; value: string }>(
    `SELECT key, value FROM meta WHERE key IN ('sealing_key', 'resealed_key')`,
  );
  const find = (key: string) => rows.find((row) => row.key === key)?.value;
  const sealingKey = find('sealing_key');
  return { sealingKey, complete: sealingKey !== undefined && find('resealed_key') === sealingKey };
}

const setMeta = (tx: Tx, key: string, value: string): Promise<number> =>
  tx.run('INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value', [
    key,
    value,
  ]);

/**
 * From now on this key seals, in place of `before`, or of a key that was never replaced. Returns false if another one seals
 * by now. What an earlier rotation to the same key has completed says nothing about this one.
 */
async function beginRotation(tx: Tx, keyId: string, before: string | null): Promise<boolean> {
  const begun =
    before === null
      ? await tx.run(`INSERT INTO meta (key, value) VALUES ('sealing_key', $1) ON CONFLICT (key) DO NOTHING`, [keyId])
      : await tx.run(`UPDATE meta SET value = $1 WHERE key = 'sealing_key' AND value = $2`, [keyId, before]);
  if (begun > 0) await tx.run(`DELETE FROM meta WHERE key = 'resealed_key'`);
  return begun > 0;
}

/** Everything is sealed with this key. */
async function completeRotation(tx: Tx, keyId: string): Promise<void> {
  await setMeta(tx, 'resealed_key', keyId);
}

/** A server that runs on this database. */
export interface NodeRow {
  id: string;
  /** For people. */
  name: string;
  /** Ids, joined by spaces. */
  secret_keys: string;
  sealing_key: string;
}

/** One clock for all nodes. */
const now = {
  sqlite: `CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  postgres: 'CAST(EXTRACT(EPOCH FROM CLOCK_TIMESTAMP()) * 1000 AS BIGINT)',
};
const withNow = (sql: (now: string) => string): Sql => ({ sqlite: sql(now.sqlite), postgres: sql(now.postgres) });

/** A node without a heartbeat for this long is dead. */
const liveMs = 60_000;

const liveNodesSql = withNow(
  (now) => `SELECT id, name, secret_keys, sealing_key FROM nodes WHERE seen_at > ${now} - ${liveMs} ORDER BY name, id`,
);

export const liveNodes = (db: Reader): Promise<NodeRow[]> => db.all<NodeRow>(liveNodesSql);

const setNodeSql = withNow(
  (now) => `INSERT INTO nodes (id, name, secret_keys, sealing_key, seen_at) VALUES ($1, $2, $3, $4, ${now})
    ON CONFLICT (id) DO UPDATE SET sealing_key = excluded.sealing_key, seen_at = excluded.seen_at`,
);
const deleteDeadSql = withNow((now) => `DELETE FROM nodes WHERE seen_at < ${now} - ${10 * liveMs}`);

async function setNode(tx: Tx, node: NodeRow): Promise<void> {
  await tx.run(setNodeSql, [node.id, node.name, node.secret_keys, node.sealing_key]);
  await tx.run(deleteDeadSql);
}

function deleteNode(tx: Tx, id: string): Promise<number> {
  return tx.run('DELETE FROM nodes WHERE id = $1', [id]);
}

export type SealedField = SealedColumn & { readonly table: string };

export interface SealedRow {
  readonly id: string;
  readonly sealed: Uint8Array | string;
}

const condition = ({ column, id, only }: SealedField): string =>
  `${column} IS NOT NULL${only === undefined ? '' : ` AND ${id} = '${only}'`}`;

export async function countSealed(db: Reader, field: SealedField): Promise<number> {
  const row = await db.get<{ n: number }>(`SELECT COUNT(*) AS n FROM ${field.table} WHERE ${condition(field)}`);
  return row?.n ?? 0;
}

/** Sealed values in the order of their ids. */
export function sealedAfter(db: Reader, field: SealedField, after: string, limit: number): Promise<SealedRow[]> {
  const { table, column, id } = field;
  return db.all<SealedRow>(
    `SELECT ${id} AS id, ${column} AS sealed FROM ${table} WHERE ${id} > $1 AND ${condition(field)} ORDER BY ${id} LIMIT $2`,
    [after, limit],
  );
}

export interface Resealed extends SealedRow {
  readonly before: Uint8Array | string;
}

/** A value that has changed meanwhile stays as it is. Returns how many were replaced. */
async function replaceSealed(tx: Tx, { table, column, id }: SealedField, values: readonly Resealed[]): Promise<number> {
  let replaced = 0;
  for (const value of values)
    replaced += await tx.run(`UPDATE ${table} SET ${column} = $3 WHERE ${id} = $1 AND ${column} = $2`, [
      value.id,
      value.before,
      value.sealed,
    ]);
  return replaced;
}

export const writes = defineWrites(import.meta.url, {
  beginRotation: audited('secret_key.rotated', beginRotation, (begun) => begun && {}),
  completeRotation,
  setNode,
  deleteNode,
  replaceSealed,
});
