/** The outcomes of alerts: what pages acknowledge, and what the creator decides. */
import { toTimestamp } from '../../platform/clock.ts';
import { defineWrites, type Reader, type Sql, type Tx } from '../../platform/db/database.ts';
import { appendEvent, type PreparedEvent, type SkipReason } from '../events/index.ts';
import { addKnownName } from '../screening/index.ts';
import { type AlertStatus, approveAlert, expireAlerts, replayAlert, settleAlert as settleTip } from '../tips/index.ts';

/** An alert that a page has put on the screen, and until when. */
interface Playing {
  readonly sequence: number;
  readonly until: number;
}

/** An event that a page acknowledges. */
export interface AcknowledgedRow {
  sequence: number;
  type: string;
  /** `null` for every event but a test alert and an approval. */
  body: string | null;
  tip_id: string | null;
  amount_minor: number | null;
  alert_status: AlertStatus | null;
  approved_at: number | null;
}

const acknowledgedSql = (listed: string): string =>
  `SELECT e.sequence, e.type, CASE WHEN e.type IN ('alert.test', 'alert.approved') THEN e.body END AS body,
     t.id AS tip_id, t.amount_minor, t.alert_status, t.approved_at
   FROM events e LEFT JOIN tips t ON e.type = 'tip.created'
     AND t.creator_id = e.creator_id AND t.created_at = e.created_at AND t.sequence = e.sequence
   WHERE e.creator_id = $1 AND e.sequence ${listed} ORDER BY e.sequence`;

const acknowledgedEvents: Sql = {
  sqlite: acknowledgedSql('IN (SELECT value FROM json_each($2))'),
  postgres: acknowledgedSql('= ANY(ARRAY(SELECT CAST(json_array_elements_text(CAST($2 AS JSON)) AS BIGINT)))'),
};

/** The events of these sequences, in order. Unknown and pruned sequences are left out. */
export function eventsToAcknowledge(
  db: Reader,
  creatorId: string,
  sequences: readonly number[],
): Promise<AcknowledgedRow[]> {
  return db.all<AcknowledgedRow>(acknowledgedEvents, [creatorId, JSON.stringify(sequences)]);
}

const queuedTips: Sql = {
  sqlite: `SELECT id FROM tips WHERE id IN (SELECT value FROM json_each($2)) AND creator_id = $1
    AND alert_status = 'queued'`,
  postgres: `SELECT id FROM tips WHERE id = ANY(ARRAY(SELECT json_array_elements_text(CAST($2 AS JSON))))
    AND creator_id = $1 AND alert_status = 'queued'`,
};

/** Those of these tips whose alert is queued. */
export async function stillQueued(db: Reader, creatorId: string, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db.all<{ id: string }>(queuedTips, [creatorId, JSON.stringify(ids)]);
  return new Set(rows.map(({ id }) => id));
}

const settledTests: Sql = {
  sqlite: 'SELECT alert_id FROM alert_acks WHERE creator_id = $1 AND alert_id IN (SELECT value FROM json_each($2))',
  postgres: `SELECT alert_id FROM alert_acks
    WHERE creator_id = $1 AND alert_id = ANY(ARRAY(SELECT json_array_elements_text(CAST($2 AS JSON))))`,
};

/** Those of these test alerts that a page has acknowledged. */
export async function settledTestAlerts(db: Reader, creatorId: string, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db.all<{ alert_id: string }>(settledTests, [creatorId, JSON.stringify(ids)]);
  return new Set(rows.map(({ alert_id }) => alert_id));
}

/** An overlay stores the positions of this many pages, those seen last: pages choose their ids themselves. */
const maxInstances = 100;

/** Stores the position of a page and of the overlay. Neither goes back. */
async function advancePosition(
  tx: Tx,
  creatorId: string,
  instance: string,
  sequence: number,
  playing: Playing | null,
  now: number,
) {
  const added = await tx.run(
    `INSERT INTO overlay_instances (creator_id, id, sequence, seen_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (creator_id, id) DO NOTHING`,
    [creatorId, instance, sequence, now],
  );
  if (added > 0)
    await tx.run(
      `DELETE FROM overlay_instances WHERE creator_id = $1 AND id <> $2 AND id NOT IN
         (SELECT id FROM overlay_instances WHERE creator_id = $1 ORDER BY seen_at DESC, id LIMIT $3)`,
      [creatorId, instance, maxInstances],
    );
  else
    await tx.run(
      `UPDATE overlay_instances SET seen_at = $4, sequence = CASE WHEN $3 > sequence THEN $3 ELSE sequence END
       WHERE creator_id = $1 AND id = $2`,
      [creatorId, instance, sequence, now],
    );
  await tx.run(
    `UPDATE overlays SET last_ack_at = $3, last_sequence = CASE WHEN $2 > last_sequence THEN $2 ELSE last_sequence END
     WHERE creator_id = $1`,
    [creatorId, sequence, now],
  );
  if (playing)
    await tx.run('UPDATE overlays SET playing_sequence = $2, playing_until = $3 WHERE creator_id = $1', [
      creatorId,
      playing.sequence,
      playing.until,
    ]);
}

export function instancePosition(db: Reader, creatorId: string, instance: string) {
  return db.get<{ sequence: number }>('SELECT sequence FROM overlay_instances WHERE creator_id = $1 AND id = $2', [
    creatorId,
    instance,
  ]);
}

/** Returns whether this is the first acknowledgement of the test alert. */
async function settleTestAlert(tx: Tx, creatorId: string, alertId: string, shownAt: number): Promise<boolean> {
  const inserted = await tx.run(
    `INSERT INTO alert_acks (creator_id, alert_id, shown_at) VALUES ($1, $2, $3)
     ON CONFLICT (creator_id, alert_id) DO NOTHING`,
    [creatorId, alertId, shownAt],
  );
  return inserted > 0;
}

/** Expires alerts of a bounded number of tips. Returns the instant up to which all are expired. */
async function expire(
  tx: Tx,
  creatorId: string,
  from: number,
  before: number,
  limit: number,
  now: number,
): Promise<number> {
  const until = await expireAlerts(tx, creatorId, from, before, limit, now);
  await tx.run('UPDATE overlays SET expired_until = $2 WHERE creator_id = $1 AND expired_until < $2', [
    creatorId,
    until,
  ]);
  return until;
}

/** The outcome of one alert. */
export interface AlertOutcome {
  readonly tipId: string | null;
  readonly alertId: string | null;
  /** The status of the alert before. */
  readonly from: 'held' | 'queued';
  readonly status: 'shown' | 'skipped' | 'expired';
  readonly reason: SkipReason | null;
  /** The event that reports the outcome; an expired alert has none. */
  readonly event: PreparedEvent | null;
}

/** Settles an alert unless it is settled already. Returns the sequence of the event that reports the outcome, if any. */
async function recordOutcome(tx: Tx, creatorId: string, outcome: AlertOutcome, now: number): Promise<number | null> {
  const { tipId, alertId, from, status, reason, event } = outcome;
  const shownAt = status === 'shown' ? now : null;
  if (tipId !== null && !(await settleTip(tx, creatorId, tipId, from, { status, reason, shownAt, settledAt: now })))
    return null;
  if (alertId !== null && !(await settleTestAlert(tx, creatorId, alertId, now))) return null;
  if (!event) return null;
  const shown_at = shownAt === null ? null : toTimestamp(shownAt);
  const data = JSON.stringify({ tip_id: tipId, alert_id: alertId, shown_at, reason });
  return (await appendEvent(tx, event, () => data)).sequence;
}

/** Settles alerts that are not settled yet. Returns the newest sequence that this appended, if any. */
async function recordOutcomes(
  tx: Tx,
  creatorId: string,
  outcomes: readonly AlertOutcome[],
  now: number,
): Promise<number | null> {
  let newest: number | null = null;
  for (const outcome of outcomes) newest = (await recordOutcome(tx, creatorId, outcome, now)) ?? newest;
  return newest;
}

/** Approves a held tip, whose name is known from then on. Returns the sequence of `alert.approved`, if it was held. */
async function approve(tx: Tx, event: PreparedEvent, tipId: string, name: string): Promise<number | null> {
  const sequence = await approveAlert(tx, event, tipId);
  if (sequence !== null) await addKnownName(tx, event.creatorId, name);
  return sequence;
}

/** A page has handled events up to `sequence`, and the last of their alerts are settled, as by `recordOutcomes`. */
async function acknowledge(
  tx: Tx,
  creatorId: string,
  instance: string,
  sequence: number,
  outcomes: readonly AlertOutcome[],
  playing: Playing | null,
  now: number,
): Promise<number | null> {
  await advancePosition(tx, creatorId, instance, sequence, playing, now);
  return recordOutcomes(tx, creatorId, outcomes, now);
}

export const writes = defineWrites(import.meta.url, {
  recordOutcomes,
  approve,
  acknowledge,
  expire,
  replay: replayAlert,
});
