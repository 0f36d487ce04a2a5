import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';
import { appTables, creatorTables } from '../../platform/db/tables.ts';
import { audited } from '../audit/index.ts';

export async function isEmpty(db: Reader): Promise<boolean> {
  return (
    (await db.get('SELECT id FROM creators LIMIT 1')) === undefined &&
    (await db.get('SELECT id FROM apps WHERE owner_id IS NOT NULL OR public = 0 LIMIT 1')) === undefined
  );
}

/** The sealed credentials of the demo, in base64. */
export async function demoRecord(db: Reader): Promise<string | undefined> {
  return (await db.get<{ value: string }>(`SELECT value FROM meta WHERE key = 'demo'`))?.value;
}

/** Whether there is a demo creator without the record, which is written last, or without a head, which is removed first. */
export async function isUnfinished(db: Reader): Promise<boolean> {
  const sql = `SELECT id FROM creators WHERE demo = 1 AND (NOT EXISTS (SELECT 1 FROM meta WHERE key = 'demo')
    OR NOT EXISTS (SELECT 1 FROM creator_heads WHERE creator_id = creators.id)) LIMIT 1`;
  return (await db.get(sql)) !== undefined;
}

async function insertDemoRecord(tx: Tx, sealed: string): Promise<void> {
  await tx.run(`INSERT INTO meta (key, value) VALUES ('demo', $1)`, [sealed]);
}

export async function familyOf(
  db: Reader,
  creatorId: string,
  clientId: string,
): Promise<{ family_id: string; grant_id: string } | undefined> {
  return db.get(
    `SELECT f.id AS family_id, f.grant_id FROM families f
     JOIN grants g ON g.creator_id = f.creator_id AND g.id = f.grant_id
     WHERE f.creator_id = $1 AND g.client_id = $2 AND g.ended_at IS NULL AND f.ended_at IS NULL ORDER BY f.created_at LIMIT 1`,
    [creatorId, clientId],
  );
}

/** The demo apps that may act for somebody. */
export function connectedApps(db: Reader): Promise<{ id: string; owner_id: string }[]> {
  return db.all(
    `SELECT id, owner_id FROM apps WHERE demo = 1
       AND EXISTS (SELECT 1 FROM grants WHERE grants.client_id = apps.id AND grants.ended_at IS NULL)`,
  );
}

export function demoCreators(db: Reader): Promise<{ id: string }[]> {
  return db.all('SELECT id FROM creators WHERE demo = 1');
}

async function removeDemo(tx: Tx): Promise<number> {
  for (const { table, column } of creatorTables)
    if (table !== 'creators' && table !== 'apps')
      await tx.run(`DELETE FROM ${table} WHERE ${column} IN (SELECT id FROM creators WHERE demo = 1)`);
  for (const { table, column } of appTables)
    await tx.run(`DELETE FROM ${table} WHERE ${column} IN (SELECT id FROM apps WHERE demo = 1)`);
  await tx.run('DELETE FROM grants WHERE client_id IN (SELECT id FROM apps WHERE demo = 1)');
  const removed =
    (await tx.run('DELETE FROM apps WHERE demo = 1')) + (await tx.run('DELETE FROM creators WHERE demo = 1'));
  await tx.run(`DELETE FROM meta WHERE key = 'demo'`);
  return removed;
}

export const writes = defineWrites(import.meta.url, {
  insertDemoRecord,
  removeDemo: audited('demo.removed', removeDemo, (removed) => removed > 0 && {}),
});
