import { randomFillSync } from 'node:crypto';
import type { Clock } from './clock.ts';

/**
 * Ids are a prefix and a UUIDv7 (RFC 9562) in 26 characters of lower-case Crockford base32:
 * ordered by time, so that an index on them grows at its end.
 */
export type IdPrefix = 'crt' | 'app' | 'grt' | 'fam' | 'tip' | 'alt' | 'evt' | 'whk' | 'dlv' | 'req' | 'ses' | 'psk';

export type NewId = (prefix: IdPrefix) => string;

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const randomBytesPerId = 10;

export function createIds(clock: Clock): NewId {
  const pool = Buffer.alloc(randomBytesPerId * 256);
  let used = pool.length;
  return (prefix) => {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const random = pool.subarray(used, used + randomBytesPerId);
    used += randomBytesPerId;
    random[0] = (random[0]! & 0x0f) | 0x70; // version 7
    random[2] = (random[2]! & 0x3f) | 0x80; // variant 2
    return `${prefix}_${encodeTime(clock())}${encodeBytes(random)}`;
  };
}

/** Sorts before every id that was made at this instant or later, and behind all earlier ones. */
export const firstId = (prefix: IdPrefix, ms: number): string => `${prefix}_${encodeTime(ms)}`;

/** 26 characters hold 130 bits: two that are zero and the 48 of time make the first ten. */
function encodeTime(ms: number): string {
  let text = '';
  for (let rest = ms; text.length < 10; rest = Math.floor(rest / 32)) text = alphabet[rest % 32] + text;
  return text;
}

function encodeBytes(bytes: Uint8Array): string {
  let text = '';
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet[(buffer >> bits) & 31];
    }
  }
  return text;
}
