import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';
import { audited } from '../../audit/index.ts';
import { lockCreator, setPassword, signInState } from '../repo.ts';
import { aboutSession, insertSession, type SessionRow } from '../sessions/repo.ts';

/** The lock lets one replacement delete what a concurrent one has inserted. */
async function replaceCodes(tx: Tx, creatorId: string, hashes: readonly string[], createdAt: number): Promise<void> {
  await lockCreator(tx, creatorId);
  await tx.run('DELETE FROM recovery_codes WHERE creator_id = $1', [creatorId]);
  for (const hash of hashes)
    await tx.run('INSERT INTO recovery_codes (creator_id, hash, created_at) VALUES ($1, $2, $3)', [
      creatorId,
      hash,
      createdAt,
    ]);
}

/** Returns whether the code exists and was unused: the update decides between concurrent uses. */
async function consumeCode(tx: Tx, creatorId: string, hash: string, usedAt: number): Promise<boolean> {
  const used = await tx.run(
    'UPDATE recovery_codes SET used_at = $3 WHERE creator_id = $1 AND hash = $2 AND used_at IS NULL',
    [creatorId, hash, usedAt],
  );
  return used === 1;
}

export async function isUnused(db: Reader, creatorId: string, hash: string): Promise<boolean> {
  const sql = 'SELECT hash FROM recovery_codes WHERE creator_id = $1 AND hash = $2 AND used_at IS NULL';
  return (await db.get(sql, [creatorId, hash])) !== undefined;
}

export async function unusedCodes(db: Reader, creatorId: string): Promise<number> {
  const rows = await db.all('SELECT hash FROM recovery_codes WHERE creator_id = $1 AND used_at IS NULL', [creatorId]);
  return rows.length;
}

/** Consumes the code, sets the password, ends every session and starts a new one, unless the account waits for its deletion. */
async function signInByCode(
  tx: Tx,
  codeHash: string,
  passwordHash: string,
  session: SessionRow,
  now: number,
): Promise<'ok' | 'wrong' | 'leaving'> {
  const { creator_id } = session;
  const creator = await lockCreator(tx, creator_id);
  const state = creator ? signInState(creator) : 'suspended';
  if (state === 'suspended') return 'wrong';
  if (!(await consumeCode(tx, creator_id, codeHash, now))) return 'wrong';
  await setPassword(tx, creator_id, passwordHash, null);
  if (state === 'ok') await insertSession(tx, session);
  return state;
}

export const writes = defineWrites(import.meta.url, {
  replaceCodes: audited('recovery_codes.replaced', replaceCodes, (_, creatorId) => ({ creatorId })),
  signInByCode: audited('account.recovered', signInByCode, (outcome, _code, _password, session) => {
    return outcome !== 'wrong' && aboutSession(session);
  }),
});
