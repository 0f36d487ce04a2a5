import { type NewId, timeText } from '../../../platform/ids.ts';
import { hashSecret, newSecret } from '../../../platform/secrets.ts';
import type { NewFamily } from './repo.ts';

/**
 * A refresh token is the time of its making, ten characters, and 256 random bits. It is stored under a key: that time
 * and the hash of the whole token. So new keys stand side by side at the end of their index; keys without an order
 * would make each refresh write an index page of its own.
 * Tokens made before there was a time in them are stored under their hash alone.
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

export const refreshKey = (token: string): string => (withTime.exec(token)?.[1] ?? '') + hashSecret(token);

export interface NewFamilyParts {
  readonly newId: NewId;
  readonly refreshIdleMs: number;
  readonly refreshMaxMs: number;
}

/** A family of refresh tokens for a grant, and its first one. */
export function newFamily({ newId, refreshIdleMs, refreshMaxMs }: NewFamilyParts, now: number) {
  const first = newRefreshToken(now);
  const expiresAt = now + refreshMaxMs;
  const refreshExpiresAt = refreshEnd(now, refreshIdleMs, expiresAt);
  const family: NewFamily = { familyId: newId('fam'), expiresAt, refreshKey: first.key, refreshExpiresAt };
  return { family, refreshToken: first.token };
}

/** The newest refresh token of a family lives while it is used, never longer than its family. */
export const refreshEnd = (now: number, idleMs: number, familyExpiresAt: number): number =>
  Math.min(now + idleMs, familyExpiresAt);
