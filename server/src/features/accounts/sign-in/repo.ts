import type { Reader, Tx } from '../../../platform/db/database.ts';

/** Counts one try and answers how many that makes; `undefined` while tries are refused. */
export async function countTry(tx: Tx, key: string, now: number, forgetBefore: number): Promise<number | undefined> {
  const row = await tx.get<{ failures: number }>(
    `INSERT INTO sign_in_failures AS f (key, failures, last_at, next_at) VALUES ($1, 1, $2, 0)
     ON CONFLICT (key) DO UPDATE SET
       failures = CASE WHEN f.last_at < $3 THEN 1 ELSE f.failures + 1 END, last_at = excluded.last_at, next_at = 0
     WHERE f.next_at <= excluded.last_at RETURNING failures`,
    [key, now, forgetBefore],
  );
  return row?.failures;
}

export async function nextTryAt(db: Reader, key: string): Promise<number> {
  const row = await db.get<{ next_at: number }>('SELECT next_at FROM sign_in_failures WHERE key = $1', [key]);
  return row?.next_at ?? 0;
}

export async function setNextTry(tx: Tx, key: string, at: number): Promise<void> {
  await tx.run('UPDATE sign_in_failures SET next_at = $2 WHERE key = $1', [key, at]);
}

export async function forgetTries(tx: Tx, key: string): Promise<void> {
  await tx.run('DELETE FROM sign_in_failures WHERE key = $1', [key]);
}

export function forgetTriesBefore(tx: Tx, before: number): Promise<number> {
  return tx.run('DELETE FROM sign_in_failures WHERE last_at < $1', [before]);
}
