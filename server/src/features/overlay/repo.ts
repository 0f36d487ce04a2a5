import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';
import { audited } from '../audit/index.ts';

export interface OverlayRow {
  sealed_key: Uint8Array;
  settings: string;
  /** The published variations as JSON. */
  looks: string | null;
  paused: number;
  hidden: number;
  volume: number;
  playing_sequence: number | null;
  playing_until: number;
  stopped_sequence: number | null;
  last_sequence: number;
  last_ack_at: number | null;
  expired_until: number;
}

export function overlayOf(db: Reader, creatorId: string): Promise<OverlayRow | undefined> {
  return db.get<OverlayRow>(
    `SELECT sealed_key, settings, looks, paused, hidden, volume, playing_sequence, playing_until, stopped_sequence,
       last_sequence, last_ack_at, expired_until
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

function insertOverlay(
  tx: Tx,
  creatorId: string,
  keyHash: string,
  sealedKey: Uint8Array,
  now: number,
): Promise<number> {
  return tx.run(
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

function setHidden(tx: Tx, creatorId: string, hidden: boolean): Promise<number> {
  return tx.run('UPDATE overlays SET hidden = $2 WHERE creator_id = $1', [creatorId, hidden ? 1 : 0]);
}

function setVolume(tx: Tx, creatorId: string, volume: number): Promise<number> {
  return tx.run('UPDATE overlays SET volume = $2 WHERE creator_id = $1', [creatorId, volume]);
}

/** What plays is taken off the screen; with `sequence`, only if it is the alert of that event. */
function stopPlaying(tx: Tx, creatorId: string, sequence: number | null): Promise<number> {
  return tx.run(
    `UPDATE overlays SET stopped_sequence = playing_sequence, playing_until = 0
     WHERE creator_id = $1 AND playing_sequence = COALESCE($2, playing_sequence)`,
    [creatorId, sequence],
  );
}

/** Open overlays, and how many of them run a page from before the present protocol. */
export interface OpenOverlays {
  readonly connected: number;
  readonly outdated: number;
}

/** The overlays of a creator that a node has open, and since when: an overlay that comes back at once was not away. */
async function setPresence(tx: Tx, creatorId: string, nodeId: string, open: OpenOverlays, now: number) {
  await tx.run(
    `INSERT INTO overlay_presence (creator_id, node_id, connected, outdated, seen_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (creator_id, node_id) DO UPDATE
       SET connected = excluded.connected, outdated = excluded.outdated, seen_at = excluded.seen_at`,
    [creatorId, nodeId, open.connected, open.outdated, now],
  );
  if (open.connected > 0) await extendSpan(tx, creatorId, nodeId, now);
  else
    await tx.run(
      'UPDATE overlay_spans SET seen_at = $3, closed = 1 WHERE creator_id = $1 AND node_id = $2 AND closed = 0',
      [creatorId, nodeId, now],
    );
}

/** A creator has so many of the newest spans: whoever has the key can open and close overlays all day. */
const maxSpans = 200;
/** An overlay that was away for less than this was not away. */
const shortGapMs = 5_000;

async function extendSpan(tx: Tx, creatorId: string, nodeId: string, now: number): Promise<void> {
  const extended = await tx.run(
    `UPDATE overlay_spans SET seen_at = $3, closed = 0
     WHERE creator_id = $1 AND node_id = $2 AND (closed = 0 OR seen_at > $4) AND opened_at =
       (SELECT MAX(opened_at) FROM overlay_spans WHERE creator_id = $1 AND node_id = $2)`,
    [creatorId, nodeId, now, now - shortGapMs],
  );
  if (extended > 0) return;
  await tx.run('INSERT INTO overlay_spans (creator_id, node_id, opened_at, seen_at) VALUES ($1, $2, $3, $3)', [
    creatorId,
    nodeId,
    now,
  ]);
  await tx.run(
    `DELETE FROM overlay_spans WHERE creator_id = $1 AND (node_id, opened_at) NOT IN
       (SELECT node_id, opened_at FROM overlay_spans WHERE creator_id = $1 ORDER BY opened_at DESC LIMIT $2)`,
    [creatorId, maxSpans],
  );
}

export interface SpanRow {
  node_id: string;
  opened_at: number;
  seen_at: number;
  closed: number;
}

/** When overlays of a creator were open, at any node, the first opened first. */
export function spansOf(db: Reader, creatorId: string): Promise<SpanRow[]> {
  return db.all<SpanRow>(
    'SELECT node_id, opened_at, seen_at, closed FROM overlay_spans WHERE creator_id = $1 ORDER BY opened_at',
    [creatorId],
  );
}

/** The open overlays of all other nodes. */
export async function openElsewhere(
  db: Reader,
  creatorId: string,
  nodeId: string,
  since: number,
): Promise<OpenOverlays> {
  const row = await db.get<OpenOverlays>(
    `SELECT CAST(COALESCE(SUM(connected), 0) AS BIGINT) AS connected,
       CAST(COALESCE(SUM(outdated), 0) AS BIGINT) AS outdated
     FROM overlay_presence WHERE creator_id = $1 AND node_id <> $2 AND seen_at >= $3`,
    [creatorId, nodeId, since],
  );
  return row ?? { connected: 0, outdated: 0 };
}

/** Deletes up to `limit` rows of each table. Returns how many in all. */
async function deleteBefore(tx: Tx, before: number, limit: number): Promise<number> {
  let deleted = 0;
  for (const [table, key, at] of [
    ['overlay_instances', 'id', 'seen_at'],
    ['alert_acks', 'alert_id', 'shown_at'],
    ['overlay_presence', 'node_id', 'seen_at'],
    ['overlay_spans', 'node_id, opened_at', 'seen_at'],
  ])
    deleted += await tx.run(
      `DELETE FROM ${table} WHERE ${at} < $1 AND (creator_id, ${key}) IN
         (SELECT creator_id, ${key} FROM ${table} WHERE ${at} < $1 LIMIT $2)`,
      [before, limit],
    );
  return deleted;
}

export const writes = defineWrites(import.meta.url, {
  insertOverlay: audited('overlay_key.created', insertOverlay, (made, creatorId) => made > 0 && { creatorId }),
  setKey: audited('overlay_key.replaced', setKey, (replaced, creatorId) => replaced > 0 && { creatorId }),
  setSettings,
  setPaused,
  setHidden,
  setVolume,
  stopPlaying,
  setPresence,
  deleteBefore,
});
