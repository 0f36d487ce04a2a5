import { randomBytes } from 'node:crypto';
import { UniqueViolation } from '../../platform/db/database.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Passwords } from './passwords.ts';
import * as repo from './repo.ts';
import { AccountError, checkDisplayName, checkPassword, checkUsername } from './rules.ts';

export type Accounts = ReturnType<typeof createAccounts>;

export interface AccountsParts extends Pick<Platform, 'db' | 'clock' | 'newId'> {
  readonly passwords: Passwords;
  readonly authUrl: string;
}

export function createAccounts({ db, clock, newId, passwords, authUrl }: AccountsParts) {
  const { hostname } = new URL(authUrl);

  async function requireByUsername(username: string) {
    const creator = await repo.creatorByUsername(db, username);
    if (!creator) throw new AccountError('creator_unknown', `There is no creator named "${username}".`);
    return creator;
  }

  return {
    byId: (id: string) => repo.creatorById(db, id),
    byUsername: requireByUsername,
    findByUsername: (username: string) => repo.creatorByUsername(db, username),

    /** `address` is that of whoever signs up; without it, the operator adds the account. */
    async add(input: { username: string; displayName?: string; password: string; demo?: boolean; address?: string }) {
      checkUsername(input.username, hostname);
      checkPassword(input.password);
      const displayName = input.displayName?.trim() || input.username;
      checkDisplayName(displayName, hostname);
      const creator = {
        id: newId('crt'),
        username: input.username,
        display_name: displayName,
        password_hash: await passwords.hash(input.address ?? 'operator', input.password),
        demo: input.demo ? 1 : 0,
        created_at: clock(),
      };
      try {
        await db.write(repo.writes.insertCreator, creator);
      } catch (error) {
        if (error instanceof UniqueViolation)
          throw new AccountError('username_taken', `The username "${input.username}" is taken.`);
        throw error;
      }
      return creator;
    },

    async setPassword(creatorId: string, password: string, keepSession: string | null = null): Promise<void> {
      checkPassword(password);
      await db.write(repo.writes.setPassword, creatorId, await passwords.hash(creatorId, password), keepSession);
    },

    /** `null` ends the suspension. */
    setSuspended: async (creatorId: string, at: number | null): Promise<boolean> =>
      (await db.write(repo.writes.setSuspended, creatorId, at)) > 0,

    updateProfile: (creatorId: string, profile: repo.ProfileColumns) =>
      db.write(repo.writes.updateProfile, creatorId, profile),
  };
}

export const inventPassword = (): string => randomBytes(15).toString('base64url');
