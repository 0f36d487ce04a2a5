import { createHmac, randomBytes } from 'node:crypto';
import type { Platform } from '../../platform/platform.ts';
import { sameHash } from '../../platform/secrets.ts';
import { type TakenName, takenNames } from './repo.ts';

export type TakenNames = ReturnType<typeof createTakenNames>;

const day = 86_400_000;
/** Nobody can pass for somebody who has just left. */
const takenMs = 90 * day;

const sealContext = (id: string): string => `taken-name:${id}`;
const macOf = (key: string, username: string): string => createHmac('sha256', key).update(username).digest('base64url');

/**
 * Usernames of deleted accounts, kept as MACs: a reader of the database learns no name. Each has a random key of its own,
 * sealed, so that the MACs outlive a new SECRET_KEY. They are few, and compared one by one when somebody signs up.
 */
export function createTakenNames({ db, clock, newId, vault }: Pick<Platform, 'db' | 'clock' | 'newId' | 'vault'>) {
  return {
    prepare(username: string): TakenName {
      const [id, key] = [newId('nam'), randomBytes(32).toString('base64')];
      const sealed_key = vault.seal(key, sealContext(id));
      return { id, sealed_key, mac: macOf(key, username), taken_until: clock() + takenMs };
    },

    async has(username: string): Promise<boolean> {
      const rows = await takenNames(db, clock());
      return rows.some(({ id, sealed_key, mac }) =>
        sameHash(macOf(vault.open(sealed_key, sealContext(id)), username), mac),
      );
    },
  };
}
