import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';
import { audited } from '../audit/index.ts';

export interface LinkRow {
  id: string;
  title: string;
  created_at: number;
}

export function linksOf(db: Reader, creatorId: string): Promise<LinkRow[]> {
  return db.all<LinkRow>(
    'SELECT id, title, created_at FROM moderator_links WHERE creator_id = $1 ORDER BY created_at, id',
    [creatorId],
  );
}

/** Returns nothing if the creator is suspended. */
export function creatorByLink(db: Reader, keyHash: string): Promise<{ creator_id: string } | undefined> {
  return db.get<{ creator_id: string }>(
    `SELECT m.creator_id FROM moderator_links m JOIN creators c ON c.id = m.creator_id
     WHERE m.key_hash = $1 AND c.suspended_at IS NULL`,
    [keyHash],
  );
}

/** A link that has this id already stays as it is. */
async function insertLink(
  tx: Tx,
  creatorId: string,
  link: LinkRow,
  keyHash: string,
  maxLinks: number,
): Promise<'added' | 'exists' | 'too_many'> {
  // The head's row is locked, so that of many at once no more than allowed are added.
  await tx.run('UPDATE creator_heads SET sequence = sequence WHERE creator_id = $1', [creatorId]);
  const inserted = await tx.run(
    `INSERT INTO moderator_links (creator_id, id, title, key_hash, created_at)
     SELECT creator_id, $2, $3, $4, $5 FROM creator_heads
     WHERE creator_id = $1 AND (SELECT COUNT(*) FROM moderator_links WHERE creator_id = $1) < $6
     ON CONFLICT (creator_id, id) DO NOTHING`,
    [creatorId, link.id, link.title, keyHash, link.created_at, maxLinks],
  );
  if (inserted > 0) return 'added';
  const known = await tx.get('SELECT id FROM moderator_links WHERE creator_id = $1 AND id = $2', [creatorId, link.id]);
  return known ? 'exists' : 'too_many';
}

async function deleteLink(tx: Tx, creatorId: string, id: string): Promise<boolean> {
  return (await tx.run('DELETE FROM moderator_links WHERE creator_id = $1 AND id = $2', [creatorId, id])) > 0;
}

export const writes = defineWrites(import.meta.url, {
  insertLink: audited('moderator_link.created', insertLink, (outcome, creatorId, { title }) => {
    return outcome === 'added' && { creatorId, details: { title } };
  }),
  deleteLink: audited('moderator_link.revoked', deleteLink, (deleted, creatorId) => deleted && { creatorId }),
});
