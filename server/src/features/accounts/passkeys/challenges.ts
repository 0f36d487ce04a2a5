import { randomBytes } from 'node:crypto';
import { hashSecret } from '../../../platform/secrets.ts';
import { isSigned, type Vault } from '../../../platform/vault.ts';
import type { UsedChallenge } from './repo.ts';

/**
 * Challenges of passkeys. One is random, names its end, and carries a MAC over both, its purpose and the browser that
 * asked. So nothing is kept of a challenge until it is used, and nobody fills the database by asking for them.
 */
export type Purpose = 'add' | 'sign-in';

export const challengeMs = 5 * 60_000;

export function createChallenges(vault: Vault) {
  const signed = (text: string, purpose: Purpose, browser: string): string => `${purpose}\n${browser}\n${text}`;

  return {
    /** `browser` is the token of the cookie that asked. */
    make(purpose: Purpose, browser: string, now: number): Uint8Array<ArrayBuffer> {
      const text = `${randomBytes(16).toString('base64url')}.${now + challengeMs}`;
      const mac = vault.sign('passkey-challenge', signed(text, purpose, browser)).toString('base64url');
      return new TextEncoder().encode(`${text}.${mac}`);
    },

    /** What is to be recorded of a challenge that comes back; nothing for one that is not ours or is over. */
    read(encoded: string, purpose: Purpose, browser: string, now: number): UsedChallenge | undefined {
      const [random = '', end = '', mac = '', ...more] = Buffer.from(encoded, 'base64url').toString('utf8').split('.');
      const text = `${random}.${end}`;
      const expiresAt = Number(end);
      if (more.length > 0 || expiresAt <= now) return undefined;
      if (!isSigned(vault, 'passkey-challenge', signed(text, purpose, browser), mac)) return undefined;
      return { hash: hashSecret(text), purpose, boundTo: hashSecret(browser), expiresAt };
    },
  };
}
