import { randomFillSync } from 'node:crypto';
import type { Clock } from './clock.ts';

/**
 * An id is a prefix and a UUIDv7 (RFC 9562) in 26 characters of lower-case Crockford base32. Ids sort by time, so an
 * index on them grows at its end.
 */
export type IdPrefix =
  | 'crt' // creator
  | 'app'
  | 'grt' // grant
  | 'fam' // family of refresh tokens
  | 'tip'
  | 'alt' // alert
  | 'evt' // event
  | 'whk' // webhook endpoint
  | 'con' // connection
  | 'gol' // goal
  | 'dlv' // delivery
  | 'req' // request
  | 'ses' // session
  | 'psk' // passkey
  | 'avt' // avatar
  | 'lgo' // logo of an app
  | 'mod' // moderator link
  | 'key' // stream key
  | 'fil' // uploaded picture or sound
  | 'frm' // form
  | 'rhs' // rehearsal
  | 'ers' // erasure
  | 'aud' // audit entry
  | 'lse' // lease of a deletion
  | 'nam'; // username of a deleted account

export type NewId = (prefix: IdPrefix) => string;

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const randomBytesPerId = 10;

export function createIds(clock: Clock): NewId {
  const pool = Buffer.alloc(randomBytesPerId * 256);
  let used = pool.length;
  let last = { ms: Number.NaN, text: '' };
  return (prefix) => {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const at = used;
    used += randomBytesPerId;
    setVersion(pool, at);
    const ms = clock();
    if (ms !== last.ms) last = { ms, text: timeText(ms) };
    return `${prefix}_${last.text}${encodeFive(pool, at)}${encodeFive(pool, at + 5)}`;
  };
}

/** An id of this time whose other 80 bits are given. The same bits give the same id. */
export function idOf(prefix: IdPrefix, ms: number, bits: Uint8Array): string {
  const own = Uint8Array.from(bits.subarray(0, randomBytesPerId));
  setVersion(own, 0);
  return `${prefix}_${timeText(ms)}${encodeFive(own, 0)}${encodeFive(own, 5)}`;
}

/** Sorts after all ids made before this millisecond, and before all others. */
export const firstId = (prefix: IdPrefix, ms: number): string => `${prefix}_${timeText(ms)}`;

/** Sorts after all ids. */
export const afterAllIds = '~';

/** The first ten of the 26 characters: 50 bits, of which two are zero and 48 are the time. Sorts by time. */
export function timeText(ms: number): string {
  let text = '';
  for (let rest = ms; text.length < 10; rest = Math.floor(rest / 32)) text = alphabet[rest % 32] + text;
  return text;
}

/** When an id was made, in milliseconds. */
export function timeOfId(id: string): number {
  const text = id.slice(id.indexOf('_') + 1, id.indexOf('_') + 11);
  return [...text].reduce((ms, letter) => ms * 32 + alphabet.indexOf(letter), 0);
}

function setVersion(bytes: Uint8Array, at: number): void {
  bytes[at] = ((bytes[at] ?? 0) & 0x0f) | 0x70; // version 7
  bytes[at + 2] = ((bytes[at + 2] ?? 0) & 0x3f) | 0x80; // the variant of RFC 9562
}

/** Five bytes are eight characters: four pairs of ten bits, each looked up at once. */
function encodeFive(bytes: Uint8Array, at: number): string {
  const [a = 0, b = 0, c = 0, d = 0, e = 0] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3], bytes[at + 4]];
  return `${pairs[(a << 2) | (b >> 6)]}${pairs[((b & 0x3f) << 4) | (c >> 4)]}${pairs[((c & 0x0f) << 6) | (d >> 2)]}${pairs[((d & 0x03) << 8) | e]}`;
}

const pairs = Array.from({ length: 1024 }, (_, i) => `${alphabet[i >> 5]}${alphabet[i & 31]}`);
