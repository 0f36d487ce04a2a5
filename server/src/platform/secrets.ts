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

/** Credentials carry a prefix, so that secret scanners find them, and 256 random bits. */
export type SecretPrefix = 'njs' | 'njr' | 'njc' | 'njo';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * 43 characters of 62 hold 256 bits. A byte that would make some of them likelier than others is left out.
 * `beginning` stands before them, and may be known.
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

/** Asking for a few thousand random bytes takes hardly longer than asking for the 43 of one secret. */
const unused = Buffer.alloc(4096);
let used = unused.length;

function randomByte(): number {
  if (used === unused.length) {
    randomFillSync(unused);
    used = 0;
  }
  const byte = unused[used]!;
  // What has become a secret is not kept.
  unused[used++] = 0;
  return byte;
}

/** For secrets of full entropy that are only ever compared: a plain hash suffices and can be looked up. */
export const hashSecret = (secret: string): string => hash('sha256', secret, 'base64url');

/** Constant-time comparison of what `hashSecret` gives: always of one length, so it need not be hidden. */
export const sameHash = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

/** Constant-time comparison of texts of any length. */
export function sameText(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));
}

/** What is derived from SECRET_KEY: sealing at rest, and keys for signing our own short texts. */
export interface Vault {
  /** `context` names what is sealed and where; the same one is needed to open it. */
  seal(plain: string, context: string): Uint8Array;
  open(sealed: Uint8Array, context: string): string;
  /** A MAC under a key of its own for each purpose. */
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
      // As bytes the key would be imported anew each time, which costs five times the MAC.
      const key = signKeys.get(purpose) ?? createSecretKey(derive(`sign:${purpose}`));
      signKeys.set(purpose, key);
      return createHmac('sha256', key).update(text).digest();
    },
  };
}
