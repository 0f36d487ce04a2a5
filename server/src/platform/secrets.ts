import { hash, randomFillSync, timingSafeEqual } from 'node:crypto';

/** A credential is a prefix, by which secret scanners and our own log find it, and 256 random bits. */
export const secretPrefixes = [
  'njs', // client secret
  'njr', // refresh token
  'njc', // authorization code
  'njo', // overlay key
  'njd', // device code
  'njk', // stream key
  'njm', // moderator link
] as const;
export type SecretPrefix = (typeof secretPrefixes)[number];

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * 43 base62 characters hold 256 bits. Bytes of 248 and above are rejected, because they would make some characters
 * likelier than others. `beginning` precedes the random characters and is not secret.
 */
export function newSecret(prefix: SecretPrefix, beginning = ''): string {
  let text = `${prefix}_${beginning}`;
  for (let missing = 43; missing > 0; ) {
    const byte = randomByte();
    if (byte >= 248) continue;
    text += base62[byte % 62];
    missing -= 1;
  }
  return text;
}

/** A pool of random bytes: filling all of it costs hardly more than filling the 43 of one secret. */
const pool = Buffer.alloc(4096);
let used = pool.length;

function randomByte(): number {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const byte = pool.readUInt8(used);
  pool[used++] = 0; // bytes of a secret do not stay in memory
  return byte;
}

/** For secrets of full entropy that are only compared: a plain hash suffices and can be indexed. */
export const hashSecret = (secret: string): string => hash('sha256', secret, 'base64url');

/** Constant-time comparison of results of `hashSecret`. Their length is always the same, so it is no secret. */
export const sameHash = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

/** Constant-time comparison of texts of any length. */
export function sameText(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));
}
