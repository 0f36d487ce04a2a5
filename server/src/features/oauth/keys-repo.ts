import type { Reader, Sql, Tx } from '../../platform/db/database.ts';

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

/** One at a time, as SQLite's writes are anyway. */
const lockKeys: Sql = {
  sqlite: 'SELECT 1',
  postgres: 'LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE',
};

/** A new key retires all before it. */
export async function insertKey(tx: Tx, row: Omit<SigningKeyRow, 'retired_at'>): Promise<void> {
  await tx.run(lockKeys);
  await tx.run('UPDATE signing_keys SET retired_at = $1 WHERE retired_at IS NULL', [row.created_at]);
  await tx.run('INSERT INTO signing_keys (kid, public_jwk, sealed_private_jwk, created_at) VALUES ($1, $2, $3, $4)', [
    row.kid,
    row.public_jwk,
    row.sealed_private_jwk,
    row.created_at,
  ]);
}

/** Of those who find no key at once, one makes it. */
export async function insertFirstKey(tx: Tx, row: Omit<SigningKeyRow, 'retired_at'>): Promise<void> {
  await tx.run(lockKeys);
  if (!(await tx.get('SELECT kid FROM signing_keys LIMIT 1'))) await insertKey(tx, row);
}

export function deleteKeysRetiredBefore(tx: Tx, before: number): Promise<number> {
  return tx.run('DELETE FROM signing_keys WHERE retired_at < $1', [before]);
}
