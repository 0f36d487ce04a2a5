import type { Reader, Tx } from '../../platform/db/database.ts';

export interface OverlayRow {
  creator_id: string;
  key_hash: string;
  sealed_key: Uint8Array;
  settings: string;
  paused: number;
  last_sequence: number;
  last_ack_at: number | null;
  expired_until: number;
  created_at: number;
}

export function overlayOf(db: Reader, creatorId: string): Promise<OverlayRow | undefined> {
  return db.get<OverlayRow>('SELECT * FROM overlays WHERE creator_id = $1', [creatorId]);
}

/** The creator whose overlay has this key, unless they are suspended. */
export function creatorByKey(db: Reader, keyHash: string): Promise<{ creator_id: string } | undefined> {
  return db.get<{ creator_id: string }>(
    `SELECT o.creator_id FROM overlays o JOIN creators c ON c.id = o.creator_id
     WHERE o.key_hash = $1 AND c.suspended_at IS NULL`,
    [keyHash],
  );
}

/** Makes the overlay unless there is one. */
export async function insertOverlay(
  tx: Tx,
  overlay: Pick<OverlayRow, 'creator_id' | 'key_hash' | 'sealed_key' | 'created_at'>,
): Promise<void> {
  await tx.run(
    `INSERT INTO overlays (creator_id, key_hash, sealed_key, created_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (creator_id) DO NOTHING`,
    [overlay.creator_id, overlay.key_hash, overlay.sealed_key, overlay.created_at],
  );
}

export function setKey(tx: Tx, creatorId: string, keyHash: string, sealedKey: Uint8Array): Promise<number> {
  return tx.run('UPDATE overlays SET key_hash = $2, sealed_key = $3 WHERE creator_id = $1', [
    creatorId,
    keyHash,
    sealedKey,
  ]);
}

export function setSettings(tx: Tx, creatorId: string, settings: string): Promise<number> {
  return tx.run('UPDATE overlays SET settings = $2 WHERE creator_id = $1', [creatorId, settings]);
}

export function setPaused(tx: Tx, creatorId: string, paused: boolean): Promise<number> {
  return tx.run('UPDATE overlays SET paused = $2 WHERE creator_id = $1', [creatorId, paused ? 1 : 0]);
}

/** Notes how far a page has come; a note never goes back. */
export async function noteProgress(tx: Tx, creatorId: string, instance: string, sequence: number, now: number) {
  await tx.run(
    `INSERT INTO overlay_instances (creator_id, id, sequence, seen_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (creator_id, id) DO UPDATE SET seen_at = excluded.seen_at,
       sequence = CASE WHEN excluded.sequence > overlay_instances.sequence THEN excluded.sequence ELSE overlay_instances.sequence END`,
    [creatorId, instance, sequence, now],
  );
  await tx.run(
    `UPDATE overlays SET last_ack_at = $3, last_sequence = CASE WHEN $2 > last_sequence THEN $2 ELSE last_sequence END
     WHERE creator_id = $1`,
    [creatorId, sequence, now],
  );
}

export function instanceNote(db: Reader, creatorId: string, instance: string) {
  return db.get<{ sequence: number }>('SELECT sequence FROM overlay_instances WHERE creator_id = $1 AND id = $2', [
    creatorId,
    instance,
  ]);
}

/** The first acknowledgement of a test alert. */
export async function settleAlert(tx: Tx, creatorId: string, alertId: string, shownAt: number): Promise<boolean> {
  const inserted = await tx.run(
    `INSERT INTO alert_acks (creator_id, alert_id, shown_at) VALUES ($1, $2, $3)
     ON CONFLICT (creator_id, alert_id) DO NOTHING`,
    [creatorId, alertId, shownAt],
  );
  return inserted > 0;
}

/** Alerts recorded before this instant no longer wait. */
export async function noteExpired(tx: Tx, creatorId: string, until: number): Promise<void> {
  await tx.run('UPDATE overlays SET expired_until = $2 WHERE creator_id = $1 AND expired_until < $2', [
    creatorId,
    until,
  ]);
}

export async function sayPresence(tx: Tx, creatorId: string, nodeId: string, connected: number, now: number) {
  await tx.run(
    `INSERT INTO overlay_presence (creator_id, node_id, connected, seen_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (creator_id, node_id) DO UPDATE SET connected = excluded.connected, seen_at = excluded.seen_at`,
    [creatorId, nodeId, connected, now],
  );
}

/** Overlays that other nodes hold open. */
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

/** Pages not seen, and test alerts acknowledged, before this instant. */
export async function forget(tx: Tx, before: number): Promise<void> {
  await tx.run('DELETE FROM overlay_instances WHERE seen_at < $1', [before]);
  await tx.run('DELETE FROM alert_acks WHERE shown_at < $1', [before]);
  await tx.run('DELETE FROM overlay_presence WHERE seen_at < $1', [before]);
}
