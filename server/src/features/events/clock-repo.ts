/**
 * Clocks that are wrong, and what they left behind. A node whose clock jumped ahead records in the future; time never
 * runs backwards along a creator's history, so everything that follows stands there too until it is repaired. A repair
 * may run beside the server, so its writes are short however long the history is: each moves a batch, and what takes
 * long to sum is read before.
 */
import { defineWrites, type Reader, type Sql, type Tx } from '../../platform/db/database.ts';
import { audited } from '../audit/index.ts';
import { lockHead } from './goals-repo.ts';
import type { CreatorMonth } from './repo.ts';

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

/** Events from one sequence to another, and the time of the last. */
interface Batch {
  readonly first: number;
  readonly last: number;
  readonly lastAt: number;
}

/** The next of a creator's events of the future, the oldest first, at most `limit` of them. */
export async function nextBatch(
  db: Reader,
  creatorId: string,
  after: number,
  now: number,
  limit: number,
): Promise<(Batch & { readonly isFull: boolean }) | undefined> {
  const row = await db.get<{ count: number; first: number | null; last: number | null; last_at: number | null }>(
    `SELECT COUNT(*) AS count, MIN(sequence) AS first, MAX(sequence) AS last, MAX(created_at) AS last_at FROM
       (SELECT sequence, created_at FROM events WHERE creator_id = $1 AND sequence > $2 AND created_at > $3
        ORDER BY sequence LIMIT $4) AS next`,
    [creatorId, after, now, limit],
  );
  if (row?.first == null || row.last === null || row.last_at === null) return undefined;
  return { first: row.first, last: row.last, lastAt: row.last_at, isFull: row.count === limit };
}

/**
 * Moves events of the future, and their tips, back to `now`, with what goals have raised. Along the sequence time never
 * decreases, whenever it is read. Sequences and the stored bytes of events stay as they are.
 */
async function moveBack(tx: Tx, creatorId: string, batch: Batch, now: number): Promise<void> {
  await lockHead(tx, creatorId);
  await moveLocked(tx, creatorId, batch, now);
}

async function moveLocked(tx: Tx, creatorId: string, { first, last, lastAt }: Batch, now: number): Promise<void> {
  const tips = [creatorId, now, lastAt, last];
  const events = [creatorId, now, first, last];
  await tx.run('UPDATE creator_heads SET move_count = move_count + 1 WHERE creator_id = $1', [creatorId]);
  await tx.run(moveGoalsSql, tips);
  await tx.run(`UPDATE tips SET created_at = $2 WHERE ${tipsOfBatch}`, tips);
  // A void and an approval have the time of their event.
  for (const column of ['voided_at', 'approved_at'])
    await tx.run(
      `UPDATE tips SET ${column} = $2 WHERE creator_id = $1 AND ${column} > $2 AND id IN
         (SELECT subject_id FROM events WHERE ${eventsOfBatch} AND subject_id IS NOT NULL)`,
      events,
    );
  await tx.run(`UPDATE events SET created_at = $2 WHERE ${eventsOfBatch}`, events);
}

const eventsOfBatch = 'creator_id = $1 AND created_at > $2 AND sequence >= $3 AND sequence <= $4';
/** By their index, which begins with the time. */
const tipsOfBatch = 'creator_id = $1 AND created_at > $2 AND (created_at, sequence) <= ($3, $4)';

/** 1 if the goal counts a tip of this instant, else 0. */
const counts = (instant: string): string =>
  `CASE WHEN goals.starts_at <= ${instant} AND (goals.ends_at IS NULL OR goals.ends_at > ${instant}) THEN 1 ELSE 0 END`;

const moveGoalsSql = `
UPDATE goals SET raised_minor = raised_minor +
  (SELECT COALESCE(SUM(amount_minor * (${counts('CAST($2 AS BIGINT)')} - ${counts('created_at')})), 0)
   FROM tips WHERE ${tipsOfBatch} AND voided_at IS NULL)
WHERE creator_id = $1 AND (ends_at IS NULL OR ends_at > $2)`;

/** The tips of a month up to now before sequence `first`, when the head had counted so many voids and moves. */
interface MonthSum {
  readonly first: number;
  readonly voids: number;
  readonly moves: number;
  readonly totalMinor: number;
  readonly count: number;
}

export async function sumMonth(
  db: Reader,
  { creatorId, startsAt }: CreatorMonth,
  now: number,
  { first, voids, moves }: Pick<MonthSum, 'first' | 'voids' | 'moves'>,
): Promise<MonthSum> {
  const row = await db.get<{ total: number; count: number }>(
    `SELECT CAST(COALESCE(SUM(amount_minor), 0) AS BIGINT) AS total, COUNT(*) AS count FROM tips
     WHERE creator_id = $1 AND created_at >= $2 AND created_at <= $3 AND sequence < $4 AND voided_at IS NULL`,
    [creatorId, startsAt, now, first],
  );
  return { first, voids, moves, totalMinor: row?.total ?? 0, count: row?.count ?? 0 };
}

/**
 * Moves the head, and what is left of the future, from sequence `first` of the sum on. Returns how far the head was
 * ahead, or nothing if a void or another repair has changed the sum since it was read. Lists of supporters begin anew at
 * their next read: no list has this time zone.
 */
async function repairHead(tx: Tx, month: CreatorMonth, sum: MonthSum, now: number): Promise<number | undefined> {
  const { creatorId, key } = month;
  const head = await lockHead(tx, creatorId);
  if (head.void_count !== sum.voids || head.move_count !== sum.moves) return undefined;
  const rest = { first: sum.first, last: Number.MAX_SAFE_INTEGER, lastAt: Number.MAX_SAFE_INTEGER };
  await moveLocked(tx, creatorId, rest, now);
  const moved = 'tips.creator_id = $1 AND created_at = $2 AND tips.sequence >= $4 AND voided_at IS NULL';
  await tx.run(
    `UPDATE creator_heads SET last_at = $2, month = $3,
       month_total_minor = $5 + (SELECT COALESCE(SUM(amount_minor), 0) FROM tips WHERE ${moved}),
       month_tip_count = $6 + (SELECT COUNT(*) FROM tips WHERE ${moved})
     WHERE creator_id = $1`,
    [creatorId, now, key, sum.first, sum.totalMinor, sum.count],
  );
  await tx.run(`UPDATE supporter_lists SET time_zone = '' WHERE creator_id = $1`, [creatorId]);
  return head.last_at - now;
}

/** A pending delivery waits for less than this. */
const longestWaitMs = 2 * 86_400_000;

/**
 * What of a creator waits for the future, besides the history: each statement gives up to $4 rows with a time after $3
 * the time $2.
 */
const waitingSql = {
  // SQLite would read all keys of the creator in place of the newest ones.
  idempotencyKeys: {
    sqlite: idempotencyKeysSql('+creator_id'),
    postgres: idempotencyKeysSql('creator_id'),
  },
  // With CROSS JOIN SQLite begins with the endpoints: few deliveries of each are due so late.
  deliveries: { sqlite: deliveriesSql('CROSS JOIN'), postgres: deliveriesSql('JOIN') },
} satisfies Record<string, Sql>;

function idempotencyKeysSql(creatorId: string): string {
  return `UPDATE idempotency_keys SET created_at = $2 WHERE creator_id = $1 AND (client_id, key) IN
    (SELECT client_id, key FROM idempotency_keys WHERE ${creatorId} = $1 AND created_at > $3 LIMIT $4)`;
}

function deliveriesSql(join: string): string {
  return `UPDATE webhook_deliveries SET due_at = $2 WHERE creator_id = $1 AND (endpoint_id, event_id) IN
    (SELECT d.endpoint_id, d.event_id FROM webhook_endpoints e
     ${join} webhook_deliveries d ON d.endpoint_id = e.id AND d.status = 'pending' AND d.due_at > $3
     WHERE d.creator_id = $1 LIMIT $4)`;
}

export type Waiting = keyof typeof waitingSql;
export const waiting: readonly Waiting[] = ['idempotencyKeys', 'deliveries'];

/** Returns how many rows it moved. */
function moveWaiting(tx: Tx, kind: Waiting, creatorId: string, now: number, limit: number): Promise<number> {
  const after = kind === 'deliveries' ? now + longestWaitMs : now;
  return tx.run(waitingSql[kind], [creatorId, now, after, limit]);
}

/** What a creator has few of. */
async function moveFew(tx: Tx, creatorId: string, now: number): Promise<void> {
  for (const [table, column] of [
    ['grants', 'created_at'],
    ['grant_uses', 'used_at'],
    ['overlays', 'expired_until'],
    ['overlays', 'last_ack_at'],
    ['overlays', 'playing_until'],
  ])
    await tx.run(`UPDATE ${table} SET ${column} = $2 WHERE creator_id = $1 AND ${column} > $2`, [creatorId, now]);
  // An endpoint gets the events after its creation, which is of no creator's history.
  await tx.run('UPDATE webhook_endpoints SET created_at = $1 WHERE created_at > $1', [now]);
}

export const writes = defineWrites(import.meta.url, {
  moveBack,
  repairHead: audited('account.clock_repaired', repairHead, (aheadMs, { creatorId }) => {
    return aheadMs !== undefined && { creatorId, details: { seconds: Math.round(aheadMs / 1000) } };
  }),
  moveWaiting,
  moveFew,
});
