/** The alert of a tip after the tip is recorded: held, approved, settled, expired. */
import type { Reader, Sql, Tx } from '../../platform/db/database.ts';
import {
  type AlertStatus,
  appendEvent,
  type HoldReason,
  type PreparedEvent,
  type StoredSkipReason,
} from '../events/index.ts';
import { wasListed } from './listed.ts';
import { columns, type TipRow, toTip } from './repo.ts';
import { showable } from './showable-repo.ts';
import { changeSupporter } from './supporters-repo.ts';

/** The outcome of an alert. */
export interface TipOutcome {
  readonly status: 'shown' | 'skipped' | 'expired';
  readonly reason: StoredSkipReason | null;
  readonly shownAt: number | null;
  readonly settledAt: number;
}

/** The rule that held the tip, which `alert_reason` has until something is decided: an expression of SQL. */
export const heldBy = `CASE WHEN alert_status = 'held' THEN alert_reason ELSE held_by END`;

/** A status but `held` and `queued` is final: this update decides which of several settlements counts. */
export async function settleAlert(
  tx: Tx,
  creatorId: string,
  tipId: string,
  from: 'held' | 'queued',
  { status, reason, shownAt, settledAt }: TipOutcome,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE tips SET alert_status = $3, held_by = ${heldBy}, alert_reason = $4, alert_shown_at = $5, settled_at = $7
     WHERE creator_id = $1 AND id = $2 AND alert_status = $6`,
    [creatorId, tipId, status, reason, shownAt, from, settledAt],
  );
  return changed > 0;
}

/** Queues a held alert and appends `alert.approved`. Returns its sequence, or nothing if the alert was not held. */
export async function approveAlert(tx: Tx, event: PreparedEvent, tipId: string): Promise<number | null> {
  const { creatorId } = event;
  const row = await tx.get<TipRow>(
    `UPDATE tips SET alert_status = 'queued', held_by = alert_reason, alert_reason = NULL
     WHERE creator_id = $1 AND id = $2 AND alert_status = 'held' RETURNING ${columns}`,
    [creatorId, tipId],
  );
  if (!row) return null;
  const { sequence, createdAt } = await appendEvent(tx, event, () => JSON.stringify({ tip: toTip(row) }));
  await tx.run('UPDATE tips SET approved_at = $3 WHERE creator_id = $1 AND id = $2', [creatorId, tipId, createdAt]);
  await changeSupporter(tx, creatorId, row, 1);
  return sequence;
}

/** Instants between which tips were recorded, the first one included. */
interface Span {
  readonly from: number;
  readonly before: number;
}

/** When the tip so many after an instant was recorded, if there are so many. */
export async function endOfBatch(
  db: Reader,
  creatorId: string,
  from: number,
  size: number,
): Promise<number | undefined> {
  const row = await db.get<{ created_at: number }>(
    `SELECT created_at FROM tips WHERE creator_id = $1 AND created_at >= $2
     ORDER BY created_at, sequence LIMIT 1 OFFSET CAST($3 AS BIGINT)`,
    [creatorId, from, size],
  );
  return row?.created_at;
}

/** The held tips of a span, the oldest first. */
export function heldTips(db: Reader, creatorId: string, { from, before }: Span, limit: number): Promise<TipRow[]> {
  return db.all<TipRow>(
    `SELECT ${columns} FROM tips WHERE creator_id = $1 AND created_at >= $2 AND created_at < $3 AND alert_status = 'held'
     ORDER BY created_at, sequence LIMIT $4`,
    [creatorId, from, before, limit],
  );
}

/** The sequences of all held tips of a span. */
export async function heldSequences(db: Reader, creatorId: string, { from, before }: Span): Promise<number[]> {
  const rows = await db.all<{ sequence: number }>(
    `SELECT sequence FROM tips
     WHERE creator_id = $1 AND created_at >= $2 AND created_at < $3 AND alert_status = 'held'`,
    [creatorId, from, before],
  );
  return rows.map(({ sequence }) => sequence);
}

/** Sorted by the reader: SQLite would take the index of the order, and pass over the whole history. */
const tipsByIdSql = (ids: string): string => `SELECT ${columns} FROM tips WHERE id ${ids} AND creator_id = $1`;
const tipsById: Sql = {
  sqlite: tipsByIdSql('IN (SELECT value FROM json_each($2))'),
  postgres: tipsByIdSql('= ANY(ARRAY(SELECT json_array_elements_text(CAST($2 AS JSON))))'),
};

/**
 * The tips that the events after one up to another are about, as they are now, the oldest first. Nothing if the log lacks
 * one of these events.
 */
export async function tipsOfEvents(
  db: Reader,
  creatorId: string,
  after: number,
  upTo: number,
): Promise<TipRow[] | undefined> {
  // An event without a subject is the `tip.created` of a tip, whose id is in the body, or it is about no tip.
  const events = await db.all<{ subject_id: string | null; body: string | null }>(
    `SELECT subject_id, CASE WHEN subject_id IS NULL AND type = 'tip.created' THEN body END AS body FROM events
     WHERE creator_id = $1 AND sequence > $2 AND sequence <= $3`,
    [creatorId, after, upTo],
  );
  if (events.length < upTo - after) return undefined;
  const ids = events.map(({ subject_id, body }) => subject_id ?? (body === null ? null : JSON.parse(body).data.tip.id));
  const named = [...new Set(ids.filter((id) => id !== null))];
  const tips = named.length === 0 ? [] : await db.all<TipRow>(tipsById, [creatorId, JSON.stringify(named)]);
  return tips.sort((a, b) => a.sequence - b.sequence);
}

/**
 * Each kind is limited before they are merged: all that is queued would be read and sorted otherwise. No index leaves out
 * what was shown, so only the newest tips are looked through.
 */
const queuedSql = (column: 'created_at' | 'approved_at', more = ''): string =>
  `SELECT ${columns}, queued_at FROM (SELECT ${columns}, ${column} AS queued_at FROM tips
     WHERE creator_id = $1 AND alert_status = 'queued' ${more} AND ${column} >= COALESCE(
       (SELECT ${column} FROM tips WHERE creator_id = $1 AND ${column} >= $2
        ORDER BY ${column} DESC LIMIT 1 OFFSET CAST($4 AS BIGINT)), $2)
     ORDER BY ${column}, sequence LIMIT $3) AS ${column}_queued`;

const allQueuedSql = `${queuedSql('created_at', 'AND approved_at IS NULL')}
  UNION ALL ${queuedSql('approved_at')} ORDER BY queued_at, sequence LIMIT $3`;

/**
 * Of a creator's last `searched` tips: those whose alerts were queued at or after an instant and still are, in the order in
 * which they are shown.
 */
export function queuedSince(
  db: Reader,
  creatorId: string,
  since: number,
  limit: number,
  searched: number,
): Promise<TipRow[]> {
  return db.all<TipRow>(allQueuedSql, [creatorId, since, limit, searched - 1]);
}

/** Held tips of all creators that were recorded at or before an instant. */
export function heldBefore(db: Reader, before: number, limit: number): Promise<{ creator_id: string; id: string }[]> {
  return db.all<{ creator_id: string; id: string }>(
    `SELECT creator_id, id FROM tips WHERE alert_status = 'held' AND created_at <= $1 LIMIT $2`,
    [before, limit],
  );
}

/**
 * Expires the queued alerts of [from, before), reading about `limit` tips. The age of an approved one counts from its
 * approval. Returns the instant up to which all are expired.
 */
export async function expireAlerts(
  tx: Tx,
  creatorId: string,
  from: number,
  before: number,
  limit: number,
  now: number,
): Promise<number> {
  const next = await tx.get<{ created_at: number }>(
    `SELECT created_at FROM tips WHERE creator_id = $1 AND created_at >= $2 AND created_at < $3
     ORDER BY created_at, sequence LIMIT 1 OFFSET CAST($4 AS BIGINT)`,
    [creatorId, from, before, limit],
  );
  // Beyond `from` even if more tips than `limit` have this very time.
  const until = next ? Math.max(next.created_at, from + 1) : before;
  await tx.run(
    `UPDATE tips SET alert_status = 'expired', settled_at = $4
     WHERE creator_id = $1 AND created_at >= $2 AND created_at < $3 AND alert_status = 'queued' AND approved_at IS NULL`,
    [creatorId, from, until, now],
  );
  await tx.run(
    `UPDATE tips SET alert_status = 'expired', settled_at = $4
     WHERE creator_id = $1 AND approved_at >= $2 AND approved_at < $3 AND alert_status = 'queued'`,
    [creatorId, from, until, now],
  );
  return until;
}

/** Whether an alert whose age counts from an instant of [from, before) is queued. */
export async function anyQueued(db: Reader, creatorId: string, from: number, before: number): Promise<boolean> {
  const row = await db.get(
    `SELECT 1 AS found FROM tips
     WHERE creator_id = $1 AND created_at >= $2 AND created_at < $3 AND alert_status = 'queued' AND approved_at IS NULL
     UNION ALL
     SELECT 1 AS found FROM tips
     WHERE creator_id = $1 AND approved_at >= $2 AND approved_at < $3 AND alert_status = 'queued' LIMIT 1`,
    [creatorId, from, before],
  );
  return row !== undefined;
}

/** Up to `limit` tips whose alert was skipped, the newest. An approved one is as old as its approval. */
export function skippedSince(db: Reader, creatorId: string, since: number, limit: number): Promise<{ id: string }[]> {
  const newest = (column: string): string =>
    `SELECT id FROM (SELECT id FROM tips WHERE creator_id = $1 AND ${column} >= $2 AND alert_status = 'skipped'
       ORDER BY ${column} DESC LIMIT $3) AS ${column}_skipped`;
  return db.all<{ id: string }>(`${newest('created_at')} UNION ${newest('approved_at')} ORDER BY id DESC LIMIT $3`, [
    creatorId,
    since,
    limit,
  ]);
}

/** What was decided about the alert of a tip, and by which request the tip came. */
export interface Decision {
  readonly requestId: string | null;
  readonly heldBy: HoldReason | null;
  readonly approvedAt: number | null;
  readonly settledAt: number | null;
  readonly reason: StoredSkipReason | null;
  /** When the words of the tip were erased: at `settledAt` if that skipped the alert. */
  readonly erasedAt: number | null;
}

export function decisionOf(db: Reader, creatorId: string, tipId: string): Promise<Decision | undefined> {
  return db.get<Decision>(
    `SELECT request_id AS "requestId", ${heldBy} AS "heldBy", approved_at AS "approvedAt", settled_at AS "settledAt",
       CASE WHEN alert_status = 'skipped' THEN alert_reason END AS reason, erased_at AS "erasedAt"
     FROM tips WHERE creator_id = $1 AND id = $2`,
    [creatorId, tipId],
  );
}

interface Announced {
  sequence: number;
  approved_at: number | null;
  alert_status: AlertStatus;
  alert_reason: string | null;
  /** Of `tip.created`; `null` once that event was pruned. */
  body: string | null;
}

/** The event by which screens and connections have heard of a tip; `null` if they have not, or it is gone. */
export async function shownSequence(db: Reader, creatorId: string, tipId: string): Promise<number | null> {
  const tip = await db.get<Announced>(
    `SELECT t.sequence, t.approved_at, t.alert_status, t.alert_reason, e.body FROM tips t
     LEFT JOIN events e ON e.creator_id = t.creator_id AND e.sequence = t.sequence
     WHERE t.creator_id = $1 AND t.id = $2`,
    [creatorId, tipId],
  );
  if (!tip) return null;
  if (tip.approved_at !== null) {
    const approved = await db.all<{ sequence: number; body: string }>(
      `SELECT sequence, body FROM events WHERE creator_id = $1 AND created_at = $2 AND type = 'alert.approved'`,
      [creatorId, tip.approved_at],
    );
    return approved.find(({ body }) => JSON.parse(body).data.tip.id === tipId)?.sequence ?? null;
  }
  const wasQueued = tip.body === null ? wasListed(tip) : JSON.parse(tip.body).data.tip.alert.status === 'queued';
  return wasQueued ? tip.sequence : null;
}

/**
 * Appends `alert.replayed` with the tip as it is now. Returns its sequence, or nothing if the alert may not be shown. The
 * update changes nothing: it locks the tip, so that it cannot be voided or rejected before the event is in the log.
 */
export async function replayAlert(tx: Tx, event: PreparedEvent, tipId: string): Promise<number | null> {
  const row = await tx.get<TipRow>(
    `UPDATE tips SET alert_reason = alert_reason WHERE creator_id = $1 AND id = $2 AND ${showable} RETURNING ${columns}`,
    [event.creatorId, tipId],
  );
  return row ? (await appendEvent(tx, event, () => JSON.stringify({ tip: toTip(row) }))).sequence : null;
}
