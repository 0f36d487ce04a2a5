import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';

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

async function setPresence(tx: Tx, creatorId: string, nodeId: string, open: OpenOverlays, now: number) {
  await tx.run(
    `INSERT INTO overlay_presence (creator_id, node_id, connected, outdated, seen_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (creator_id, node_id) DO UPDATE
       SET connected = excluded.connected, outdated = excluded.outdated, seen_at = excluded.seen_at`,
    [creatorId, nodeId, open.connected, open.outdated, now],
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
  ])
    deleted += await tx.run(
      `DELETE FROM ${table} WHERE (creator_id, ${key}) IN
         (SELECT creator_id, ${key} FROM ${table} WHERE ${at} < $1 LIMIT $2)`,
      [before, limit],
    );
  return deleted;
}

export const writes = defineWrites(import.meta.url, {
  insertOverlay,
  setKey,
  setSettings,
  setPaused,
  setHidden,
  setVolume,
  stopPlaying,
  setPresence,
  deleteBefore,
});
