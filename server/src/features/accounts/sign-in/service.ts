import { randomBytes } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';
import type { Database } from '../../../platform/db/database.ts';
import type { Visitor } from '../../../platform/web/pages.ts';
import * as repo from '../repo.ts';
import type { Sessions, SignInMethod } from '../sessions/service.ts';
import type { Throttle } from './throttle.ts';

export interface SignInParts {
  readonly db: Database;
  readonly sessions: Sessions;
  readonly throttle: Throttle;
}

export type SignIn = ReturnType<typeof createSignIn>;

/** A session's token, or why there is none; `retryAfter` in seconds. */
export type SignInResult =
  | { readonly outcome: 'ok'; readonly token: string }
  | { readonly outcome: 'wrong' }
  | { readonly outcome: 'suspended' }
  | { readonly outcome: 'throttled'; readonly retryAfter: number };

export function createSignIn({ db, sessions, throttle }: SignInParts) {
  /** Checked in place of the hash of a creator who does not exist, so that both last the same. */
  let nobody: Promise<string> | undefined;

  return {
    /** Starts a session for someone known already, as after signing up; gives back its token. */
    begin: (creatorId: string, method: SignInMethod, visitor: Visitor): Promise<string> =>
      db.write((tx) => sessions.start(tx, creatorId, method, visitor)),

    async withPassword(username: string, password: string, visitor: Visitor): Promise<SignInResult> {
      nobody ??= hash(randomBytes(32));
      const [retryAfter, spare] = [await throttle.enter(username, visitor.address), await nobody];
      if (retryAfter > 0) return { outcome: 'throttled', retryAfter };
      const creator = await repo.creatorByUsername(db, username);
      const right = await verify(creator?.password_hash ?? spare, password);
      if (!creator?.password_hash || !right) return { outcome: 'wrong' };
      await throttle.clear(username, visitor.address);
      return db.write(async (tx): Promise<SignInResult> => {
        // The password may have been changed, and all sessions ended, while this one was being checked.
        const now = await repo.lockCreator(tx, creator.id);
        if (now?.password_hash !== creator.password_hash) return { outcome: 'wrong' };
        if (now.suspended_at !== null) return { outcome: 'suspended' };
        return { outcome: 'ok', token: await sessions.start(tx, creator.id, 'password', visitor) };
      });
    },
  };
}
