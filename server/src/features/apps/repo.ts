import type { Reader, Tx } from '../../platform/db/database.ts';

export interface AppRow {
  id: string;
  owner_id: string | null;
  name: string;
  redirect_uris: string;
  secret_hash: string;
  old_secret_hash: string | null;
  old_secret_until: number | null;
  demo: number;
  suspended_at: number | null;
  deleted_at: number | null;
  created_at: number;
}

export async function insertApp(
  tx: Tx,
  app: Omit<AppRow, 'old_secret_hash' | 'old_secret_until' | 'suspended_at' | 'deleted_at'>,
): Promise<void> {
  await tx.run(
    `INSERT INTO apps (id, owner_id, name, redirect_uris, secret_hash, demo, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [app.id, app.owner_id, app.name, app.redirect_uris, app.secret_hash, app.demo, app.created_at],
  );
}

export function appById(db: Reader, id: string): Promise<AppRow | undefined> {
  return db.get<AppRow>('SELECT * FROM apps WHERE id = $1 AND deleted_at IS NULL', [id]);
}

/** The secret until now becomes the old one, in place of any older. */
export function replaceSecret(tx: Tx, id: string, secretHash: string, oldUntil: number): Promise<number> {
  return tx.run(
    `UPDATE apps SET old_secret_hash = secret_hash, old_secret_until = $3, secret_hash = $2
     WHERE id = $1 AND deleted_at IS NULL`,
    [id, secretHash, oldUntil],
  );
}

export function setSuspended(tx: Tx, id: string, at: number | null): Promise<number> {
  return tx.run('UPDATE apps SET suspended_at = $2 WHERE id = $1 AND deleted_at IS NULL', [id, at]);
}
