import { randomBytes } from 'node:crypto';
import type { Platform } from '../../../platform/platform.ts';
import { hashSecret } from '../../../platform/secrets.ts';
import type { Visitor } from '../../../platform/web/pages.ts';
import type { Passwords } from '../passwords.ts';
import { creatorByUsername } from '../repo.ts';
import { checkPassword } from '../rules.ts';
import type { Sessions } from '../sessions/service.ts';
import type { SignInResult } from '../sign-in/service.ts';
import type { Throttle } from '../sign-in/throttle.ts';
import * as repo from './repo.ts';

export interface RecoveryParts extends Pick<Platform, 'db' | 'clock'> {
  readonly sessions: Sessions;
  readonly throttle: Throttle;
  readonly passwords: Passwords;
}

export type Recovery = ReturnType<typeof createRecovery>;

const codeCount = 10;
/** Crockford's: no letter that can be taken for another. 16 of them are 80 bits. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** Codes that stand in for a lost password, since there is no e-mail to send a link to. */
export function createRecovery({ db, clock, sessions, throttle, passwords }: RecoveryParts) {
  const hashOf = (creatorId: string, code: string) => hashSecret(`${creatorId}\n${normalize(code)}`);

  return {
    /** Ten new codes in place of all older ones. This is the only time they are known. */
    async renew(creatorId: string): Promise<string[]> {
      const codes = Array.from({ length: codeCount }, newCode);
      const hashes = codes.map((code) => hashOf(creatorId, code));
      await db.write(repo.writes.replaceCodes, creatorId, hashes, clock());
      return codes;
    },

    left: (creatorId: string) => repo.unusedCodes(db, creatorId),

    /** Uses a code up, sets the new password, ends every session and starts one: all of it or nothing. */
    async signIn(username: string, code: string, password: string, visitor: Visitor): Promise<SignInResult> {
      checkPassword(password);
      const retryAfter = await throttle.enter(username, visitor.address);
      if (retryAfter > 0) return { outcome: 'throttled', retryAfter };
      const creator = await creatorByUsername(db, username);
      // Also for a name that nobody has, so that both last the same.
      const passwordHash = await passwords.hash(password);
      if (!creator) return { outcome: 'wrong' };
      const { token, row } = sessions.prepare(creator.id, 'recovery', visitor);
      const signedIn = await db.write(repo.writes.signInByCode, hashOf(creator.id, code), passwordHash, row, clock());
      if (!signedIn) return { outcome: 'wrong' };
      await throttle.clear(username, visitor.address);
      return { outcome: 'ok', token };
    },
  };
}

function newCode(): string {
  const letters = [...randomBytes(16)].map((byte) => alphabet[byte & 31]).join('');
  return letters.replace(/.{4}(?=.)/g, '$&-');
}

/** As typed from paper: any case, any separators, `o` for zero, `i` or `l` for one. */
const normalize = (code: string): string =>
  code
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .replace(/o/g, '0')
    .replace(/[il]/g, '1');
