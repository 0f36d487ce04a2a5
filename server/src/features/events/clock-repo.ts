/**
 * Clocks that are wrong, and what they left behind. A node whose clock jumped ahead records in the future; time never
 * runs backwards along a creator's history, so everything that follows stands there too until it is repaired.
 */
import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';
import { recountGoals } from './goals-repo.ts';
import { type CreatorMonth, recountMonths } from './repo.ts';

/** The time of the database's own clock; `null` where it has none: SQLite asks this machine. */
export async function databaseTime(db: Reader): Promise<number | null> {
  const row = await db.get<{ now: number | null }>({
    sqlite: 'SELECT NULL AS now',
    postgres: 'SELECT CAST(EXTRACT(EPOCH FROM CLOCK_TIMESTAMP()) * 1000 AS BIGINT) AS now',
  });
  return row?.now ?? null;
}

export async function newestRecord(db: Reader): Promise<number | null> {
  const row = await db.get<{ at: number | null }>('SELECT MAX(created_at) AS at FROM events');
  return row?.at ?? null;
}

/** Some of the creators whose history reaches beyond this instant. */
export async function creatorsBeyond(db: Reader, instant: number, limit: number): Promise<string[]> {
  const rows = await db.all<{ username: string }>(
    `SELECT username FROM creators WHERE id IN (SELECT creator_id FROM events WHERE created_at > $1)
     ORDER BY username LIMIT $2`,
    [instant, limit],
  );
  return rows.map(({ username }) => username);
}

/**
 * Moves up to `limit` of a creator's events of the future, and their tips, back to `now`, the oldest first: along the
 * sequence time never decreases, whenever it is read. Sequences and the stored bytes of events stay as they are.
 */
async function moveBack(tx: Tx, creatorId: string, after: number, now: number, limit: number): Promise<number | null> {
  const row = await tx.get<{ last: number | null }>(
    `SELECT MAX(sequence) AS last FROM
       (SELECT sequence FROM events WHERE creator_id = $1 AND sequence > $2 AND created_at > $3
        ORDER BY sequence LIMIT $4) AS next`,
    [creatorId, after, now, limit],
  );
  const last = row?.last ?? null;
  if (last !== null) await moveUntil(tx, creatorId, last, now);
  return last;
}

async function moveUntil(tx: Tx, creatorId: string, last: number, now: number): Promise<void> {
  for (const table of ['tips', 'events'])
    await tx.run(`UPDATE ${table} SET created_at = $3 WHERE creator_id = $1 AND sequence <= $2 AND created_at > $3`, [
      creatorId,
      last,
      now,
    ]);
}

/** A pending delivery waits for less than this. */
const longestWaitMs = 2 * 86_400_000;

/**
 * Moves the rest and the head, whose row is locked first, so that nothing is recorded meanwhile; then whatever else of
 * the creator would wait for the future. Returns whether the head was in the future.
 */
async function repairHead(tx: Tx, month: CreatorMonth, now: number): Promise<boolean> {
  const { creatorId } = month;
  const repaired = await tx.run('UPDATE creator_heads SET last_at = $2 WHERE creator_id = $1 AND last_at > $2', [
    creatorId,
    now,
  ]);
  await moveUntil(tx, creatorId, Number.MAX_SAFE_INTEGER, now);
  await recountMonths(tx, [month]);
  await recountGoals(tx, creatorId);
  // The lists of supporters begin anew at the next read.
  for (const table of ['supporter_lists', 'supporter_sums'])
    await tx.run(`DELETE FROM ${table} WHERE creator_id = $1`, [creatorId]);
  for (const [table, column] of [
    ['tips', 'voided_at'],
    ['idempotency_keys', 'created_at'],
    ['grants', 'created_at'],
    ['grant_uses', 'used_at'],
    ['tips', 'approved_at'],
    ['overlays', 'expired_until'],
    ['overlays', 'last_ack_at'],
    ['overlays', 'playing_until'],
  ])
    await tx.run(`UPDATE ${table} SET ${column} = $2 WHERE creator_id = $1 AND ${column} > $2`, [creatorId, now]);
  await tx.run(
    `UPDATE webhook_deliveries SET due_at = $2 WHERE creator_id = $1 AND status = 'pending' AND due_at > $3`,
    [creatorId, now, now + longestWaitMs],
  );
  // An endpoint gets the events after its creation, which is of no creator's history.
  await tx.run('UPDATE webhook_endpoints SET created_at = $1 WHERE created_at > $1', [now]);
  return repaired > 0;
}

export const writes = defineWrites(import.meta.url, { moveBack, repairHead });
