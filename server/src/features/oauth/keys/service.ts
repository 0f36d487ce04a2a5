import { createPrivateKey, type KeyObject, randomBytes } from 'node:crypto';
import { exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import type { Write } from '../../../platform/db/database.ts';
import type { Platform } from '../../../platform/platform.ts';
import * as repo from './repo.ts';

/**
 * Keys that sign access tokens (ES256). Private parts are sealed at rest.
 * - A new key is announced before it signs, so that every node, and everyone who reads the key set, knows it by the
 *   time its first token arrives. Until then the one before it goes on signing.
 * - A retired key verifies until the last token that it could have signed has ended; then it is removed.
 */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
}

/** Where the engine cannot tell that another node has rotated, a key set this old is read again. */
const trustedMs = 10_000;
/** Three times as long as a node trusts its key set; clocks of nodes may differ. */
const announcedMs = 30_000;
/** No token lives longer than a day, whatever ACCESS_TOKEN_SECONDS was when it was signed; an hour for the rest. */
const retiredMs = 25 * 3_600_000;

export type Keys = ReturnType<typeof createKeys>;

export function createKeys({ db, vault, clock }: Pick<Platform, 'db' | 'vault' | 'clock'>) {
  let signing: SigningKey | undefined;
  let verifying = new Map<string, CryptoKey>();
  let loadedAt = Number.NEGATIVE_INFINITY;
  let loadedVersion: number | undefined;
  let nextSigns = Number.POSITIVE_INFINITY;

  async function load(): Promise<SigningKey> {
    const version = db.version(['signing_keys']);
    const fresh = version === undefined ? clock() - loadedAt < trustedMs : version === loadedVersion;
    if (fresh && signing && clock() < nextSigns) return signing;
    const rows = await repo.signingKeys(db);
    const now = clock();
    // The newest that has been announced for long enough; the very first one signs at once.
    const active = rows.find(({ created_at }) => created_at + announcedMs <= now) ?? rows.at(-1);
    const [newest] = rows;
    if (!newest || !active) {
      await add(repo.writes.insertFirstKey);
      return load();
    }
    nextSigns = active === newest ? Number.POSITIVE_INFINITY : newest.created_at + announcedMs;
    if (signing?.kid !== active.kid) {
      const jwk = JSON.parse(vault.open(active.sealed_private_jwk, sealContext(active.kid)));
      signing = { kid: active.kid, privateKey: createPrivateKey({ key: jwk, format: 'jwk' }) };
    }
    verifying = new Map(
      await Promise.all(rows.map(async (row) => [row.kid, await importKey(JSON.parse(row.public_jwk))] as const)),
    );
    loadedVersion = version;
    loadedAt = now;
    return signing;
  }

  async function add(insert: Write<[repo.NewSigningKey], void>): Promise<string> {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const kid = randomBytes(12).toString('base64url');
    const row = {
      kid,
      public_jwk: JSON.stringify({ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' }),
      sealed_private_jwk: vault.seal(JSON.stringify(await exportJWK(privateKey)), sealContext(kid)),
      created_at: clock(),
    };
    await db.write(insert, row);
    loadedAt = Number.NEGATIVE_INFINITY;
    return kid;
  }

  return {
    /** The key that signs now; the first one is made when it is first asked for. */
    signing: load,
    /** The public key of this id. */
    async verifying(kid: string): Promise<CryptoKey | undefined> {
      await load();
      return verifying.get(kid);
    },
    /** A new key, which signs once it has been announced; the old ones go on verifying. */
    rotate: () => add(repo.writes.insertKey),
    /** Removes keys whose last token has ended. */
    prune: () => db.write(repo.writes.deleteKeysRetiredBefore, clock() - retiredMs),
    /** The public key set (RFC 7517). */
    async publicSet(): Promise<{ keys: JWK[] }> {
      await load();
      return { keys: (await repo.signingKeys(db)).map((row) => JSON.parse(row.public_jwk)) };
    },
  };
}

const sealContext = (kid: string): string => `signing-key:${kid}`;

async function importKey(jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK(jwk, 'ES256');
  if (key instanceof Uint8Array) throw new Error('A signing key is not an EC key.');
  return key;
}
