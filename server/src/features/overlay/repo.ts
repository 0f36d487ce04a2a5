import { toTimestamp } from '../../platform/clock.ts';
import { defineWrites, type Reader, type Sql, type Tx } from '../../platform/db/database.ts';
import { appendEvent, type PreparedEvent, type SkipReason } from '../events/index.ts';
import { type AlertStatus, expireAlerts, settleAlert as settleTip } from '../tips/index.ts';

export interface OverlayRow {
  sealed_key: Uint8Array;
  settings: string;
  paused: number;
  last_sequence: number;
  last_ack_at: number | null;
  expired_until: number;
}

export function overlayOf(db: Reader, creatorId: string): Promise<OverlayRow | undefined> {
  return db.get<OverlayRow>(
    `SELECT sealed_key, settings, paused, last_sequence, last_ack_at, expired_until
     FROM overlays WHERE creator_id = $1`,
    [creatorId],
  );
}

/** Returns nothing if the creator is suspended. */
export function creatorByKey(db: Reader, keyHash: string): Promise<{ creator_id: string } | undefined> {
  return db.get<{ creator_id: string }>(
    `SELECT o.creator_id FROM overlays o JOIN creators c ON c.id = o.creator_id
     WHERE o.key_hash = $1 AND c.suspended_at IS NULL`,
    [keyHash],
  );
}

async function insertOverlay(
  tx: Tx,
  creatorId: string,
  keyHash: string,
  sealedKey: Uint8Array,
  now: number,
): Promise<void> {
  await tx.run(
    `INSERT INTO overlays (creator_id, key_hash, sealed_key, created_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (creator_id) DO NOTHING`,
    [creatorId, keyHash, sealedKey, now],
  );
}

function setKey(tx: Tx, creatorId: string, keyHash: string, sealedKey: Uint8Array): Promise<number> {
  return tx.run('UPDATE overlays SET key_hash = $2, sealed_key = $3 WHERE creator_id = $1', [
    creatorId,
    keyHash,
    sealedKey,
  ]);
}

function setSettings(tx: Tx, creatorId: string, settings: string): Promise<number> {
  return tx.run('UPDATE overlays SET settings = $2 WHERE creator_id = $1', [creatorId, settings]);
}

function setPaused(tx: Tx, creatorId: string, paused: boolean): Promise<number> {
  return tx.run('UPDATE overlays SET paused = $2 WHERE creator_id = $1', [creatorId, paused ? 1 : 0]);
}

/** An event that a page acknowledges. */
export interface AcknowledgedRow {
  sequence: number;
  type: string;
  /** `null` for every event but a test alert. */
  body: string | null;
  tip_id: string | null;
  amount_minor: number | null;
  alert_status: AlertStatus | null;
}

const acknowledgedSql = (listed: string): string =>
  `SELECT e.sequence, e.type, CASE WHEN e.type = 'alert.test' THEN e.body END AS body,
     t.id AS tip_id, t.amount_minor, t.alert_status
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
async function advancePosition(tx: Tx, creatorId: string, instance: string, sequence: number, now: number) {
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
async function expire(tx: Tx, creatorId: string, from: number, before: number, limit: number): Promise<number> {
  const until = await expireAlerts(tx, creatorId, from, before, limit);
  await tx.run('UPDATE overlays SET expired_until = $2 WHERE creator_id = $1 AND expired_until < $2', [
    creatorId,
    until,
  ]);
  return until;
}

async function setPresence(tx: Tx, creatorId: string, nodeId: string, connected: number, now: number) {
  await tx.run(
    `INSERT INTO overlay_presence (creator_id, node_id, connected, seen_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (creator_id, node_id) DO UPDATE SET connected = excluded.connected, seen_at = excluded.seen_at`,
    [creatorId, nodeId, connected, now],
  );
}

/** The open overlays of all other nodes. */
export async function connectedElsewhere(
  db: Reader,
  creatorId: string,
  nodeId: string,
  since: number,
): Promise<number> {
  const row = await db.get<{ connected: number }>(
    `SELECT COALESCE(SUM(connected), 0) AS connected FROM overlay_presence
     WHERE creator_id = $1 AND node_id <> $2 AND seen_at >= $3`,
    [creatorId, nodeId, since],
  );
  return row?.connected ?? 0;
}

/** Deletes up to `limit` rows of each table. Returns how many in all. */
async function deleteBefore(tx: Tx, before: number, limit: number): Promise<number> {
  let deleted = 0;
  for (const [table, key, at] of [
    ['overlay_instances', 'id', 'seen_at'],
    ['alert_acks', 'alert_id', 'shown_at'],
    ['overlay_presence', 'node_id', 'seen_at'],
  ])
    deleted += await tx.run(
      `DELETE FROM ${table} WHERE (creator_id, ${key}) IN
         (SELECT creator_id, ${key} FROM ${table} WHERE ${at} < $1 LIMIT $2)`,
      [before, limit],
    );
  return deleted;
}

/** The outcome of one alert. */
export interface Settlement {
  readonly tipId: string | null;
  readonly alertId: string | null;
  readonly status: 'shown' | 'skipped' | 'expired';
  readonly reason: SkipReason | null;
  /** The event that reports the outcome; an expired alert has none. */
  readonly event: PreparedEvent | null;
}

/** Settles an alert unless it is settled already. Returns the sequence of the event that reports the outcome, if any. */
async function settle(tx: Tx, creatorId: string, settlement: Settlement, now: number): Promise<number | null> {
  const { tipId, alertId, status, reason, event } = settlement;
  const shownAt = status === 'shown' ? now : null;
  if (tipId !== null && !(await settleTip(tx, creatorId, tipId, status, shownAt))) return null;
  if (alertId !== null && !(await settleTestAlert(tx, creatorId, alertId, now))) return null;
  if (!event) return null;
  const shown_at = shownAt === null ? null : toTimestamp(shownAt);
  const data = JSON.stringify({ tip_id: tipId, alert_id: alertId, shown_at, reason });
  return (await appendEvent(tx, event, () => data)).sequence;
}

/** A page has handled events up to `sequence`. Returns the newest sequence that the settlements appended, if any. */
async function acknowledge(
  tx: Tx,
  creatorId: string,
  instance: string,
  sequence: number,
  settlements: readonly Settlement[],
  now: number,
): Promise<number | null> {
  await advancePosition(tx, creatorId, instance, sequence, now);
  let newest: number | null = null;
  for (const settlement of settlements) newest = (await settle(tx, creatorId, settlement, now)) ?? newest;
  return newest;
}

export const writes = defineWrites(import.meta.url, {
  insertOverlay,
  setKey,
  setSettings,
  setPaused,
  setPresence,
  settle,
  acknowledge,
  expire,
  deleteBefore,
});
