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

/** Newest first. */
export function appsOfOwner(db: Reader, ownerId: string): Promise<AppRow[]> {
  return db.all<AppRow>('SELECT * FROM apps WHERE owner_id = $1 AND deleted_at IS NULL ORDER BY created_at DESC, id', [
    ownerId,
  ]);
}

export function appOfOwner(db: Reader, ownerId: string, id: string): Promise<AppRow | undefined> {
  return db.get<AppRow>('SELECT * FROM apps WHERE owner_id = $1 AND id = $2 AND deleted_at IS NULL', [ownerId, id]);
}

/** How many apps an owner has. The owner's row is locked, so that two registrations cannot both be the last. */
export async function countOfOwner(tx: Tx, ownerId: string): Promise<number> {
  await tx.get(
    {
      sqlite: 'SELECT id FROM creators WHERE id = $1',
      postgres: 'SELECT id FROM creators WHERE id = $1 FOR UPDATE',
    },
    [ownerId],
  );
  const row = await tx.get<{ count: number }>(
    'SELECT count(*) AS count FROM apps WHERE owner_id = $1 AND deleted_at IS NULL',
    [ownerId],
  );
  return Number(row?.count);
}

export function updateDetails(
  tx: Tx,
  ownerId: string,
  app: Pick<AppRow, 'id' | 'name' | 'redirect_uris'>,
): Promise<number> {
  return tx.run(
    'UPDATE apps SET name = $3, redirect_uris = $4 WHERE owner_id = $1 AND id = $2 AND deleted_at IS NULL',
    [ownerId, app.id, app.name, app.redirect_uris],
  );
}

/** The row stays: ended grants and tips point at it. Its secrets go. */
export function deleteApp(tx: Tx, ownerId: string, id: string, at: number): Promise<number> {
  return tx.run(
    `UPDATE apps SET deleted_at = $3, secret_hash = '', old_secret_hash = NULL, old_secret_until = NULL
     WHERE owner_id = $1 AND id = $2 AND deleted_at IS NULL`,
    [ownerId, id, at],
  );
}
