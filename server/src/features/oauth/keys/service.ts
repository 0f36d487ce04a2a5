import { createPrivateKey, createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
import type { JWK } from 'jose';
import type { Write } from '../../../platform/db/database.ts';
import type { Origin } from '../../../platform/origin.ts';
import type { Platform } from '../../../platform/platform.ts';
import * as repo from './repo.ts';

/**
 * Keys that sign access tokens (ES256). Private parts are sealed at rest.
 * - A new key is published before it signs, so that every node, and every reader of the key set, knows it when its first
 *   token arrives. Until then the previous key signs.
 * - A retired key verifies until the last token that it could have signed has expired. Then it is deleted.
 */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
}

/** PostgreSQL: a cached key set is read again after this time, because another node may have rotated the keys. */
const cacheMs = 10_000;
/** Three times `cacheMs`, because the clocks of nodes may differ. */
const publishedMs = 30_000;
/** The longest life of a token (ACCESS_TOKEN_SECONDS is at most a day) and an hour of tolerance. */
const retiredMs = 25 * 3_600_000;

export type Keys = ReturnType<typeof createKeys>;

export function createKeys({ db, origins, vault, clock }: Pick<Platform, 'db' | 'origins' | 'vault' | 'clock'>) {
  let signing: SigningKey | undefined;
  let verifying: ReadonlyMap<string, KeyObject> = new Map();
  let loadedAt = Number.NEGATIVE_INFINITY;
  let loadedVersion: number | undefined;
  let nextSigns = Number.POSITIVE_INFINITY;
  let loading: Promise<SigningKey> | undefined;

  async function load(): Promise<SigningKey> {
    const version = db.version(['signing_keys']);
    const fresh = version === undefined ? clock() - loadedAt < cacheMs : version === loadedVersion;
    if (fresh && signing && clock() < nextSigns) return signing;
    // Shared by all who find the keys old: hundreds of requests may arrive before they are read.
    loading ??= read(version).finally(() => {
      loading = undefined;
    });
    return loading;
  }

  async function read(version: number | undefined): Promise<SigningKey> {
    const rows = await repo.signingKeys(db);
    const now = clock();
    // The newest key that has been published for long enough. The first key signs at once.
    const active = rows.find(({ created_at }) => created_at + publishedMs <= now) ?? rows.at(-1);
    const [newest] = rows;
    if (!newest || !active) {
      await add(repo.writes.insertFirstKey);
      return read(db.version(['signing_keys']));
    }
    nextSigns = active === newest ? Number.POSITIVE_INFINITY : newest.created_at + publishedMs;
    if (signing?.kid !== active.kid) {
      const jwk = JSON.parse(vault.open(active.sealed_private_jwk, sealContext(active.kid)));
      signing = { kid: active.kid, privateKey: createPrivateKey({ key: jwk, format: 'jwk' }) };
    }
    verifying = new Map(
      rows.map(({ kid, public_jwk }) => [kid, createPublicKey({ key: JSON.parse(public_jwk), format: 'jwk' })]),
    );
    loadedVersion = version;
    loadedAt = now;
    return signing;
  }

  async function add(insert: Write<[Origin, repo.NewSigningKey], boolean>): Promise<string> {
    const { exportJWK, generateKeyPair } = await import('jose');
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const kid = randomBytes(12).toString('base64url');
    const row = {
      kid,
      public_jwk: JSON.stringify({ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' }),
      sealed_private_jwk: vault.seal(JSON.stringify(await exportJWK(privateKey)), sealContext(kid)),
      created_at: clock(),
    };
    await db.write(insert, origins.current(), row);
    loadedAt = Number.NEGATIVE_INFINITY;
    return kid;
  }

  return {
    /** The key that signs now. Creates the first key. */
    signing: load,
    /** The public keys whose tokens hold, by id. */
    async verifying(): Promise<ReadonlyMap<string, KeyObject>> {
      await load();
      return verifying;
    },
    /** Adds a key, which signs after `publishedMs`. Returns its id. */
    rotate: () => add(repo.writes.insertKey),
    /** Deletes keys whose last token has expired. */
    prune: () => db.write(repo.writes.deleteKeysRetiredBefore, clock() - retiredMs),
    /** The public key set (RFC 7517). */
    async publicSet(): Promise<{ keys: JWK[] }> {
      await load();
      return { keys: (await repo.signingKeys(db)).map((row) => JSON.parse(row.public_jwk)) };
    },
  };
}

const sealContext = (kid: string): string => `signing-key:${kid}`;
