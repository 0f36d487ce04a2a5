import type { Platform } from '../../../platform/platform.ts';
import { hashSecret, newSecret } from '../../../platform/secrets.ts';
import { accessTopic } from '../../oauth/index.ts';
import * as repo from './repo.ts';

export type StreamKey = repo.StreamKeyRow;
export type StreamKeys = ReturnType<typeof createStreamKeys>;

/** What a connection is opened with. */
export interface FoundKey {
  readonly id: string;
  readonly creatorId: string;
  /** By what name the creator goes. */
  readonly creatorName: string;
  /** Smaller tips are not sent, in satang. */
  readonly minimumMinor: number;
}

export interface NewStreamKey {
  readonly label: string;
  readonly minimumMinor?: number;
}

export const maxStreamKeys = 10;

/** There is a key with this id, which was shown when it was made. */
export class StreamKeyExists extends Error {}

const wellFormed = /^njk_[A-Za-z0-9]{43}$/;

/** Keys that let programs hear of a creator's tips without OAuth. A key is shown once and stored as a hash. */
export function createStreamKeys({
  db,
  origins,
  hub,
  clock,
  newId,
}: Pick<Platform, 'db' | 'origins' | 'hub' | 'clock' | 'newId'>) {
  return {
    list: (creatorId: string): Promise<StreamKey[]> => repo.keysOf(db, creatorId),

    /** Returns the key; nothing if there are too many. */
    async make(
      creatorId: string,
      { label, minimumMinor = 0 }: NewStreamKey,
      id = newId('key'),
    ): Promise<string | undefined> {
      const key = newSecret('njk');
      const row = { id, label, minimum_minor: minimumMinor, created_at: clock() };
      const made = await db.write(
        repo.writes.insertKey,
        origins.current(),
        creatorId,
        row,
        hashSecret(key),
        maxStreamKeys,
      );
      if (made === 'exists') throw new StreamKeyExists();
      return made === 'added' ? key : undefined;
    },

    /** Ends the key. Its connections close within a second. */
    async revoke(creatorId: string, id: string): Promise<boolean> {
      const revoked = await db.write(repo.writes.deleteKey, origins.current(), creatorId, id);
      if (revoked) hub.publish(accessTopic, creatorId);
      return revoked;
    },

    /** Returns nothing for whatever is no key, and for the key of a creator who is suspended. */
    async find(key: string): Promise<FoundKey | undefined> {
      const row = wellFormed.test(key) ? await repo.keyByHash(db, hashSecret(key)) : undefined;
      return (
        row && {
          id: row.id,
          creatorId: row.creator_id,
          creatorName: row.display_name,
          minimumMinor: row.minimum_minor,
        }
      );
    },
  };
}
