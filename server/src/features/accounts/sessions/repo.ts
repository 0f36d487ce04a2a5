import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';
import { audited, type Subject } from '../../audit/index.ts';

export interface SessionRow {
  hash: string;
  creator_id: string;
  id: string;
  method: string;
  user_agent: string;
  address: string;
  signed_in_at: number;
  last_seen_at: number;
}

const columns = 's.hash, s.creator_id, s.id, s.method, s.user_agent, s.address, s.signed_in_at, s.last_seen_at';

/** Of one creator; another sign-in ends the session that was seen longest ago. */
const mostSessions = 100;

export async function insertSession(tx: Tx, session: SessionRow): Promise<void> {
  await tx.run(
    `INSERT INTO sessions (hash, creator_id, id, method, user_agent, address, signed_in_at, last_seen_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      session.hash,
      session.creator_id,
      session.id,
      session.method,
      session.user_agent,
      session.address,
      session.signed_in_at,
      session.last_seen_at,
    ],
  );
  await tx.run(
    `DELETE FROM sessions WHERE creator_id = $1 AND id IN
       (SELECT id FROM sessions WHERE creator_id = $1 ORDER BY last_seen_at DESC, id DESC LIMIT 1000 OFFSET $2)`,
    [session.creator_id, mostSessions],
  );
}

/** Returns nothing for a suspended creator, nor for a sandbox creator: nobody can sign in as one, by whatever method. */
export function liveSession(
  db: Reader,
  hash: string,
  since: { seen: number; signedIn: number },
): Promise<(SessionRow & { username: string; display_name: string }) | undefined> {
  return db.get(
    `SELECT ${columns}, c.username, c.display_name FROM sessions s JOIN creators c ON c.id = s.creator_id
     WHERE s.hash = $1 AND s.last_seen_at > $2 AND s.signed_in_at > $3 AND c.suspended_at IS NULL
       AND c.sandbox_of IS NULL`,
    [hash, since.seen, since.signedIn],
  );
}

export function sessionsOf(
  db: Reader,
  creatorId: string,
  since: { seen: number; signedIn: number },
): Promise<SessionRow[]> {
  return db.all(
    `SELECT ${columns} FROM sessions s WHERE creator_id = $1 AND last_seen_at > $2 AND signed_in_at > $3
     ORDER BY last_seen_at DESC, id DESC`,
    [creatorId, since.seen, since.signedIn],
  );
}

export async function sessionExists(db: Reader, hash: string): Promise<boolean> {
  return (await db.get('SELECT hash FROM sessions WHERE hash = $1', [hash])) !== undefined;
}

async function touchSession(tx: Tx, hash: string, seenAt: number, address: string): Promise<void> {
  await tx.run('UPDATE sessions SET last_seen_at = $2, address = $3 WHERE hash = $1', [hash, seenAt, address]);
}

/** Returns whose session it was. */
async function deleteSession(tx: Tx, hash: string): Promise<string | undefined> {
  const sql = 'DELETE FROM sessions WHERE hash = $1 RETURNING creator_id';
  return (await tx.get<{ creator_id: string }>(sql, [hash]))?.creator_id;
}

function deleteSessionById(tx: Tx, creatorId: string, id: string): Promise<number> {
  return tx.run('DELETE FROM sessions WHERE creator_id = $1 AND id = $2', [creatorId, id]);
}

export function deleteSessionsExcept(tx: Tx, creatorId: string, keepId: string | null): Promise<number> {
  return tx.run('DELETE FROM sessions WHERE creator_id = $1 AND id <> $2', [creatorId, keepId ?? '']);
}

function deleteSessionsBefore(tx: Tx, since: { seen: number; signedIn: number }, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM sessions WHERE (last_seen_at <= $1 OR signed_in_at <= $2) AND hash IN
       (SELECT hash FROM sessions WHERE last_seen_at <= $1 OR signed_in_at <= $2 LIMIT $3)`,
    [since.seen, since.signedIn, limit],
  );
}

/** A sign-in, for the audit log. */
export const aboutSession = ({ creator_id, method, user_agent }: SessionRow): Subject => ({
  creatorId: creator_id,
  details: { method, user_agent },
});

const aboutEnded = (ended: number, creatorId: string): Subject | false =>
  ended > 0 && { creatorId, details: { sessions: ended } };

export const writes = defineWrites(import.meta.url, {
  insertSession: audited('session.started', insertSession, (_, session) => aboutSession(session)),
  touchSession,
  deleteSession: audited('session.ended', deleteSession, (creatorId) => {
    return creatorId !== undefined && aboutEnded(1, creatorId);
  }),
  deleteSessionById: audited('session.ended', deleteSessionById, aboutEnded),
  deleteSessionsExcept: audited('session.ended', deleteSessionsExcept, aboutEnded),
  deleteSessionsBefore,
});
