import type { Platform } from '../../platform/platform.ts';
import { hashSecret, newSecret } from '../../platform/secrets.ts';
import { accessTopic } from '../oauth/index.ts';
import * as repo from './repo.ts';

export type ModeratorLink = repo.LinkRow;
export type Moderators = ReturnType<typeof createModerators>;

export const maxLinks = 10;

/** There is a link with this id, whose key was shown when it was made. */
export class LinkExists extends Error {}

/** Links that let helpers use live control without an account. The key is shown once and stored as a hash. */
export function createModerators({
  db,
  origins,
  hub,
  clock,
  newId,
}: Pick<Platform, 'db' | 'origins' | 'hub' | 'clock' | 'newId'>) {
  return {
    list: (creatorId: string): Promise<ModeratorLink[]> => repo.linksOf(db, creatorId),

    /** Returns the key; nothing if there are too many links. */
    async add(creatorId: string, title: string, id = newId('mod')): Promise<string | undefined> {
      const key = newSecret('njm');
      const link = { id, title, created_at: clock() };
      const added = await db.write(
        repo.writes.insertLink,
        origins.current(),
        creatorId,
        link,
        hashSecret(key),
        maxLinks,
      );
      if (added === 'exists') throw new LinkExists();
      return added === 'added' ? key : undefined;
    },

    /** Ends the link. Pages that are open by it end within a second. */
    async revoke(creatorId: string, id: string): Promise<void> {
      if (await db.write(repo.writes.deleteLink, origins.current(), creatorId, id)) hub.publish(accessTopic, creatorId);
    },

    creatorOf: async (key: string): Promise<string | undefined> =>
      (await repo.creatorByLink(db, hashSecret(key)))?.creator_id,
  };
}
