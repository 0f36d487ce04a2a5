import type { Reader, Tx } from '../../platform/db/database.ts';

export interface CreatorRow {
  id: string;
  username: string;
  display_name: string;
  bio: string;
  avatar_id: string | null;
  password_hash: string | null;
  social_links: string;
  tip_channels: string;
  page_public: number;
  demo: number;
  suspended_at: number | null;
  created_at: number;
}

export async function insertCreator(
  tx: Tx,
  creator: Pick<CreatorRow, 'id' | 'username' | 'display_name' | 'password_hash' | 'demo' | 'created_at'>,
) {
  await tx.run(
    `INSERT INTO creators (id, username, display_name, password_hash, demo, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
    [creator.id, creator.username, creator.display_name, creator.password_hash, creator.demo, creator.created_at],
  );
}

export function creatorById(db: Reader, id: string): Promise<CreatorRow | undefined> {
  return db.get<CreatorRow>('SELECT * FROM creators WHERE id = $1', [id]);
}

/** The same, and it stays as it is until this write is over. */
export function lockCreator(tx: Tx, id: string): Promise<CreatorRow | undefined> {
  return tx.get<CreatorRow>(
    {
      sqlite: 'SELECT * FROM creators WHERE id = $1',
      postgres: 'SELECT * FROM creators WHERE id = $1 FOR UPDATE',
    },
    [id],
  );
}

export function creatorByUsername(db: Reader, username: string): Promise<CreatorRow | undefined> {
  return db.get<CreatorRow>('SELECT * FROM creators WHERE username = $1', [username]);
}

export function setPassword(tx: Tx, id: string, passwordHash: string): Promise<number> {
  return tx.run('UPDATE creators SET password_hash = $2 WHERE id = $1', [id, passwordHash]);
}

export function setSuspended(tx: Tx, id: string, at: number | null): Promise<number> {
  return tx.run('UPDATE creators SET suspended_at = $2 WHERE id = $1', [id, at]);
}

export function updateProfile(
  tx: Tx,
  id: string,
  profile: Pick<CreatorRow, 'display_name' | 'bio' | 'social_links' | 'tip_channels' | 'page_public'>,
): Promise<number> {
  return tx.run(
    `UPDATE creators SET display_name = $2, bio = $3, social_links = $4, tip_channels = $5, page_public = $6
     WHERE id = $1`,
    [id, profile.display_name, profile.bio, profile.social_links, profile.tip_channels, profile.page_public],
  );
}

export function setAvatar(tx: Tx, id: string, avatarId: string | null): Promise<number> {
  return tx.run('UPDATE creators SET avatar_id = $2 WHERE id = $1', [id, avatarId]);
}
