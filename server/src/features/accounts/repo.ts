import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';
import { insertHead } from '../events/index.ts';
import { deleteSessionsExcept } from './sessions/repo.ts';

export interface CreatorRow {
  id: string;
  username: string;
  display_name: string;
  bio: string;
  avatar_id: string | null;
  password_hash: string | null;
  social_links: string;
  tip_channels: string;
  channel_details: string;
  page_public: number;
  page_look: string;
  demo: number;
  suspended_at: number | null;
  created_at: number;
}

const columns =
  'id, username, display_name, bio, avatar_id, password_hash, social_links, tip_channels, channel_details, page_public, page_look, demo, suspended_at, created_at';

async function insertCreator(
  tx: Tx,
  creator: Pick<CreatorRow, 'id' | 'username' | 'display_name' | 'password_hash' | 'demo' | 'created_at'>,
) {
  await tx.run(
    `INSERT INTO creators (id, username, display_name, password_hash, demo, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
    [creator.id, creator.username, creator.display_name, creator.password_hash, creator.demo, creator.created_at],
  );
  await insertHead(tx, creator.id);
}

export function creatorById(db: Reader, id: string): Promise<CreatorRow | undefined> {
  return db.get<CreatorRow>(`SELECT ${columns} FROM creators WHERE id = $1`, [id]);
}

/** Locks the row until the write commits. */
export function lockCreator(tx: Tx, id: string): Promise<CreatorRow | undefined> {
  return tx.get<CreatorRow>(
    {
      sqlite: `SELECT ${columns} FROM creators WHERE id = $1`,
      postgres: `SELECT ${columns} FROM creators WHERE id = $1 FOR UPDATE`,
    },
    [id],
  );
}

export function creatorByUsername(db: Reader, username: string): Promise<CreatorRow | undefined> {
  return db.get<CreatorRow>(`SELECT ${columns} FROM creators WHERE username = $1`, [username]);
}

/** Ends all other sessions: somebody else may have used the old password. */
export async function setPassword(tx: Tx, id: string, passwordHash: string, keepSession: string | null): Promise<void> {
  await tx.run('UPDATE creators SET password_hash = $2 WHERE id = $1', [id, passwordHash]);
  await deleteSessionsExcept(tx, id, keepSession);
}

function setSuspended(tx: Tx, id: string, at: number | null): Promise<number> {
  return tx.run('UPDATE creators SET suspended_at = $2 WHERE id = $1', [id, at]);
}

export type ProfileColumns = Pick<
  CreatorRow,
  'display_name' | 'bio' | 'social_links' | 'tip_channels' | 'channel_details' | 'page_public' | 'page_look'
>;

function updateProfile(tx: Tx, id: string, profile: ProfileColumns): Promise<number> {
  return tx.run(
    `UPDATE creators SET display_name = $2, bio = $3, social_links = $4, tip_channels = $5, page_public = $6,
       channel_details = $7, page_look = $8
     WHERE id = $1`,
    [
      id,
      profile.display_name,
      profile.bio,
      profile.social_links,
      profile.tip_channels,
      profile.page_public,
      profile.channel_details,
      profile.page_look,
    ],
  );
}

export function setAvatarId(tx: Tx, id: string, avatarId: string | null): Promise<number> {
  return tx.run('UPDATE creators SET avatar_id = $2 WHERE id = $1', [id, avatarId]);
}

export const writes = defineWrites(import.meta.url, { insertCreator, setPassword, setSuspended, updateProfile });
