import type { Reader, Tx } from '../../platform/db/database.ts';

export interface SigningKeyRow {
  kid: string;
  public_jwk: string;
  sealed_private_jwk: Uint8Array;
  created_at: number;
}

/** Newest first: the first one signs. */
export function signingKeys(db: Reader): Promise<SigningKeyRow[]> {
  return db.all<SigningKeyRow>(
    'SELECT kid, public_jwk, sealed_private_jwk, created_at FROM signing_keys ORDER BY created_at DESC, kid',
  );
}

export async function insertKey(tx: Tx, row: SigningKeyRow): Promise<void> {
  await tx.run('INSERT INTO signing_keys (kid, public_jwk, sealed_private_jwk, created_at) VALUES ($1, $2, $3, $4)', [
    row.kid,
    row.public_jwk,
    row.sealed_private_jwk,
    row.created_at,
  ]);
}
