import { randomBytes } from 'node:crypto';
import { exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Vault } from '../../platform/secrets.ts';
import * as repo from './keys-repo.ts';

/**
 * Keys that sign access tokens (ES256). The newest signs; retired ones verify until the last token they could
 * have signed has ended. Private parts are sealed at rest.
 */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
}

export type Keys = ReturnType<typeof createKeys>;

export function createKeys({ db, vault, clock }: { db: Database; vault: Vault; clock: Clock }) {
  let signing: SigningKey | undefined;
  let verifying = new Map<string, CryptoKey>();
  let loadedAt = Number.NEGATIVE_INFINITY;
  let loadedVersion: number | undefined;
  // Another node may have rotated: a key set this old is read again.
  const trustedMs = 10_000;

  async function load(): Promise<void> {
    const version = db.version(['signing_keys']);
    const fresh = version === undefined ? clock() - loadedAt < trustedMs : version === loadedVersion;
    if (fresh && signing) return;
    const rows = await repo.signingKeys(db);
    const newest = rows[0];
    if (!newest) throw new Error('There is no signing key. Run: namjai migrate');
    if (signing?.kid !== newest.kid) {
      const jwk = JSON.parse(vault.open(newest.sealed_private_jwk, sealContext(newest.kid)));
      signing = { kid: newest.kid, privateKey: await importKey(jwk) };
    }
    verifying = new Map(
      await Promise.all(rows.map(async (row) => [row.kid, await importKey(JSON.parse(row.public_jwk))] as const)),
    );
    loadedVersion = version;
    loadedAt = clock();
  }

  async function add(): Promise<string> {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const kid = randomBytes(12).toString('base64url');
    const row = {
      kid,
      public_jwk: JSON.stringify({ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' }),
      sealed_private_jwk: vault.seal(JSON.stringify(await exportJWK(privateKey)), sealContext(kid)),
      created_at: clock(),
    };
    await db.write((tx) => repo.insertKey(tx, row));
    loadedAt = Number.NEGATIVE_INFINITY;
    return kid;
  }

  return {
    async signing(): Promise<SigningKey> {
      await load();
      return signing!;
    },
    /** The public key of this id; an unknown id reads the set again, at most every ten seconds. */
    async verifying(kid: string): Promise<CryptoKey | undefined> {
      await load();
      return verifying.get(kid);
    },
    /** Makes the first key if there is none. */
    async ensure(): Promise<void> {
      if ((await repo.signingKeys(db)).length === 0) await add();
      await load();
    },
    /** A new key signs from now on; the old ones go on verifying. */
    rotate: add,
    /** The public key set (RFC 7517). */
    async publicSet(): Promise<{ keys: JWK[] }> {
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
