import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';
import { audited } from '../../audit/index.ts';

export interface SigningKeyRow {
  kid: string;
  public_jwk: string;
  sealed_private_jwk: Uint8Array;
  created_at: number;
  retired_at: number | null;
}

/** Newest first. */
export function signingKeys(db: Reader): Promise<SigningKeyRow[]> {
  return db.all<SigningKeyRow>(
    'SELECT kid, public_jwk, sealed_private_jwk, created_at, retired_at FROM signing_keys ORDER BY created_at DESC, kid',
  );
}

export type NewSigningKey = Omit<SigningKeyRow, 'retired_at'>;

/** SQLite runs one write at a time. PostgreSQL needs a lock for that. */
async function lockKeys(tx: Tx): Promise<void> {
  await tx.run({ sqlite: 'SELECT 1', postgres: 'LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE' });
}

/** Retires all older keys. */
async function insertKey(tx: Tx, row: NewSigningKey): Promise<boolean> {
  await lockKeys(tx);
  await tx.run('UPDATE signing_keys SET retired_at = $1 WHERE retired_at IS NULL', [row.created_at]);
  await tx.run('INSERT INTO signing_keys (kid, public_jwk, sealed_private_jwk, created_at) VALUES ($1, $2, $3, $4)', [
    row.kid,
    row.public_jwk,
    row.sealed_private_jwk,
    row.created_at,
  ]);
  return true;
}

/** Of several nodes that find no key, one inserts it. Returns whether it was this one. */
async function insertFirstKey(tx: Tx, row: NewSigningKey): Promise<boolean> {
  await lockKeys(tx);
  return (await tx.get('SELECT kid FROM signing_keys LIMIT 1')) === undefined && insertKey(tx, row);
}

function deleteKeysRetiredBefore(tx: Tx, before: number): Promise<number> {
  return tx.run('DELETE FROM signing_keys WHERE retired_at < $1', [before]);
}

const aboutKey = (inserted: boolean, { kid }: NewSigningKey) => inserted && { details: { kid } };

export const writes = defineWrites(import.meta.url, {
  insertKey: audited('signing_key.created', insertKey, aboutKey),
  insertFirstKey: audited('signing_key.created', insertFirstKey, aboutKey),
  deleteKeysRetiredBefore,
});
