import { fromBase64Url, toBase64Url } from './encoding.ts';
import { OAuthError } from './errors.ts';
import type { Store } from './store.ts';

/**
 * The app's store, encrypted with AES-256-GCM.
 *
 * - The name of an entry is authenticated with its value: a value that is copied to another key does not open.
 * - Every value has a random nonce, so no two writes store the same text. That is what makes compare and set exact: an
 *   entry that was replaced and put back never equals the one that was read.
 * - Web Crypto only: the same code runs in Node.js, Deno, Bun and workers.
 */

/** 32 random bytes or more; of a list the first encrypts, and all of them decrypt. */
export type EncryptionKey = string | Uint8Array | readonly (string | Uint8Array)[];

export interface Sealed<T> {
  /** As it is stored: what the next write must expect. */
  readonly raw: string;
  /** Nothing if none of the keys opens it. */
  readonly value: T | undefined;
}

export type SealedStore = ReturnType<typeof createSealedStore>;

const VERSION = 'v1.';
const NONCE_BYTES = 12;
const MIN_KEY_BYTES = 32;
const WRITE_TRIES = 3;
const UPDATE_TRIES = 50;

export function createSealedStore(store: Store, encryptionKey: EncryptionKey) {
  const materials = keyMaterials(encryptionKey);
  let imported: Promise<CryptoKey[]> | undefined;
  const keys = () => {
    imported ??= Promise.all(materials.map(deriveKey));
    return imported;
  };

  async function seal(name: string, value: unknown): Promise<string> {
    const [key] = await keys();
    if (!key) throw new TypeError('encryptionKey must not be an empty list');
    const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    const text = await crypto.subtle.encrypt(cipher(name, nonce), key, encode(JSON.stringify(value)));
    return VERSION + toBase64Url(new Uint8Array([...nonce, ...new Uint8Array(text)]));
  }

  async function open<T>(name: string, raw: string): Promise<T | undefined> {
    if (!raw.startsWith(VERSION)) return undefined;
    for (const key of await keys()) {
      try {
        const bytes = fromBase64Url(raw.slice(VERSION.length));
        const nonce = bytes.subarray(0, NONCE_BYTES);
        const text = await crypto.subtle.decrypt(cipher(name, nonce), key, bytes.subarray(NONCE_BYTES));
        return JSON.parse(new TextDecoder().decode(text));
      } catch {
        // Encrypted with another key, or damaged.
      }
    }
    return undefined;
  }

  const failed = (name: string, tries: number, cause?: unknown) =>
    new OAuthError('store_failed', `The store did not keep ${name}, tried ${tries} times.`, { cause });

  async function read<T>(name: string): Promise<Sealed<T> | null> {
    const raw = await store.read(name);
    return raw === null ? null : { raw, value: await open<T>(name, raw) };
  }

  /**
   * Answers what is stored now, for the next write, or `undefined` if the entry was no longer `expected`. A write whose
   * answer was lost is looked up: the text is unique, so if it is there, it was stored by this call.
   */
  async function write(name: string, value: unknown, expected: string | null): Promise<string | undefined> {
    const raw = await seal(name, value);
    for (let tries = 1; ; tries += 1) {
      try {
        if (await store.write(name, raw, expected)) return raw;
        return tries > 1 && (await store.read(name)) === raw ? raw : undefined;
      } catch (cause) {
        if (tries >= WRITE_TRIES) throw failed(name, tries, cause);
      }
    }
  }

  return {
    read,
    write,

    /** Changes an entry to what `change` makes of its present value; `undefined` leaves it as it is. */
    async update<T>(name: string, change: (value: T | undefined) => T | undefined): Promise<void> {
      for (let tries = 0; tries < UPDATE_TRIES; tries += 1) {
        const entry = await read<T>(name);
        const value = change(entry?.value);
        if (value === undefined || (await write(name, value, entry?.raw ?? null)) !== undefined) return;
      }
      throw failed(name, UPDATE_TRIES);
    },

    remove: (name: string): Promise<void> => store.remove(name),
  };
}

const encode = (text: string) => new TextEncoder().encode(text);

const cipher = (name: string, nonce: Uint8Array<ArrayBuffer>): AesGcmParams => ({
  name: 'AES-GCM',
  iv: nonce,
  additionalData: encode(name),
});

/** `undefined` comes from a program without types, whose environment lacks the key. */
function keyMaterials(encryptionKey: EncryptionKey | undefined): Uint8Array<ArrayBuffer>[] {
  const list =
    typeof encryptionKey === 'string' || encryptionKey instanceof Uint8Array ? [encryptionKey] : (encryptionKey ?? []);
  const materials = list.map((key) => (typeof key === 'string' ? encode(key) : new Uint8Array(key)));
  if (materials.length === 0 || materials.some(({ length }) => length < MIN_KEY_BYTES))
    throw new TypeError(
      `encryptionKey must have at least ${MIN_KEY_BYTES} bytes. Make one with: openssl rand -base64 32`,
    );
  return materials;
}

/** HKDF (RFC 5869), because the key may be any random text. */
async function deriveKey(material: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  const base = await crypto.subtle.importKey('raw', material, 'HKDF', false, ['deriveKey']);
  const derivation = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: encode('@namjai/sdk store v1') };
  return crypto.subtle.deriveKey(derivation, base, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']);
}
