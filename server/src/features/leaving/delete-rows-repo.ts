/** Deletes the rows of a creator in small batches, by the tables of platform/db/tables.ts. */
import { defineWrites, type Reader, type Sql, type Tx } from '../../platform/db/database.ts';
import { appTables, creatorTables, isErased } from '../../platform/db/tables.ts';

export function liveGrants(db: Reader, creatorId: string): Promise<{ client_id: string }[]> {
  return db.all('SELECT client_id FROM grants WHERE creator_id = $1 AND ended_at IS NULL', [creatorId]);
}

const deleteSql = (table: string, owned: string): Sql => {
  const rows = (key: string) =>
    `DELETE FROM ${table} WHERE ${owned} AND ${key} IN (SELECT ${key} FROM ${table} WHERE ${owned} LIMIT $2)`;
  return { sqlite: rows('rowid'), postgres: rows('ctid') };
};

/**
 * Families and refresh tokens go by themselves (`deleteFamiliesOf`), the apps of an account by `deleteApp`, and the
 * creator's own row goes last.
 */
const deletedSeparately = ['creators', 'families', 'refresh_tokens', 'apps'];

const ofCreator = new Map(
  creatorTables
    .filter(({ table }) => isErased(table) && !deletedSeparately.includes(table))
    .map(({ table, column }) => [table, deleteSql(table, `${column} = $1`)]),
);

const ofApps = new Map(
  appTables
    .filter(({ table }) => isErased(table))
    .map(({ table, column }) => [table, deleteSql(table, `${column} IN (SELECT id FROM apps WHERE owner_id = $1)`)]),
);

/** The tables whose rows go with their creator, and those whose rows go with the apps of an account. */
export const tablesOfCreator: readonly string[] = [...ofCreator.keys()];
export const tablesOfApps: readonly string[] = [...ofApps.keys()];

/** All tables that hold something of an account: what is kept of a row is a new version of it. */
export const ownedTables: readonly string[] = [...new Set([...creatorTables, ...appTables].map(({ table }) => table))];

/** Deletes up to `limit` rows of a creator who is being removed. Returns how many. */
async function deleteRows(tx: Tx, creatorId: string, table: string, limit: number): Promise<number> {
  const sql = ofCreator.get(table);
  if (!sql) throw new Error(`${table} is no table of creators`);
  return tx.run(sql, [creatorId, limit]);
}

/** The same of the apps of an account. */
async function deleteRowsOfApps(tx: Tx, ownerId: string, table: string, limit: number): Promise<number> {
  const sql = ofApps.get(table);
  if (!sql) throw new Error(`${table} is no table of apps`);
  return tx.run(sql, [ownerId, limit]);
}

/** The log of what an endpoint got has answers of its server. */
export function endpointsOfOwner(db: Reader, ownerId: string): Promise<{ id: string }[]> {
  return db.all('SELECT id FROM webhook_endpoints WHERE client_id IN (SELECT id FROM apps WHERE owner_id = $1)', [
    ownerId,
  ]);
}

function deleteDeliveries(tx: Tx, endpointId: string, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM webhook_deliveries WHERE endpoint_id = $1 AND id IN
       (SELECT id FROM webhook_deliveries WHERE endpoint_id = $1 ORDER BY id LIMIT $2)`,
    [endpointId, limit],
  );
}

export function appsOfOwner(db: Reader, ownerId: string): Promise<{ id: string }[]> {
  return db.all('SELECT id FROM apps WHERE owner_id = $1 AND deleted_at IS NULL', [ownerId]);
}

/** Tips of others keep the names of deleted apps, so these rows stay, without their owner. */
function releaseApps(tx: Tx, ownerId: string): Promise<number> {
  return tx.run(
    `UPDATE apps SET owner_id = NULL, redirect_uris = '[]' WHERE owner_id = $1 AND deleted_at IS NOT NULL`,
    [ownerId],
  );
}

export const writes = defineWrites(import.meta.url, { deleteRows, deleteRowsOfApps, deleteDeliveries, releaseApps });
