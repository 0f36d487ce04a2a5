import { randomBytes } from 'node:crypto';
import type { Platform } from '../../../platform/platform.ts';
import { hashSecret } from '../../../platform/secrets.ts';
import type { Visitor } from '../../../platform/web/pages.ts';
import type { Passwords } from '../passwords.ts';
import { creatorByUsername } from '../repo.ts';
import { checkPassword } from '../rules.ts';
import type { Sessions } from '../sessions/service.ts';
import type { SignIn, SignInResult } from '../sign-in/service.ts';
import type { Throttle } from '../sign-in/throttle.ts';
import * as repo from './repo.ts';

export interface RecoveryParts extends Pick<Platform, 'db' | 'origins' | 'clock'> {
  readonly sessions: Sessions;
  readonly throttle: Throttle;
  readonly passwords: Passwords;
  readonly refuse: SignIn['refuse'];
}

export type Recovery = ReturnType<typeof createRecovery>;

const codeCount = 10;
/** Crockford's base32 has no two letters that look alike. 16 letters are 80 bits. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** Recovery codes replace a lost password: there is no e-mail address to send a link to. */
export function createRecovery({ db, origins, clock, sessions, throttle, passwords, refuse }: RecoveryParts) {
  const hashOf = (creatorId: string, code: string) => hashSecret(`${creatorId}\n${normalize(code)}`);

  return {
    /** Replaces all codes with ten new ones. Only hashes are stored, so the codes are shown once. */
    async renew(creatorId: string): Promise<string[]> {
      const codes = Array.from({ length: codeCount }, newCode);
      const hashes = codes.map((code) => hashOf(creatorId, code));
      await db.write(repo.writes.replaceCodes, origins.current(), creatorId, hashes, clock());
      return codes;
    },

    left: (creatorId: string) => repo.unusedCodes(db, creatorId),

    async signIn(username: string, code: string, password: string, visitor: Visitor): Promise<SignInResult> {
      checkPassword(password);
      const retryAfter = await throttle.enter(username, visitor.address);
      if (retryAfter > 0) return { outcome: 'throttled', retryAfter };
      const creator = await creatorByUsername(db, username);
      // Done for an unknown username too, so that both cases take the same time.
      const passwordHash = await passwords.hash(visitor.address, password);
      const codeHash = hashOf(creator?.id ?? '', code);
      const isRight = await repo.isUnused(db, creator?.id ?? '', codeHash);
      if (!creator || !isRight) {
        if (creator) refuse(creator.id, 'recovery');
        return { outcome: 'wrong' };
      }
      const { token, row } = sessions.prepare(creator.id, 'recovery', visitor);
      const outcome = await db.write(repo.writes.signInByCode, origins.current(), codeHash, passwordHash, row, clock());
      if (outcome === 'wrong') {
        refuse(creator.id, 'recovery');
        return { outcome };
      }
      await throttle.clear(username, visitor.address);
      return outcome === 'leaving' ? { outcome, creatorId: creator.id } : { outcome, token };
    },
  };
}

function newCode(): string {
  const letters = [...randomBytes(16)].map((byte) => alphabet[byte & 31]).join('');
  return letters.replace(/.{4}(?=.)/g, '$&-');
}

/** People type codes from paper: accepts any case and separators, `o` for zero, `i` or `l` for one. */
const normalize = (code: string): string =>
  code
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .replace(/o/g, '0')
    .replace(/[il]/g, '1');
