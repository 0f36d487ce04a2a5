import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';
import type { PictureType } from '../../platform/pictures.ts';
import { setAvatarId } from '../accounts/index.ts';
import { audited } from '../audit/index.ts';

export interface AvatarRow {
  creator_id: string;
  id: string;
  type: PictureType;
  bytes: Uint8Array;
  /** 0: as it was uploaded, from before pictures were encoded anew. */
  encoded: number;
  created_at: number;
}

/** Returns nothing if the creator is suspended. */
export function avatarInfo(
  db: Reader,
  id: string,
): Promise<(Pick<AvatarRow, 'creator_id' | 'type' | 'encoded'> & { size: number }) | undefined> {
  return db.get(
    `SELECT a.creator_id, a.type, a.encoded, length(a.bytes) AS size FROM avatars a JOIN creators c ON c.id = a.creator_id
     WHERE a.id = $1 AND c.suspended_at IS NULL`,
    [id],
  );
}

export async function avatarBytes(db: Reader, id: string): Promise<Uint8Array | undefined> {
  const [avatar] = await db.all<Pick<AvatarRow, 'bytes'>>('SELECT bytes FROM avatars WHERE id = $1', [id]);
  return avatar?.bytes;
}

/** Replaces or removes the avatar. Updates the creator's row first: its lock orders concurrent uploads. */
async function setAvatar(
  tx: Tx,
  creatorId: string,
  avatar: Omit<AvatarRow, 'creator_id' | 'encoded'> | null,
): Promise<void> {
  await setAvatarId(tx, creatorId, avatar?.id ?? null);
  await tx.run('DELETE FROM avatars WHERE creator_id = $1', [creatorId]);
  if (avatar)
    await tx.run(
      'INSERT INTO avatars (creator_id, id, type, bytes, created_at, encoded) VALUES ($1, $2, $3, $4, $5, 1)',
      [creatorId, avatar.id, avatar.type, avatar.bytes, avatar.created_at],
    );
}

/** Puts the encoded picture in place of the one that was uploaded, or removes what is no picture. */
async function replaceUploaded(tx: Tx, creatorId: string, id: string, bytes: Uint8Array | null): Promise<void> {
  if (bytes)
    await tx.run('UPDATE avatars SET bytes = $3, encoded = 1 WHERE creator_id = $1 AND id = $2 AND encoded = 0', [
      creatorId,
      id,
      bytes,
    ]);
  else if ((await tx.run('DELETE FROM avatars WHERE creator_id = $1 AND id = $2 AND encoded = 0', [creatorId, id])) > 0)
    await setAvatarId(tx, creatorId, null);
}

export const writes = defineWrites(import.meta.url, {
  setAvatar: audited('account.profile_changed', setAvatar, (_, creatorId) => ({ creatorId })),
  replaceUploaded,
});
