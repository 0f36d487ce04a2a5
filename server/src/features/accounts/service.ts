import { randomBytes } from 'node:crypto';
import { hash } from '@node-rs/argon2';
import type { Clock } from '../../platform/clock.ts';
import { type Database, type Tx, UniqueViolation } from '../../platform/db/database.ts';
import type { NewId } from '../../platform/ids.ts';
import type { EventLog } from '../events/index.ts';
import * as repo from './repo.ts';
import { deleteSessionsExcept } from './sessions-repo.ts';

export interface AccountsParts {
  readonly db: Database;
  readonly events: EventLog;
  readonly clock: Clock;
  readonly newId: NewId;
}

export type Accounts = ReturnType<typeof createAccounts>;

/** A rule of an account that was broken, in words for the person who typed it. */
export class AccountError extends Error {
  readonly code:
    | 'username_invalid'
    | 'username_taken'
    | 'password_invalid'
    | 'display_name_invalid'
    | 'creator_unknown';
  constructor(code: AccountError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const usernameForm = /^[a-z0-9_]{3,30}$/;
const passwordLength = { least: 10, most: 200 };
const displayNameLength = 50;

export function createAccounts({ db, events, clock, newId }: AccountsParts) {
  async function known(username: string) {
    const creator = await repo.creatorByUsername(db, username);
    if (!creator) throw new AccountError('creator_unknown', `There is no creator named "${username}".`);
    return creator;
  }

  return {
    byId: (id: string) => repo.creatorById(db, id),
    byUsername: known,

    async add(input: { username: string; displayName?: string; password: string; demo?: boolean }) {
      checkUsername(input.username);
      checkPassword(input.password);
      const displayName = input.displayName?.trim() || input.username;
      checkDisplayName(displayName);
      const creator = {
        id: newId('crt'),
        username: input.username,
        display_name: displayName,
        password_hash: await hash(input.password),
        demo: input.demo ? 1 : 0,
        created_at: clock(),
      };
      try {
        await db.write(async (tx) => {
          await repo.insertCreator(tx, creator);
          await events.start(tx, creator.id);
        });
      } catch (error) {
        if (error instanceof UniqueViolation)
          throw new AccountError('username_taken', `The username "${input.username}" is taken.`);
        throw error;
      }
      return creator;
    },

    /** Ends every session but the one that is kept: whoever knew the old password is out. */
    async setPassword(creatorId: string, password: string, keepSession: string | null = null): Promise<void> {
      checkPassword(password);
      const passwordHash = await hash(password);
      await db.write(async (tx) => {
        await repo.setPassword(tx, creatorId, passwordHash);
        await deleteSessionsExcept(tx, creatorId, keepSession);
      });
    },

    /** Suspension pauses; `null` restores. */
    setSuspended: (tx: Tx, creatorId: string, at: number | null) => repo.setSuspended(tx, creatorId, at),

    updateProfile: (creatorId: string, profile: Parameters<typeof repo.updateProfile>[2]) =>
      db.write((tx) => repo.updateProfile(tx, creatorId, profile)),
  };
}

export const inventPassword = (): string => randomBytes(15).toString('base64url');

function checkUsername(username: string): void {
  if (!usernameForm.test(username))
    throw new AccountError('username_invalid', 'A username has 3 to 30 characters of a-z, 0-9 and underscore.');
}

function checkPassword(password: string): void {
  const { length } = [...password];
  if (length < passwordLength.least || length > passwordLength.most)
    throw new AccountError(
      'password_invalid',
      `A password has ${passwordLength.least} to ${passwordLength.most} characters.`,
    );
}

function checkDisplayName(name: string): void {
  // Control and bidi-control characters could hide or reorder what stands beside a name.
  if ([...name].length > displayNameLength || /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u.test(name))
    throw new AccountError(
      'display_name_invalid',
      `A display name has at most ${displayNameLength} characters, none of them invisible controls.`,
    );
}
