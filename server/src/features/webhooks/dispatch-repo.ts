import type { Reader, Tx } from '../../platform/db/database.ts';
import type { EndpointRow } from './endpoints-repo.ts';

export interface Lagging {
  creator_id: string;
  /** The newest event. */
  head: number;
  /** The last one that became deliveries. */
  position: number;
}

const lag = `
SELECT h.creator_id, h.sequence AS head, COALESCE(p.sequence, 0) AS position
FROM creator_heads h LEFT JOIN webhook_positions p ON p.creator_id = h.creator_id`;

export function lagOf(db: Reader, creatorId: string): Promise<Lagging | undefined> {
  return db.get<Lagging>(`${lag} WHERE h.creator_id = $1`, [creatorId]);
}

/** The next creators in order of id, lagging or not. */
export function lagAfter(db: Reader, creatorId: string, limit: number): Promise<Lagging[]> {
  return db.all<Lagging>(`${lag} WHERE h.creator_id > $1 ORDER BY h.creator_id LIMIT $2`, [creatorId, limit]);
}

export interface Subscriber extends EndpointRow {
  grant_id: string;
  /** Set while the app or the creator is. */
  suspended: number | null;
  /** Events before this instant are not for it. */
  since: number;
}

/** Endpoints that get this creator's events now. */
export function subscribers(db: Reader, creatorId: string): Promise<Subscriber[]> {
  return db.all<Subscriber>(
    `SELECT e.*, g.id AS grant_id, COALESCE(a.suspended_at, c.suspended_at) AS suspended,
       CASE WHEN e.created_at > g.created_at THEN e.created_at ELSE g.created_at END AS since
     FROM grants g
     JOIN creators c ON c.id = g.creator_id
     JOIN apps a ON a.id = g.client_id AND a.deleted_at IS NULL
     JOIN webhook_endpoints e ON e.client_id = g.client_id
     WHERE g.creator_id = $1 AND g.ended_at IS NULL AND ' ' || g.scope || ' ' LIKE '% events.subscribe %'`,
    [creatorId],
  );
}

export interface LoggedEvent {
  id: string;
  sequence: number;
  type: string;
  created_at: number;
  body: string;
}

/** The log after `position` from `since` on, as far as `head`. */
export function eventsBetween(
  db: Reader,
  creatorId: string,
  { position, head, since, limit }: { position: number; head: number; since: number; limit: number },
): Promise<LoggedEvent[]> {
  return db.all<LoggedEvent>(
    `SELECT id, sequence, type, created_at, body FROM events
     WHERE creator_id = $1 AND sequence > $2 AND sequence <= $3 AND created_at >= $4 ORDER BY sequence LIMIT $5`,
    [creatorId, position, head, since, limit],
  );
}

/** Moves a creator's position, if it still is where it was read. */
export async function movePosition(tx: Tx, creatorId: string, from: number, to: number): Promise<boolean> {
  const moved = await tx.run(
    `INSERT INTO webhook_positions (creator_id, sequence) VALUES ($1, $3)
     ON CONFLICT (creator_id) DO UPDATE SET sequence = excluded.sequence WHERE webhook_positions.sequence = $2`,
    [creatorId, from, to],
  );
  return moved > 0;
}
