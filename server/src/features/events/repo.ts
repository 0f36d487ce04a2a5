import type { Reader, Tx } from '../../platform/db/database.ts';

/** The row of a creator's history that every event advances. */
export interface Head {
  sequence: number;
  last_at: number;
  total_minor: number;
  tip_count: number;
  month: string;
  month_total_minor: number;
  month_tip_count: number;
}

export interface Advance {
  now: number;
  /** The platform's month of `now`. */
  month: string;
  /** What a tip adds to the totals; 0 for other events. */
  amountMinor: number;
  tips: 0 | 1;
}

/**
 * Takes the creator's next sequence and adds to the totals, in one statement. Time never runs backwards along a
 * creator's history, whatever a node's clock says, so `month` is always the month of `last_at`.
 */
const advance = `
UPDATE creator_heads SET
  sequence = sequence + 1,
  last_at = CASE WHEN $2 >= last_at THEN $2 ELSE last_at END,
  total_minor = total_minor + $4,
  tip_count = tip_count + $5,
  month = CASE WHEN $2 >= last_at THEN $3 ELSE month END,
  month_total_minor = $4 + CASE WHEN $2 >= last_at AND month <> $3 THEN 0 ELSE month_total_minor END,
  month_tip_count = $5 + CASE WHEN $2 >= last_at AND month <> $3 THEN 0 ELSE month_tip_count END
WHERE creator_id = $1`;
const advanceSql = `${advance} RETURNING sequence, last_at`;

/**
 * PostgreSQL: the log's half of a change that is recorded by one statement, as two of its WITH queries. `head` gives
 * the place, if the condition holds; `event` writes the body around it. Its parameters are $1 to $11: those of
 * `advance`, the event's id and type, and the pieces of the body between which sequence, time and time stand.
 */
export const appendSql = (condition: string): string => `
head AS (
  ${advance} AND ${condition}
  RETURNING sequence, last_at,
    TO_CHAR(TIMESTAMP '1970-01-01' + last_at * INTERVAL '1 millisecond', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at
),
event AS (
  INSERT INTO events (creator_id, sequence, created_at, id, type, body)
  SELECT $1, sequence, last_at, $6, $7,
    CAST($8 AS TEXT) || sequence || CAST($9 AS TEXT) || at || CAST($10 AS TEXT) || at || CAST($11 AS TEXT)
  FROM head
)`;

export async function advanceHead(tx: Tx, creatorId: string, { now, month, amountMinor, tips }: Advance) {
  const head = await tx.get<Pick<Head, 'sequence' | 'last_at'>>(advanceSql, [creatorId, now, month, amountMinor, tips]);
  if (!head) throw new Error(`creator ${creatorId} has no head`);
  return head;
}

export async function insertHead(tx: Tx, creatorId: string): Promise<void> {
  await tx.run('INSERT INTO creator_heads (creator_id) VALUES ($1)', [creatorId]);
}

export function readHead(db: Reader, creatorId: string): Promise<Head | undefined> {
  return db.get<Head>(
    `SELECT sequence, last_at, total_minor, tip_count, month, month_total_minor, month_tip_count
     FROM creator_heads WHERE creator_id = $1`,
    [creatorId],
  );
}

export interface EventRow {
  id: string;
  sequence: number;
  type: string;
  createdAt: number;
  /** The event as it is sent everywhere, to the byte. */
  body: string;
}

export async function insertEvent(tx: Tx, creatorId: string, event: EventRow): Promise<void> {
  await tx.run(
    'INSERT INTO events (creator_id, sequence, created_at, id, type, body) VALUES ($1, $2, $3, $4, $5, $6)',
    [creatorId, event.sequence, event.createdAt, event.id, event.type, event.body],
  );
}

export interface StoredEvent {
  sequence: number;
  type: string;
  body: string;
}

export function eventsAfter(db: Reader, creatorId: string, after: number, limit: number): Promise<StoredEvent[]> {
  return db.all<StoredEvent>(
    'SELECT sequence, type, body FROM events WHERE creator_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3',
    [creatorId, after, limit],
  );
}

export async function oldestSequence(db: Reader, creatorId: string): Promise<number | null> {
  const row = await db.get<{ sequence: number }>(
    'SELECT sequence FROM events WHERE creator_id = $1 ORDER BY sequence LIMIT 1',
    [creatorId],
  );
  return row?.sequence ?? null;
}

/** Removes up to `limit` events older than `before`, oldest first, and tells how many. */
export function deleteEventsBefore(tx: Tx, before: number, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM events WHERE (creator_id, sequence) IN
       (SELECT creator_id, sequence FROM events WHERE created_at < $1 ORDER BY created_at LIMIT $2)`,
    [before, limit],
  );
}

export function headsAfter(db: Reader, creatorId: string, limit: number) {
  return db.all<{ creator_id: string; last_at: number }>(
    'SELECT creator_id, last_at FROM creator_heads WHERE creator_id > $1 ORDER BY creator_id LIMIT $2',
    [creatorId, limit],
  );
}

/** Sets a creator's month anew from the tips themselves: the platform's time zone has changed. */
export async function recountMonth(
  tx: Tx,
  creatorId: string,
  month: { key: string; startsAt: number; endsAt: number },
) {
  await tx.run(
    `UPDATE creator_heads SET month = $2,
       month_total_minor = (SELECT COALESCE(SUM(amount_minor), 0) FROM tips
         WHERE tips.creator_id = $1 AND created_at >= $3 AND created_at < $4),
       month_tip_count = (SELECT COUNT(*) FROM tips
         WHERE tips.creator_id = $1 AND created_at >= $3 AND created_at < $4)
     WHERE creator_id = $1`,
    [creatorId, month.key, month.startsAt, month.endsAt],
  );
}
