import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';
import { audited } from '../audit/index.ts';
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
  /** When its deletion was asked for last, and when it begins, if nobody has changed their mind. */
  deletion_asked_at: number | null;
  delete_at: number | null;
  /** When the deletion of its rows has begun. */
  removed_at: number | null;
  /** The developer's account, of a sandbox creator. */
  sandbox_of: string | null;
  created_at: number;
}

const columns =
  'id, username, display_name, bio, avatar_id, password_hash, social_links, tip_channels, channel_details, page_public, page_look, demo, suspended_at, deletion_asked_at, delete_at, removed_at, sandbox_of, created_at';

type NewCreatorRow = Pick<
  CreatorRow,
  'id' | 'username' | 'display_name' | 'password_hash' | 'demo' | 'sandbox_of' | 'created_at'
>;

export async function insertCreator(tx: Tx, creator: NewCreatorRow): Promise<void> {
  const { id, username, display_name, password_hash, demo, sandbox_of, created_at } = creator;
  await tx.run(
    `INSERT INTO creators (id, username, display_name, password_hash, demo, sandbox_of, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [id, username, display_name, password_hash, demo, sandbox_of, created_at],
  );
  await insertHead(tx, id);
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

/**
 * Whether somebody who has proved to be the owner may sign in. `leaving`: only to restore the account, which waits for its
 * deletion and is not suspended for another reason.
 */
export function signInState(creator: CreatorRow): 'ok' | 'leaving' | 'suspended' {
  if (creator.suspended_at === null) return 'ok';
  const waits = creator.delete_at !== null && creator.removed_at === null;
  return waits && creator.suspended_at === creator.deletion_asked_at ? 'leaving' : 'suspended';
}

/** Ends all other sessions: somebody else may have used the old password. */
export async function setPassword(tx: Tx, id: string, passwordHash: string, keepSession: string | null): Promise<void> {
  await tx.run('UPDATE creators SET password_hash = $2 WHERE id = $1', [id, passwordHash]);
  await deleteSessionsExcept(tx, id, keepSession);
}

/** With a developer's account its sandbox creators are suspended and restored. One that was removed stays suspended. */
function setSuspended(tx: Tx, id: string, at: number | null): Promise<number> {
  return tx.run('UPDATE creators SET suspended_at = $2 WHERE (id = $1 OR sandbox_of = $1) AND removed_at IS NULL', [
    id,
    at,
  ]);
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

export const writes = defineWrites(import.meta.url, {
  insertCreator: audited('account.created', insertCreator, (_, { id, username }) => ({
    creatorId: id,
    details: { username },
  })),
  setPassword: audited('account.password_changed', setPassword, (_, creatorId) => ({ creatorId })),
  setSuspended: audited('account.suspended_or_restored', setSuspended, (changed, creatorId, at) => {
    return changed > 0 && { creatorId, details: { now: at === null ? 'restored' : 'suspended' } };
  }),
  updateProfile: audited(
    'account.profile_changed',
    updateProfile,
    (changed, creatorId) => changed > 0 && { creatorId },
  ),
});
