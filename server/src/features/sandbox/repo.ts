import { defineWrites, OwnerGone, type Reader, type Tx } from '../../platform/db/database.ts';
import { insertCreator, lockCreator } from '../accounts/index.ts';
import { audited } from '../audit/index.ts';

export interface SandboxRow {
  id: string;
  username: string;
  display_name: string;
  /** Set while the operator has suspended it, or its developer. */
  suspended_at: number | null;
  created_at: number;
}

/** Oldest first. */
export function sandboxesOf(db: Reader, developerId: string): Promise<SandboxRow[]> {
  return db.all(
    `SELECT id, username, display_name, suspended_at, created_at FROM creators
     WHERE sandbox_of = $1 AND removed_at IS NULL ORDER BY created_at, id`,
    [developerId],
  );
}

/** Returns nothing for one that is suspended. */
export function sandboxOfDeveloper(db: Reader, developerId: string, id: string): Promise<SandboxRow | undefined> {
  return db.get(
    `SELECT id, username, display_name, suspended_at, created_at FROM creators
     WHERE id = $2 AND sandbox_of = $1 AND removed_at IS NULL AND suspended_at IS NULL`,
    [developerId, id],
  );
}

/** Locks the developer's row, so that concurrent requests cannot exceed `most`. The form that is sent twice makes one. */
async function insertSandbox(
  tx: Tx,
  developerId: string,
  creator: SandboxRow,
  most: number,
): Promise<'added' | 'exists' | 'too_many'> {
  const developer = await lockCreator(tx, developerId);
  // Of one that is being deleted, the sandbox creators are gone already.
  if (developer?.suspended_at !== null) throw new OwnerGone(`there is no account ${developerId}, or it is suspended`);
  const held = await sandboxesOf(tx, developerId);
  if (held.some(({ id }) => id === creator.id)) return 'exists';
  if (held.length >= most) return 'too_many';
  await insertCreator(tx, { ...creator, password_hash: null, demo: developer.demo, sandbox_of: developerId });
  return 'added';
}

async function renameSandbox(tx: Tx, developerId: string, id: string, displayName: string): Promise<boolean> {
  const renamed = await tx.run(
    'UPDATE creators SET display_name = $3 WHERE id = $2 AND sandbox_of = $1 AND removed_at IS NULL',
    [developerId, id, displayName],
  );
  return renamed > 0;
}

/**
 * From here on nothing can be done as this creator: it is suspended for good, and without its head nothing is appended
 * to its log. Returns whether the developer has such a creator.
 */
async function startRemoval(tx: Tx, developerId: string, id: string, now: number): Promise<boolean> {
  const found = await tx.run(
    `UPDATE creators SET removed_at = $3, suspended_at = COALESCE(suspended_at, $3)
     WHERE id = $2 AND sandbox_of = $1 AND removed_at IS NULL`,
    [developerId, id, now],
  );
  if (found > 0) await tx.run('DELETE FROM creator_heads WHERE creator_id = $1', [id]);
  return found > 0;
}

export function removedSandboxes(db: Reader): Promise<{ id: string }[]> {
  return db.all('SELECT id FROM creators WHERE sandbox_of IS NOT NULL AND removed_at IS NOT NULL');
}

async function deleteCreator(tx: Tx, creatorId: string): Promise<void> {
  await tx.run('DELETE FROM creators WHERE id = $1 AND sandbox_of IS NOT NULL AND removed_at IS NOT NULL', [creatorId]);
}

export const writes = defineWrites(import.meta.url, {
  insertSandbox: audited('sandbox.created', insertSandbox, (outcome, creatorId, { id, display_name }) => {
    return outcome === 'added' && { creatorId, details: { sandbox: id, name: display_name } };
  }),
  renameSandbox: audited('sandbox.renamed', renameSandbox, (renamed, creatorId, id, name) => {
    return renamed && { creatorId, details: { sandbox: id, name } };
  }),
  startRemoval: audited('sandbox.removed', startRemoval, (found, creatorId, id) => {
    return found && { creatorId, details: { sandbox: id } };
  }),
  deleteCreator,
});
