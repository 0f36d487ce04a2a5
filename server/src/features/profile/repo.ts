import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';
import { setAvatarId } from '../accounts/index.ts';

export type AvatarType = 'image/png' | 'image/jpeg' | 'image/webp';

export interface AvatarRow {
  creator_id: string;
  id: string;
  type: AvatarType;
  bytes: Uint8Array;
  created_at: number;
}

/** Returns nothing if the creator is suspended. */
export function avatarById(db: Reader, id: string): Promise<Pick<AvatarRow, 'type' | 'bytes'> | undefined> {
  return db.get(
    `SELECT a.type, a.bytes FROM avatars a JOIN creators c ON c.id = a.creator_id
     WHERE a.id = $1 AND c.suspended_at IS NULL`,
    [id],
  );
}

/** Replaces or removes the avatar. Updates the creator's row first: its lock orders concurrent uploads. */
async function setAvatar(tx: Tx, creatorId: string, avatar: Omit<AvatarRow, 'creator_id'> | null): Promise<void> {
  await setAvatarId(tx, creatorId, avatar?.id ?? null);
  await tx.run('DELETE FROM avatars WHERE creator_id = $1', [creatorId]);
  if (avatar)
    await tx.run('INSERT INTO avatars (creator_id, id, type, bytes, created_at) VALUES ($1, $2, $3, $4, $5)', [
      creatorId,
      avatar.id,
      avatar.type,
      avatar.bytes,
      avatar.created_at,
    ]);
}

export const writes = defineWrites(import.meta.url, { setAvatar });
