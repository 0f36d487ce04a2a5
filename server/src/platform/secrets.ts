import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
  randomFillSync,
  timingSafeEqual,
} from 'node:crypto';

/** A credential is a prefix, by which secret scanners and our own log find it, and 256 random bits. */
export const secretPrefixes = ['njs', 'njr', 'njc', 'njo', 'njd', 'njk', 'njm'] as const;
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

/** Encryption at rest and MACs, with keys derived from SECRET_KEY. */
export interface Vault {
  /** `context` names what is sealed and where. `open` needs the same context. */
  seal(plain: string, context: string): Uint8Array;
  open(sealed: Uint8Array, context: string): string;
  /** A MAC. Each purpose has its own key. */
  sign(purpose: string, text: string): Buffer;
}

export class SealBroken extends Error {
  override name = 'SealBroken';
}

export function createVault(secretKey: string): Vault {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secretKey, 'namjai', purpose, 32));
  const sealKey = derive('seal');
  const signKeys = new Map<string, KeyObject>();
  return {
    seal(plain, context) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', sealKey, nonce).setAAD(Buffer.from(context));
      return Buffer.concat([nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed);
      try {
        const decipher = createDecipheriv('aes-256-gcm', sealKey, bytes.subarray(0, 12), { authTagLength: 16 });
        decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-16));
        return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('utf8');
      } catch {
        throw new SealBroken(
          'A secret at rest cannot be opened. Was SECRET_KEY changed? Start with the one it was made with (in development it is kept in secret.key beside the database).',
        );
      }
    },
    sign(purpose, text) {
      // A key given as bytes would be imported for every MAC, which costs five times the MAC itself.
      const key = signKeys.get(purpose) ?? createSecretKey(derive(`sign:${purpose}`));
      signKeys.set(purpose, key);
      return createHmac('sha256', key).update(text).digest();
    },
  };
}
