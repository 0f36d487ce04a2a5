import { defineWrites, type PostgresStatement, type Reader, type Tx } from '../../../platform/db/database.ts';
import { audited } from '../../audit/index.ts';
import { lockCreator, signInState } from '../repo.ts';
import { aboutSession, insertSession, type SessionRow } from '../sessions/repo.ts';

const freeAttempts = 10;
const slowAttempts = 3;
const firstDelayMs = 1000;
const firstPauseMs = 30_000;
const longestPauseMs = 15 * 60_000;
export const attemptsExpireMs = 24 * 3_600_000;

/** Counts an attempt. Returns how long to delay it, or for how long attempts are refused. */
async function countAttempt(tx: Tx, key: string, now: number): Promise<{ delayMs: number } | { pauseMs: number }> {
  const attempts = await incrementAttempts(tx, key, now, now - attemptsExpireMs);
  if (attempts === undefined) return { pauseMs: (await nextAttemptAt(tx, key)) - now };
  const delayMs = delayBefore(attempts);
  const refusals = attempts - freeAttempts - slowAttempts;
  if (refusals >= 0) await setNextAttempt(tx, key, now + delayMs + pauseAfter(refusals));
  return { delayMs };
}

const delayBefore = (attempts: number): number =>
  attempts <= freeAttempts ? 0 : firstDelayMs * 2 ** Math.min(attempts - freeAttempts - 1, slowAttempts - 1);
const pauseAfter = (refusals: number): number => Math.min(firstPauseMs * 2 ** Math.min(refusals, 10), longestPauseMs);

const incrementSql = (condition: string): string => `
INSERT INTO sign_in_failures AS f (key, failures, last_at, next_at) VALUES ($1, 1, $2, 0)
ON CONFLICT (key) DO UPDATE SET
  failures = CASE WHEN f.last_at < $3 THEN 1 ELSE f.failures + 1 END, last_at = excluded.last_at, next_at = 0
WHERE ${condition} RETURNING failures`;

const notPaused = 'f.next_at <= excluded.last_at';
const incrementNotPausedSql = incrementSql(notPaused);

/** Returns the new count; `undefined` while attempts are refused. */
async function incrementAttempts(tx: Tx, key: string, now: number, expiredBefore: number): Promise<number | undefined> {
  const row = await tx.get<{ failures: number }>(incrementNotPausedSql, [key, now, expiredBefore]);
  return row?.failures;
}

const incrementBeforePausesSql = incrementSql(`${notPaused} AND f.failures < ${freeAttempts + slowAttempts - 1}`);

/**
 * `countAttempt` as one statement, as long as no pause follows. Otherwise hundreds of attempts at once, each a transaction
 * of several round trips, would wait for the few connections of transactions until their time is up.
 */
const countAttemptStatement: PostgresStatement<[string, number], { delayMs: number }> = {
  statement: (key, now) => ({
    owner: key,
    sql: incrementBeforePausesSql,
    params: [key, now, now - attemptsExpireMs],
  }),
  answer: ({ failures }: { failures: number }) => ({ delayMs: delayBefore(failures) }),
};

export async function nextAttemptAt(db: Reader, key: string): Promise<number> {
  const row = await db.get<{ next_at: number }>('SELECT next_at FROM sign_in_failures WHERE key = $1', [key]);
  return row?.next_at ?? 0;
}

async function setNextAttempt(tx: Tx, key: string, at: number): Promise<void> {
  await tx.run('UPDATE sign_in_failures SET next_at = $2 WHERE key = $1', [key, at]);
}

async function clearAttempts(tx: Tx, key: string): Promise<void> {
  await tx.run('DELETE FROM sign_in_failures WHERE key = $1', [key]);
}

/** On PostgreSQL an attempt may be counted once its row was found: so its age is compared in the outer condition too. */
function deleteAttemptsBefore(tx: Tx, before: number, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM sign_in_failures WHERE last_at < $1 AND key IN
       (SELECT key FROM sign_in_failures WHERE last_at < $1 LIMIT $2)`,
    [before, limit],
  );
}

/** Compares the hash again: the password may have changed, and all sessions ended, while it was verified. */
async function signInWithPassword(
  tx: Tx,
  passwordHash: string,
  session: SessionRow,
): Promise<'ok' | 'wrong' | 'leaving' | 'suspended'> {
  const creator = await lockCreator(tx, session.creator_id);
  if (creator?.password_hash !== passwordHash) return 'wrong';
  const state = signInState(creator);
  if (state === 'ok') await insertSession(tx, session);
  return state;
}

/** A wrong password or recovery code of an existing account changes nothing: its row in the audit log is all. */
async function refuseSignIn(_tx: Tx, _creatorId: string, _method: 'password' | 'recovery'): Promise<void> {}

export const writes = defineWrites(
  import.meta.url,
  {
    countAttempt,
    clearAttempts,
    deleteAttemptsBefore,
    refuseSignIn: audited('session.refused', refuseSignIn, (_, creatorId, method) => ({
      creatorId,
      details: { method },
    })),
    signInWithPassword: audited('session.started', signInWithPassword, (outcome, _hash, session) => {
      return outcome === 'ok' && aboutSession(session);
    }),
  },
  { countAttempt: countAttemptStatement },
);
