/**
 * Encryption at rest and MACs, with keys derived from SECRET_KEY and, while it is replaced, from SECRET_KEY_OLD.
 *
 * - One key seals and signs. Every configured key opens and verifies.
 * - A sealed value begins with the id of its key. Values of a database whose key was never replaced have no id: so
 *   nodes of a version that knows no ids can open them. A value without an id is tried with every key.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { sameText } from './secrets.ts';

export interface Vault {
  /** `context` names what is sealed and where. `open` needs the same context. */
  seal(plain: string, context: string): Uint8Array;
  open(sealed: Uint8Array, context: string): string;
  /** A MAC. Each purpose has its own key. */
  sign(purpose: string, text: string): Buffer;
  /** The MACs by all configured keys, to compare with one that comes back. */
  signatures(purpose: string, text: string): readonly Buffer[];
}

/** The vault and its keys, for the replacement of SECRET_KEY. */
export interface KeyedVault extends Vault {
  /** The id of SECRET_KEY. An id is derived from its key and does not reveal it. */
  readonly keyId: string;
  readonly oldKeyId: string | undefined;
  /** Seals and signs with this key from now on. A vault that does not have the key seals nothing any more. */
  sealWith(keyId: string): void;
  /** The key that seals; nothing if the vault does not have it. */
  sealingKey(): string | undefined;
  /** Whether the value begins with the id of this key. */
  hasLabel(sealed: Uint8Array, keyId: string): boolean;
  /** The id of the key that opens the value, whether the value names it or not; nothing if none does. */
  keyOf(sealed: Uint8Array, context: string): string | undefined;
}

/** Whether this is the MAC of the text, by any configured key, in base64url. */
export const isSigned = (vault: Vault, purpose: string, text: string, mac: string): boolean =>
  vault.signatures(purpose, text).some((one) => sameText(one.toString('base64url'), mac));

export class SealBroken extends Error {
  override name = 'SealBroken';
}

const idLength = 8;
const nonceLength = 12;
const tagLength = 16;

interface Key {
  readonly id: string;
  readonly label: Buffer;
  readonly sealKey: Buffer;
  /** By purpose. */
  readonly signKeys: Map<string, KeyObject>;
  derive(purpose: string): Buffer;
}

function createKey(secretKey: string): Key {
  const derive = (purpose: string, length = 32) =>
    Buffer.from(hkdfSync('sha256', secretKey, 'namjai', purpose, length));
  const label = derive('key id', idLength);
  return { id: label.toString('hex'), label, sealKey: derive('seal'), signKeys: new Map(), derive };
}

export function createVault(secretKey: string, oldSecretKey?: string): KeyedVault {
  const key = createKey(secretKey);
  const oldKey = oldSecretKey === undefined ? undefined : createKey(oldSecretKey);
  const keys = oldKey ? [key, oldKey] : [key];
  // Until SECRET_KEY is replaced for the first time.
  let sealing: Key | undefined = oldKey ?? key;
  let labels = false;

  const hasLabel = (sealed: Buffer, { label }: Key): boolean => sealed.subarray(0, idLength).equals(label);

  function tryAll(sealed: Uint8Array, context: string): { readonly id: string; readonly plain: string } | undefined {
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
    for (const one of keys) {
      const plain =
        (hasLabel(bytes, one) ? decrypt(one, bytes.subarray(idLength), context) : undefined) ??
        decrypt(one, bytes, context);
      if (plain !== undefined) return { id: one.id, plain };
    }
    return undefined;
  }

  function mac({ signKeys, derive }: Key, purpose: string, text: string): Buffer {
    // A key given as bytes would be imported for every MAC, which costs five times the MAC itself.
    const signKey = signKeys.get(purpose) ?? createSecretKey(derive(`sign:${purpose}`));
    signKeys.set(purpose, signKey);
    return createHmac('sha256', signKey).update(text).digest();
  }

  return {
    keyId: key.id,
    oldKeyId: oldKey?.id,

    sealWith(keyId) {
      sealing = keys.find(({ id }) => id === keyId);
      labels = true;
    },
    sealingKey: () => sealing?.id,
    hasLabel: (sealed, keyId) => Buffer.from(sealed.subarray(0, idLength)).toString('hex') === keyId,
    keyOf: (sealed, context) => tryAll(sealed, context)?.id,

    seal(plain, context) {
      if (!sealing)
        throw new SealBroken('SECRET_KEY was replaced, and this process has only the old one. Start it with both.');
      const nonce = randomBytes(nonceLength);
      const cipher = createCipheriv('aes-256-gcm', sealing.sealKey, nonce).setAAD(Buffer.from(context));
      const label = labels ? [sealing.label] : [];
      return Buffer.concat([...label, nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    },

    open(sealed, context) {
      const opened = tryAll(sealed, context);
      if (!opened)
        throw new SealBroken(
          'A secret at rest cannot be opened. Was SECRET_KEY changed? Start with the one it was made with, or set that one as SECRET_KEY_OLD (in development they are kept in secret.key and secret.key.old beside the database).',
        );
      return opened.plain;
    },

    sign: (purpose, text) => mac(sealing ?? key, purpose, text),
    signatures: (purpose, text) => keys.map((one) => mac(one, purpose, text)),
  };
}

function decrypt({ sealKey }: Key, bytes: Buffer, context: string): string | undefined {
  if (bytes.length < nonceLength + tagLength) return undefined;
  try {
    const nonce = bytes.subarray(0, nonceLength);
    const decipher = createDecipheriv('aes-256-gcm', sealKey, nonce, { authTagLength: tagLength });
    decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-tagLength));
    return Buffer.concat([decipher.update(bytes.subarray(nonceLength, -tagLength)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
