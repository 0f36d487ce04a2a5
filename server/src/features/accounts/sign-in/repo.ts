import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';
import { lockCreator } from '../repo.ts';
import { insertSession, type SessionRow } from '../sessions/repo.ts';

const freeTries = 10;
const slowTries = 3;
const firstDelayMs = 1000;
const firstPauseMs = 30_000;
const longestPauseMs = 15 * 60_000;
export const forgetMs = 24 * 3_600_000;

/** Counts a try. Answers how long it waits before it is checked, or how long no try is let through. */
async function enter(tx: Tx, key: string, now: number): Promise<{ delayMs: number } | { pauseMs: number }> {
  const tries = await countTry(tx, key, now, now - forgetMs);
  if (tries === undefined) return { pauseMs: (await nextTryAt(tx, key)) - now };
  const delayMs = tries <= freeTries ? 0 : firstDelayMs * 2 ** Math.min(tries - freeTries - 1, slowTries - 1);
  const refusals = tries - freeTries - slowTries;
  if (refusals >= 0) await setNextTry(tx, key, now + delayMs + pauseAfter(refusals));
  return { delayMs };
}

const pauseAfter = (refusals: number): number => Math.min(firstPauseMs * 2 ** Math.min(refusals, 10), longestPauseMs);

/** Counts one try and answers how many that makes; `undefined` while tries are refused. */
async function countTry(tx: Tx, key: string, now: number, forgetBefore: number): Promise<number | undefined> {
  const row = await tx.get<{ failures: number }>(
    `INSERT INTO sign_in_failures AS f (key, failures, last_at, next_at) VALUES ($1, 1, $2, 0)
     ON CONFLICT (key) DO UPDATE SET
       failures = CASE WHEN f.last_at < $3 THEN 1 ELSE f.failures + 1 END, last_at = excluded.last_at, next_at = 0
     WHERE f.next_at <= excluded.last_at RETURNING failures`,
    [key, now, forgetBefore],
  );
  return row?.failures;
}

async function nextTryAt(db: Reader, key: string): Promise<number> {
  const row = await db.get<{ next_at: number }>('SELECT next_at FROM sign_in_failures WHERE key = $1', [key]);
  return row?.next_at ?? 0;
}

async function setNextTry(tx: Tx, key: string, at: number): Promise<void> {
  await tx.run('UPDATE sign_in_failures SET next_at = $2 WHERE key = $1', [key, at]);
}

async function forgetTries(tx: Tx, key: string): Promise<void> {
  await tx.run('DELETE FROM sign_in_failures WHERE key = $1', [key]);
}

function forgetTriesBefore(tx: Tx, before: number, limit: number): Promise<number> {
  return tx.run(
    'DELETE FROM sign_in_failures WHERE key IN (SELECT key FROM sign_in_failures WHERE last_at < $1 LIMIT $2)',
    [before, limit],
  );
}

/** The password may have been changed, and all sessions ended, while this one was being checked. */
async function signInWithPassword(
  tx: Tx,
  passwordHash: string,
  session: SessionRow,
): Promise<'ok' | 'wrong' | 'suspended'> {
  const creator = await lockCreator(tx, session.creator_id);
  if (creator?.password_hash !== passwordHash) return 'wrong';
  if (creator.suspended_at !== null) return 'suspended';
  await insertSession(tx, session);
  return 'ok';
}

export const writes = defineWrites(import.meta.url, { enter, forgetTries, forgetTriesBefore, signInWithPassword });
