import { defineWrites, OwnerGone, type Reader, type Sql, type Tx } from '../../platform/db/database.ts';
import type { Picture, PictureType } from '../../platform/pictures.ts';
import { audited } from '../audit/index.ts';

export interface AppRow {
  id: string;
  owner_id: string | null;
  name: string;
  redirect_uris: string;
  /** 1: runs on people's own machines and can keep no secret. */
  public: number;
  /** Empty for a public app. */
  secret_hash: string;
  old_secret_hash: string | null;
  old_secret_until: number | null;
  demo: number;
  suspended_at: number | null;
  deleted_at: number | null;
  created_at: number;
  description: string | null;
  homepage_url: string | null;
  privacy_url: string | null;
  logo_id: string | null;
}

/** What the owner says about the app. */
export type DetailColumns = Pick<AppRow, 'name' | 'redirect_uris' | 'description' | 'homepage_url' | 'privacy_url'>;

const columns =
  'id, owner_id, name, redirect_uris, public, secret_hash, old_secret_hash, old_secret_until, demo, suspended_at, deleted_at, created_at, description, homepage_url, privacy_url, logo_id';

type NewApp = Omit<AppRow, 'old_secret_hash' | 'old_secret_until' | 'suspended_at' | 'deleted_at' | 'logo_id'>;

/** `exists`: the owner has, or had, an app with this id. `too_many`: the owner has `maxOfOwner` apps already. */
async function insertApp(tx: Tx, app: NewApp, maxOfOwner: number): Promise<'added' | 'exists' | 'too_many'> {
  if (app.owner_id !== null) {
    const count = await countOfOwner(tx, app.owner_id);
    const known = await tx.get('SELECT id FROM apps WHERE owner_id = $1 AND id = $2', [app.owner_id, app.id]);
    if (known) return 'exists';
    if (count >= maxOfOwner) return 'too_many';
  }
  await insertRow(tx, app);
  return 'added';
}

async function insertRow(tx: Tx, app: NewApp): Promise<void> {
  await tx.run(
    `INSERT INTO apps (id, owner_id, name, redirect_uris, public, secret_hash, demo, created_at, description, homepage_url, privacy_url)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      app.id,
      app.owner_id,
      app.name,
      app.redirect_uris,
      app.public,
      app.secret_hash,
      app.demo,
      app.created_at,
      app.description,
      app.homepage_url,
      app.privacy_url,
    ],
  );
}

const cliKey = 'cli_client_id';

/** The client id of the command line's own app. */
export async function cliClientId(db: Reader): Promise<string | undefined> {
  return (await db.get<{ value: string }>('SELECT value FROM meta WHERE key = $1', [cliKey]))?.value;
}

/** Of servers that start together, one inserts the app. */
async function insertCliApp(tx: Tx, app: NewApp): Promise<void> {
  const sql = 'INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING';
  if ((await tx.run(sql, [cliKey, app.id])) === 1) await insertRow(tx, app);
}

export function appById(db: Reader, id: string): Promise<AppRow | undefined> {
  return db.get<AppRow>(`SELECT ${columns} FROM apps WHERE id = $1 AND deleted_at IS NULL`, [id]);
}

const byIdsSql = (ids: string): string => `SELECT ${columns} FROM apps WHERE deleted_at IS NULL AND id IN (${ids})`;

const byIds: Sql = {
  sqlite: byIdsSql('SELECT value FROM json_each($1)'),
  postgres: byIdsSql('SELECT jsonb_array_elements_text(CAST($1 AS jsonb))'),
};

export function appsByIds(db: Reader, ids: readonly string[]): Promise<AppRow[]> {
  return db.all<AppRow>(byIds, [JSON.stringify(ids)]);
}

/** The current secret becomes the old one and replaces any older. Returns whether the current one was `replaced`. */
async function replaceSecret(
  tx: Tx,
  id: string,
  replaced: string,
  secretHash: string,
  oldUntil: number,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE apps SET old_secret_hash = secret_hash, old_secret_until = $4, secret_hash = $3
     WHERE id = $1 AND secret_hash = $2 AND public = 0 AND deleted_at IS NULL`,
    [id, replaced, secretHash, oldUntil],
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

/**
 * Locks the owner's row, so that concurrent registrations cannot exceed the limit. An account that is being deleted gets no
 * app any more: its apps are gone already.
 */
async function countOfOwner(tx: Tx, ownerId: string): Promise<number> {
  const owner = await tx.get<{ suspended_at: number | null }>(
    {
      sqlite: 'SELECT suspended_at FROM creators WHERE id = $1',
      postgres: 'SELECT suspended_at FROM creators WHERE id = $1 FOR UPDATE',
    },
    [ownerId],
  );
  if (owner?.suspended_at !== null) throw new OwnerGone(`there is no account ${ownerId}, or it is suspended`);
  const row = await tx.get<{ count: number }>(
    'SELECT count(*) AS count FROM apps WHERE owner_id = $1 AND deleted_at IS NULL',
    [ownerId],
  );
  return Number(row?.count);
}

async function updateDetails(tx: Tx, ownerId: string, id: string, details: DetailColumns): Promise<boolean> {
  const { name, redirect_uris, description, homepage_url, privacy_url } = details;
  const changed = await tx.run(
    `UPDATE apps SET name = $3, redirect_uris = $4, description = $5, homepage_url = $6, privacy_url = $7
     WHERE owner_id = $1 AND id = $2 AND deleted_at IS NULL`,
    [ownerId, id, name, redirect_uris, description, homepage_url, privacy_url],
  );
  return changed > 0;
}

/** Replaces or removes the logo. The update locks the app's row, which orders concurrent uploads. */
async function setLogo(
  tx: Tx,
  ownerId: string,
  clientId: string,
  logo: (Picture & { id: string; created_at: number }) | null,
): Promise<boolean> {
  const changed = await tx.run('UPDATE apps SET logo_id = $3 WHERE owner_id = $1 AND id = $2 AND deleted_at IS NULL', [
    ownerId,
    clientId,
    logo?.id ?? null,
  ]);
  if (changed === 0) return false;
  await tx.run('DELETE FROM app_logos WHERE client_id = $1', [clientId]);
  if (logo)
    await tx.run('INSERT INTO app_logos (client_id, id, type, bytes, created_at) VALUES ($1, $2, $3, $4, $5)', [
      clientId,
      logo.id,
      logo.type,
      logo.bytes,
      logo.created_at,
    ]);
  return true;
}

/** Returns nothing if the app is suspended. */
export function logoInfo(db: Reader, id: string): Promise<{ type: PictureType; size: number } | undefined> {
  return db.get(
    `SELECT l.type, length(l.bytes) AS size FROM app_logos l JOIN apps a ON a.id = l.client_id
     WHERE l.id = $1 AND a.suspended_at IS NULL`,
    [id],
  );
}

export async function logoBytes(db: Reader, id: string): Promise<Uint8Array | undefined> {
  const [logo] = await db.all<Pick<Picture, 'bytes'>>('SELECT bytes FROM app_logos WHERE id = $1', [id]);
  return logo?.bytes;
}

/**
 * Marks the app as deleted, and clears its secrets and details. From then on it is refused everywhere; its grants end in
 * later writes (oauth/grants/app-end-repo.ts). Returns whether the owner has such an app.
 */
export async function deleteApp(tx: Tx, ownerId: string, id: string, at: number): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE apps SET deleted_at = $3, secret_hash = '', old_secret_hash = NULL, old_secret_until = NULL,
       description = NULL, homepage_url = NULL, privacy_url = NULL, logo_id = NULL
     WHERE owner_id = $1 AND id = $2 AND deleted_at IS NULL`,
    [ownerId, id, at],
  );
  if (changed === 0) return false;
  for (const table of ['app_logos', 'app_failures', 'app_failure_hours'])
    await tx.run(`DELETE FROM ${table} WHERE client_id = $1`, [id]);
  return true;
}

export const writes = defineWrites(import.meta.url, {
  insertApp: audited('app.created', insertApp, (outcome, { id, name }) => {
    return outcome === 'added' && { clientId: id, details: { name } };
  }),
  insertCliApp,
  replaceSecret: audited('app.secret_replaced', replaceSecret, (replaced, clientId) => replaced && { clientId }),
  setLogo: audited('app.changed', setLogo, (changed, _owner, clientId) => changed && { clientId }),
  setSuspended: audited('app.suspended_or_restored', setSuspended, (changed, clientId, at) => {
    return changed && { clientId, details: { now: at === null ? 'restored' : 'suspended' } };
  }),
  updateDetails: audited('app.changed', updateDetails, (changed, _owner, clientId, { name }) => {
    return changed && { clientId, details: { name } };
  }),
});
