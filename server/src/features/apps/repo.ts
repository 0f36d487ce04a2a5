import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';

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

const columns =
  'id, owner_id, name, redirect_uris, secret_hash, old_secret_hash, old_secret_until, demo, suspended_at, deleted_at, created_at';

type NewApp = Omit<AppRow, 'old_secret_hash' | 'old_secret_until' | 'suspended_at' | 'deleted_at'>;

/** `exists`: the owner has, or had, an app with this id. `too_many`: the owner has `maxOfOwner` apps already. */
async function insertApp(tx: Tx, app: NewApp, maxOfOwner: number): Promise<'added' | 'exists' | 'too_many'> {
  if (app.owner_id !== null) {
    const count = await countOfOwner(tx, app.owner_id);
    const known = await tx.get('SELECT id FROM apps WHERE owner_id = $1 AND id = $2', [app.owner_id, app.id]);
    if (known) return 'exists';
    if (count >= maxOfOwner) return 'too_many';
  }
  await tx.run(
    `INSERT INTO apps (id, owner_id, name, redirect_uris, secret_hash, demo, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [app.id, app.owner_id, app.name, app.redirect_uris, app.secret_hash, app.demo, app.created_at],
  );
  return 'added';
}

export function appById(db: Reader, id: string): Promise<AppRow | undefined> {
  return db.get<AppRow>(`SELECT ${columns} FROM apps WHERE id = $1 AND deleted_at IS NULL`, [id]);
}

/** The current secret becomes the old one and replaces any older. Returns whether the app exists. */
async function replaceSecret(tx: Tx, id: string, secretHash: string, oldUntil: number): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE apps SET old_secret_hash = secret_hash, old_secret_until = $3, secret_hash = $2
     WHERE id = $1 AND deleted_at IS NULL`,
    [id, secretHash, oldUntil],
  );
  return changed > 0;
}

async function setSuspended(tx: Tx, id: string, at: number | null): Promise<boolean> {
  const changed = await tx.run('UPDATE apps SET suspended_at = $2 WHERE id = $1 AND deleted_at IS NULL', [id, at]);
  return changed > 0;
}

/** Newest first. */
export function appsOfOwner(db: Reader, ownerId: string): Promise<AppRow[]> {
  return db.all<AppRow>(
    `SELECT ${columns} FROM apps WHERE owner_id = $1 AND deleted_at IS NULL ORDER BY created_at DESC, id`,
    [ownerId],
  );
}

export function appOfOwner(db: Reader, ownerId: string, id: string): Promise<AppRow | undefined> {
  return db.get<AppRow>(`SELECT ${columns} FROM apps WHERE owner_id = $1 AND id = $2 AND deleted_at IS NULL`, [
    ownerId,
    id,
  ]);
}

/** Locks the owner's row, so that concurrent registrations cannot exceed the limit. */
async function countOfOwner(tx: Tx, ownerId: string): Promise<number> {
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

async function updateDetails(
  tx: Tx,
  ownerId: string,
  app: Pick<AppRow, 'id' | 'name' | 'redirect_uris'>,
): Promise<boolean> {
  const changed = await tx.run(
    'UPDATE apps SET name = $3, redirect_uris = $4 WHERE owner_id = $1 AND id = $2 AND deleted_at IS NULL',
    [ownerId, app.id, app.name, app.redirect_uris],
  );
  return changed > 0;
}

/**
 * Marks the app as deleted and clears its secrets. The row stays, because ended grants and tips refer to it. The calling
 * write must end the app's grants. Returns whether the owner has such an app.
 */
export async function deleteApp(tx: Tx, ownerId: string, id: string, at: number): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE apps SET deleted_at = $3, secret_hash = '', old_secret_hash = NULL, old_secret_until = NULL
     WHERE owner_id = $1 AND id = $2 AND deleted_at IS NULL`,
    [ownerId, id, at],
  );
  return changed > 0;
}

export const writes = defineWrites(import.meta.url, { insertApp, replaceSecret, setSuspended, updateDetails });
