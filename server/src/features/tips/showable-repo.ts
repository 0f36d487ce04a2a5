/** Tips whose alert may be shown, now or again: by the time of their alert, which is that of their approval if they were held. */
import type { Reader, Sql } from '../../platform/db/database.ts';
import type { StoredSkipReason } from '../events/index.ts';
import { columns, type TipRow } from './repo.ts';

const neverShown = ['rejected', 'held_too_long', 'blocked', 'voided'] satisfies StoredSkipReason[];

/** The alert is neither held nor was refused, and has words: a condition of SQL on `tips`. */
export const showable = `voided_at IS NULL AND erased_at IS NULL AND alert_status <> 'held'
  AND (alert_reason IS NULL OR alert_reason NOT IN (${neverShown.map((reason) => `'${reason}'`).join(', ')}))`;

export async function mayBeShown(db: Reader, creatorId: string, tipId: string): Promise<boolean> {
  const row = await db.get(`SELECT id FROM tips WHERE creator_id = $1 AND id = $2 AND ${showable}`, [creatorId, tipId]);
  return row !== undefined;
}

/** The alert of a tip, and when it came. */
export interface ShowableRow {
  id: string;
  sequence: number;
  at: number;
}

/** A tip that a read has passed. No index leaves out those that may not be shown, so reads are limited by what they pass. */
export interface PassedRow extends ShowableRow {
  /** 1 if its alert may be shown. */
  may_be_shown: number;
}

const passed = (at: string, condition: string): string =>
  `SELECT id, sequence, ${at} AS at, CASE WHEN ${condition} AND ${showable} THEN 1 ELSE 0 END AS may_be_shown FROM tips`;
/** An approved tip is passed twice, and counts at the time of its approval. */
const passedAtCreation = passed('created_at', 'approved_at IS NULL');
const passedAtApproval = passed('approved_at', 'approved_at IS NOT NULL');

const after = (select: string, at: string): string => `
SELECT id, sequence, at, may_be_shown FROM (${select} WHERE creator_id = $1 AND (${at}, sequence) > ($2, $3) AND ${at} <= $4
  ORDER BY ${at}, sequence LIMIT $5) AS ${at}_after`;
const afterSql = `${after(passedAtCreation, 'created_at')} UNION ALL ${after(passedAtApproval, 'approved_at')}
ORDER BY at, sequence LIMIT $5`;

/** In the order of their alerts, those after a position and up to an instant. */
export function passedAfter(
  db: Reader,
  creatorId: string,
  position: Pick<ShowableRow, 'at' | 'sequence'>,
  until: number,
  limit: number,
): Promise<PassedRow[]> {
  return db.all<PassedRow>(afterSql, [creatorId, position.at, position.sequence, until, limit]);
}

const before = (select: string, at: string): string => `
SELECT at, may_be_shown FROM (${select} WHERE creator_id = $1 AND ${at} >= $2 AND ${at} < $3
  ORDER BY ${at} DESC LIMIT $4) AS ${at}_before`;
const beforeSql = `SELECT at, may_be_shown FROM (${before(passedAtCreation, 'created_at')}
UNION ALL ${before(passedAtApproval, 'approved_at')} ORDER BY at DESC LIMIT $4) AS passed`;

/** Those of [from, before), the newest first. */
export function passedBefore(
  db: Reader,
  creatorId: string,
  from: number,
  before: number,
  limit: number,
): Promise<Pick<PassedRow, 'at' | 'may_be_shown'>[]> {
  return db.all(beforeSql, [creatorId, from, before, limit]);
}

const byIds: Sql = {
  sqlite: `SELECT ${columns} FROM tips WHERE id IN (SELECT value FROM json_each($2)) AND creator_id = $1 AND ${showable}`,
  postgres: `SELECT ${columns} FROM tips WHERE id = ANY(ARRAY(SELECT json_array_elements_text(CAST($2 AS JSON))))
    AND creator_id = $1 AND ${showable}`,
};

/** In no order; those that may not be shown are left out. */
export function showableByIds(db: Reader, creatorId: string, ids: readonly string[]): Promise<TipRow[]> {
  return db.all<TipRow>(byIds, [creatorId, JSON.stringify(ids)]);
}
