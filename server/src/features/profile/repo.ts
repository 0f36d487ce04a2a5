import type { Reader, Tx } from '../../platform/db/database.ts';

export type AvatarType = 'image/png' | 'image/jpeg' | 'image/webp';

export interface AvatarRow {
  creator_id: string;
  id: string;
  type: AvatarType;
  bytes: Uint8Array;
  created_at: number;
}

/** A suspended creator's picture is not shown. */
export function avatarById(db: Reader, id: string): Promise<Pick<AvatarRow, 'type' | 'bytes'> | undefined> {
  return db.get(
    `SELECT a.type, a.bytes FROM avatars a JOIN creators c ON c.id = a.creator_id
     WHERE a.id = $1 AND c.suspended_at IS NULL`,
    [id],
  );
}

export async function insertAvatar(tx: Tx, avatar: AvatarRow): Promise<void> {
  await tx.run('INSERT INTO avatars (creator_id, id, type, bytes, created_at) VALUES ($1, $2, $3, $4, $5)', [
    avatar.creator_id,
    avatar.id,
    avatar.type,
    avatar.bytes,
    avatar.created_at,
  ]);
}

export function deleteAvatars(tx: Tx, creatorId: string): Promise<number> {
  return tx.run('DELETE FROM avatars WHERE creator_id = $1', [creatorId]);
}
