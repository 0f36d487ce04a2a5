import { timeText } from '../../platform/ids.ts';
import { hashSecret, newSecret } from '../../platform/secrets.ts';

/**
 * A refresh token is the time of its making, ten characters, and 256 random bits. Its key, under which it is kept, is
 * that time and the hash of the whole token: so new ones stand side by side at the end of their index. Keys without
 * an order would make each refresh write a page of its own.
 * Tokens made before there was a time in them are kept under their hash alone.
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
