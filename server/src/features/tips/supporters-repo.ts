/**
 * What each supporter has tipped: today, this month and in all. Invariants:
 *
 * - A creator's list counts the tips up to its position, which is moved only when the list is read: recording a tip writes
 *   nothing here. The first read after a tip moves the position to the newest tip.
 * - A tip at or before the position that leaves or enters the list (a void, an approval) changes the sums in the same
 *   write. Both this and the move lock the row of the list first, so a tip is counted once. A list is made under the
 *   lock of the creator's head, which such a write holds already.
 * - Names that are spelled in two ways and look the same are one supporter (platform/db/canonical.ts).
 * - The list's day and month never go back, and tips after its day are not counted yet: a later read begins their day.
 */
import { withCanonical } from '../../platform/db/canonical.ts';
import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';
import { type EventPosition, readHead } from '../events/index.ts';
import { listed, shownName } from './listed.ts';
import type { TipRow } from './repo.ts';

export const periods = ['day', 'month', 'all'] as const;
export type Period = (typeof periods)[number];

export interface SupporterList {
  time_zone: string;
  created_at: number;
  sequence: number;
  day_starts_at: number;
  month_starts_at: number;
}

const listColumns = 'time_zone, created_at, sequence, day_starts_at, month_starts_at';

export function supporterList(db: Reader, creatorId: string): Promise<SupporterList | undefined> {
  return db.get<SupporterList>(`SELECT ${listColumns} FROM supporter_lists WHERE creator_id = $1`, [creatorId]);
}

export async function anyTipAfter(db: Reader, creatorId: string, position: EventPosition): Promise<boolean> {
  const row = await db.get(
    'SELECT 1 AS found FROM tips WHERE creator_id = $1 AND (created_at, sequence) > ($2, $3) LIMIT 1',
    [creatorId, position.createdAt, position.sequence],
  );
  return row !== undefined;
}

export interface Supporter {
  name: string;
  total_minor: number;
  tip_count: number;
}

export function topSupporters(db: Reader, creatorId: string, period: Period, limit: number): Promise<Supporter[]> {
  return db.all<Supporter>(
    `SELECT name, total_minor, tip_count FROM supporter_sums WHERE creator_id = $1 AND period = $2
     ORDER BY total_minor DESC, name LIMIT $3`,
    [creatorId, period, limit],
  );
}

/** The calendar at the time of a read. */
export interface Today {
  readonly zone: string;
  readonly dayStartsAt: number;
  readonly dayEndsAt: number;
  readonly monthStartsAt: number;
  /** How many moves of tips the head had counted. */
  readonly moves: number;
}

/**
 * Counts up to `limit` further tips, none of them after this day. Returns whether there may be more on this day: not if a
 * repair of the clock came in between, since the day may be of the future.
 */
async function countTips(tx: Tx, creatorId: string, today: Today, limit: number): Promise<boolean> {
  await tx.run('UPDATE supporter_lists SET changes = changes + 1 WHERE creator_id = $1', [creatorId]);
  if ((await readHead(tx, creatorId))?.move_count !== today.moves) return false;
  const list = await openList(tx, creatorId, today);
  const next = await tx.get<{ created_at: number; sequence: number; count: number }>(
    `SELECT COALESCE(MAX(created_at), 0) AS created_at, COALESCE(MAX(sequence), 0) AS sequence, COUNT(*) AS count
     FROM (SELECT created_at, sequence FROM tips WHERE creator_id = $1 AND (created_at, sequence) > ($2, $3)
       AND created_at < $4 ORDER BY created_at, sequence LIMIT $5) AS next`,
    [creatorId, list.created_at, list.sequence, today.dayEndsAt, limit],
  );
  if (!next || next.count === 0) return false;
  for (const [period, from] of startsOf(list))
    await tx.run(addBatch, [creatorId, period, list.created_at, list.sequence, next.created_at, next.sequence, from]);
  await tx.run('UPDATE supporter_lists SET created_at = $2, sequence = $3 WHERE creator_id = $1', [
    creatorId,
    next.created_at,
    next.sequence,
  ]);
  return next.count === limit;
}

const startsOf = (list: SupporterList): [Period, number][] => [
  ['all', 0],
  ['month', list.month_starts_at],
  ['day', list.day_starts_at],
];

const addBatch = withCanonical(
  (canonical) => `
INSERT INTO supporter_sums (creator_id, period, name, total_minor, tip_count)
SELECT creator_id, CAST($2 AS TEXT), ${canonical(shownName)}, SUM(amount_minor), COUNT(*) FROM tips
WHERE creator_id = $1 AND (created_at, sequence) > ($3, $4) AND (created_at, sequence) <= ($5, $6)
  AND created_at >= $7 AND ${listed}
GROUP BY creator_id, ${canonical(shownName)}
ON CONFLICT (creator_id, period, name) DO UPDATE SET
  total_minor = supporter_sums.total_minor + excluded.total_minor,
  tip_count = supporter_sums.tip_count + excluded.tip_count`,
);

/** Locks the list and brings it to this day. A list in another time zone begins anew. */
async function openList(
  tx: Tx,
  creatorId: string,
  { zone, dayStartsAt, monthStartsAt }: Today,
): Promise<SupporterList> {
  if (!(await supporterList(tx, creatorId)))
    await tx.run('UPDATE creator_heads SET sequence = sequence WHERE creator_id = $1', [creatorId]);
  const found = await tx.get<SupporterList>(
    `INSERT INTO supporter_lists (creator_id, time_zone, day_starts_at, month_starts_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (creator_id) DO UPDATE SET changes = supporter_lists.changes + 1 RETURNING ${listColumns}`,
    [creatorId, zone, dayStartsAt, monthStartsAt],
  );
  if (!found) throw new Error(`creator ${creatorId} has no list of supporters`);
  const old = found.time_zone === zone ? found : { day_starts_at: 0, month_starts_at: 0, created_at: 0, sequence: 0 };
  const list: SupporterList = {
    ...old,
    time_zone: zone,
    day_starts_at: Math.max(old.day_starts_at, dayStartsAt),
    month_starts_at: Math.max(old.month_starts_at, monthStartsAt),
  };
  const endedPeriods = [
    ...(found.time_zone === zone ? [] : ['all']),
    ...(list.month_starts_at === old.month_starts_at ? [] : ['month']),
    ...(list.day_starts_at === old.day_starts_at ? [] : ['day']),
  ];
  for (const period of endedPeriods)
    await tx.run('DELETE FROM supporter_sums WHERE creator_id = $1 AND period = $2', [creatorId, period]);
  if (endedPeriods.length > 0)
    await tx.run(
      `UPDATE supporter_lists SET time_zone = $2, day_starts_at = $3, month_starts_at = $4, created_at = $5, sequence = $6
       WHERE creator_id = $1`,
      [creatorId, zone, list.day_starts_at, list.month_starts_at, list.created_at, list.sequence],
    );
  return list;
}

const addOne = withCanonical(
  (canonical) => `
INSERT INTO supporter_sums (creator_id, period, name, total_minor, tip_count)
VALUES ($1, $2, ${canonical('CAST($3 AS TEXT)')}, $4, $5)
ON CONFLICT (creator_id, period, name) DO UPDATE SET
  total_minor = supporter_sums.total_minor + excluded.total_minor,
  tip_count = supporter_sums.tip_count + excluded.tip_count`,
);

const deleteEmpty = withCanonical(
  (canonical) => `
DELETE FROM supporter_sums
WHERE creator_id = $1 AND period = $2 AND name = ${canonical('CAST($3 AS TEXT)')} AND tip_count = 0`,
);

/**
 * A tip has entered the list (1) or left it (-1). Changes nothing if the list has not come to it yet. To be called after
 * the write has appended an event, which locks the creator's head.
 */
export async function changeSupporter(tx: Tx, creatorId: string, tip: TipRow, by: 1 | -1): Promise<void> {
  // Locks the list, also where its position lies before the tip: it may be moving.
  const list = await tx.get<SupporterList>(
    `UPDATE supporter_lists SET changes = changes + 1 WHERE creator_id = $1 RETURNING ${listColumns}`,
    [creatorId],
  );
  if (!list || list.sequence < tip.sequence) return;
  for (const [period, from] of startsOf(list)) {
    if (tip.created_at < from) continue;
    const key = [creatorId, period, tip.alert_name ?? tip.display_name ?? tip.name];
    await tx.run(addOne, [...key, by * tip.amount_minor, by]);
    await tx.run(deleteEmpty, key);
  }
}

export const writes = defineWrites(import.meta.url, { countTips });
