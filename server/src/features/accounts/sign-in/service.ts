import type { Database } from '../../../platform/db/database.ts';
import type { Visitor } from '../../../platform/web/pages.ts';
import type { Passwords } from '../passwords.ts';
import * as repo from '../repo.ts';
import { writes as sessionWrites } from '../sessions/repo.ts';
import type { Sessions, SignInMethod } from '../sessions/service.ts';
import { writes } from './repo.ts';
import type { Throttle } from './throttle.ts';

export interface SignInParts {
  readonly db: Database;
  readonly sessions: Sessions;
  readonly throttle: Throttle;
  readonly passwords: Passwords;
}

export type SignIn = ReturnType<typeof createSignIn>;

/** `token` is the new session's, `retryAfter` is in seconds. */
export type SignInResult =
  | { readonly outcome: 'ok'; readonly token: string }
  | { readonly outcome: 'wrong' }
  | { readonly outcome: 'suspended' }
  | { readonly outcome: 'throttled'; readonly retryAfter: number };

export function createSignIn({ db, sessions, throttle, passwords }: SignInParts) {
  return {
    /** Starts a session without a password check, as after signing up. Returns its token. */
    async begin(creatorId: string, method: SignInMethod, visitor: Visitor): Promise<string> {
      const { token, row } = sessions.prepare(creatorId, method, visitor);
      await db.write(sessionWrites.insertSession, row);
      return token;
    },

    async withPassword(username: string, password: string, visitor: Visitor): Promise<SignInResult> {
      const retryAfter = await throttle.enter(username, visitor.address);
      if (retryAfter > 0) return { outcome: 'throttled', retryAfter };
      const creator = await repo.creatorByUsername(db, username);
      const right = await passwords.verify(visitor.address, creator?.password_hash ?? undefined, password);
      if (!creator?.password_hash || !right) return { outcome: 'wrong' };
      await throttle.clear(username, visitor.address);
      const { token, row } = sessions.prepare(creator.id, 'password', visitor);
      const outcome = await db.write(writes.signInWithPassword, creator.password_hash, row);
      return outcome === 'ok' ? { outcome, token } : { outcome };
    },
  };
}
