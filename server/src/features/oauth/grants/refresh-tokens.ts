import { type NewId, timeText } from '../../../platform/ids.ts';
import { hashSecret, newSecret } from '../../../platform/secrets.ts';
import type { AppRow } from '../../apps/index.ts';
import type { NewFamily } from './families-repo.ts';

/**
 * A refresh token is its creation time, ten characters, and 256 random bits. Its key in the database is that time and the
 * hash of the token. So new keys are adjacent at the end of their index; with unordered keys each refresh would write a
 * different index page. The keys of tokens from before this scheme are the hash alone.
 */
const withTime = /^njr_([0-9a-z]{10})[A-Za-z0-9]{43}$/;

export interface NewRefreshToken {
  readonly token: string;
  readonly key: string;
}

export function newRefreshToken(now: number): NewRefreshToken {
  const time = timeText(now);
  const token = newSecret('njr', time);
  return { token, key: time + hashSecret(token) };
}

/**
 * What is stored of the `Idempotency-Key` of a refresh. The hash covers the token too, which is stored nowhere, so that a
 * key that can be guessed cannot be found from its hash.
 */
export const repeatHash = (token: string, key: string): string => hashSecret(`${key} ${token}`);

export const refreshKey = (token: string): string => (withTime.exec(token)?.[1] ?? '') + hashSecret(token);

export interface NewFamilyParts {
  readonly newId: NewId;
  readonly refreshIdleMs: number;
  readonly refreshMaxMs: number;
}

/** A device that nobody uses any more should not stay connected for long. */
const publicIdleMs = 30 * 86_400_000;

/** The refresh tokens of a public app have a shorter idle life. */
export function familyPartsOf(app: Pick<AppRow, 'public'>, parts: NewFamilyParts): NewFamilyParts {
  const { newId, refreshMaxMs } = parts;
  const refreshIdleMs = app.public === 1 ? Math.min(parts.refreshIdleMs, publicIdleMs) : parts.refreshIdleMs;
  return { newId, refreshIdleMs, refreshMaxMs };
}

/** A family of refresh tokens and its first token. */
export function newFamily({ newId, refreshIdleMs, refreshMaxMs }: NewFamilyParts, now: number) {
  const first = newRefreshToken(now);
  const expiresAt = now + refreshMaxMs;
  const refreshExpiresAt = refreshExpiry(now, refreshIdleMs, expiresAt);
  const family: NewFamily = { familyId: newId('fam'), expiresAt, refreshKey: first.key, refreshExpiresAt };
  return { family, refreshToken: first.token };
}

/** A refresh token expires when it is unused for `idleMs`, at the latest with its family. */
export const refreshExpiry = (now: number, idleMs: number, familyExpiresAt: number): number =>
  Math.min(now + idleMs, familyExpiresAt);
