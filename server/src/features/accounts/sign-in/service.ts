import type { Platform } from '../../../platform/platform.ts';
import type { Visitor } from '../../../platform/web/pages.ts';
import type { Passwords } from '../passwords.ts';
import * as repo from '../repo.ts';
import { writes as sessionWrites } from '../sessions/repo.ts';
import type { Sessions, SignInMethod } from '../sessions/service.ts';
import { writes } from './repo.ts';
import type { Throttle } from './throttle.ts';

export interface SignInParts extends Pick<Platform, 'db' | 'origins' | 'log'> {
  readonly sessions: Sessions;
  readonly throttle: Throttle;
  readonly passwords: Passwords;
}

export type SignIn = ReturnType<typeof createSignIn>;

/** `token` is the new session's, `retryAfter` is in seconds. */
export type SignInResult =
  | { readonly outcome: 'ok'; readonly token: string }
  | { readonly outcome: 'wrong' }
  /** The account waits for its deletion, and its owner may restore it. */
  | { readonly outcome: 'leaving'; readonly creatorId: string }
  | { readonly outcome: 'suspended' }
  | { readonly outcome: 'throttled'; readonly retryAfter: number };

export function createSignIn({ db, origins, log, sessions, throttle, passwords }: SignInParts) {
  /**
   * Records that somebody gave a wrong secret of this account. Nobody waits for it: an answer for an unknown name, of
   * which nothing is recorded, must not come sooner.
   */
  function refuse(creatorId: string, method: 'password' | 'recovery'): void {
    const visitor = { ...origins.current(), actor: 'visitor' };
    db.write(writes.refuseSignIn, visitor, creatorId, method).catch((err) =>
      log.warn({ err }, 'a refused sign-in was not recorded'),
    );
  }

  return {
    refuse,

    /** Starts a session without a password check, as after signing up. Returns its token. */
    async begin(creatorId: string, method: SignInMethod, visitor: Visitor): Promise<string> {
      const { token, row } = sessions.prepare(creatorId, method, visitor);
      await db.write(sessionWrites.insertSession, origins.current(), row);
      return token;
    },

    async withPassword(username: string, password: string, visitor: Visitor): Promise<SignInResult> {
      const retryAfter = await throttle.enter(username, visitor.address);
      if (retryAfter > 0) return { outcome: 'throttled', retryAfter };
      const creator = await repo.creatorByUsername(db, username);
      const right = await passwords.verify(visitor.address, creator?.password_hash ?? undefined, password);
      if (!creator?.password_hash || !right) {
        if (creator) refuse(creator.id, 'password');
        return { outcome: 'wrong' };
      }
      await throttle.clear(username, visitor.address);
      const { token, row } = sessions.prepare(creator.id, 'password', visitor);
      const outcome = await db.write(writes.signInWithPassword, origins.current(), creator.password_hash, row);
      if (outcome === 'leaving') return { outcome, creatorId: creator.id };
      return outcome === 'ok' ? { outcome, token } : { outcome };
    },
  };
}
