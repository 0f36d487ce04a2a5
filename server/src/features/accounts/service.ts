import { randomBytes } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';
import type { Clock } from '../../platform/clock.ts';
import { type Database, type Tx, UniqueViolation } from '../../platform/db/database.ts';
import type { NewId } from '../../platform/ids.ts';
import type { EventLog } from '../events/index.ts';
import * as repo from './repo.ts';

export interface AccountsParts {
  readonly db: Database;
  readonly events: EventLog;
  readonly clock: Clock;
  readonly newId: NewId;
}

export type Accounts = ReturnType<typeof createAccounts>;

/** A rule of an account that was broken, in words for the person who typed it. */
export class AccountError extends Error {
  readonly code: 'username_invalid' | 'username_taken' | 'password_too_short' | 'creator_unknown';
  constructor(code: AccountError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const usernameForm = /^[a-z0-9_]{3,30}$/;
const passwordLength = 10;

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
      const creator = {
        id: newId('crt'),
        username: input.username,
        display_name: input.displayName || input.username,
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

    async setPassword(username: string, password: string): Promise<void> {
      checkPassword(password);
      const { id } = await known(username);
      const passwordHash = await hash(password);
      await db.write((tx) => repo.setPassword(tx, id, passwordHash));
    },

    async checkPassword(username: string, password: string): Promise<boolean> {
      const creator = await repo.creatorByUsername(db, username);
      return creator?.password_hash ? verify(creator.password_hash, password) : false;
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
  if ([...password].length < passwordLength)
    throw new AccountError('password_too_short', `A password has at least ${passwordLength} characters.`);
}
