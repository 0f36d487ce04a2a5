import { randomBytes } from 'node:crypto';
import { UniqueViolation } from '../../platform/db/database.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Passwords } from './passwords.ts';
import * as repo from './repo.ts';
import { AccountError, checkDisplayName, checkPassword, checkUsername } from './rules.ts';
import { createSandboxLookup } from './sandbox-lookup.ts';

export type Accounts = ReturnType<typeof createAccounts>;

export interface AccountsParts extends Pick<Platform, 'db' | 'origins' | 'clock' | 'newId'> {
  readonly passwords: Passwords;
  /** Whether an account of this name was deleted a short time ago. */
  readonly isNameTaken: (username: string) => Promise<boolean>;
  readonly authUrl: string;
}

export function createAccounts({ db, origins, clock, newId, passwords, isNameTaken, authUrl }: AccountsParts) {
  const { hostname } = new URL(authUrl);
  const sandboxOf = createSandboxLookup(db);

  async function requireByUsername(username: string) {
    const creator = await repo.creatorByUsername(db, username);
    if (!creator) throw new AccountError('creator_unknown', `There is no creator named "${username}".`);
    return creator;
  }

  return {
    byId: (id: string) => repo.creatorById(db, id),
    byUsername: requireByUsername,
    /** The account of the developer whose sandbox creator this is; `null` for a real creator. */
    sandboxOf,
    findByUsername: (username: string) => repo.creatorByUsername(db, username),

    /** `address` is that of whoever signs up; without it, the operator adds the account. */
    async add(input: { username: string; displayName?: string; password: string; demo?: boolean; address?: string }) {
      checkUsername(input.username, hostname);
      checkPassword(input.password);
      const displayName = input.displayName?.trim() || input.username;
      checkDisplayName(displayName, hostname);
      // In this order: a deletion that ends between the two makes the name a taken one. The slow hash comes after both.
      if (await repo.creatorByUsername(db, input.username)) throw usernameTaken(input.username);
      if (await isNameTaken(input.username)) throw usernameTaken(input.username);
      const creator = {
        id: newId('crt'),
        username: input.username,
        display_name: displayName,
        password_hash: await passwords.hash(input.address ?? 'operator', input.password),
        demo: input.demo ? 1 : 0,
        sandbox_of: null,
        created_at: clock(),
      };
      try {
        await db.write(repo.writes.insertCreator, origins.current(), creator);
      } catch (error) {
        if (error instanceof UniqueViolation) throw usernameTaken(input.username);
        throw error;
      }
      return creator;
    },

    async setPassword(creatorId: string, password: string, keepSession: string | null = null): Promise<void> {
      checkPassword(password);
      if (await sandboxOf(creatorId))
        throw new AccountError('creator_is_sandbox', 'Nobody can sign in as a sandbox creator.');
      await db.write(
        repo.writes.setPassword,
        origins.current(),
        creatorId,
        await passwords.hash(creatorId, password),
        keepSession,
      );
    },

    /** `null` ends the suspension. */
    setSuspended: async (creatorId: string, at: number | null): Promise<boolean> =>
      (await db.write(repo.writes.setSuspended, origins.current(), creatorId, at)) > 0,

    updateProfile: (creatorId: string, profile: repo.ProfileColumns) =>
      db.write(repo.writes.updateProfile, origins.current(), creatorId, profile),
  };
}

const usernameTaken = (username: string) => new AccountError('username_taken', `The username "${username}" is taken.`);

export const inventPassword = (): string => randomBytes(15).toString('base64url');
