import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';
import { audited } from '../../audit/index.ts';

export interface StreamKeyRow {
  id: string;
  label: string;
  minimum_minor: number;
  last_used_at: number | null;
  created_at: number;
}

export function keysOf(db: Reader, creatorId: string): Promise<StreamKeyRow[]> {
  return db.all<StreamKeyRow>(
    `SELECT id, label, minimum_minor, last_used_at, created_at FROM stream_keys WHERE creator_id = $1
     ORDER BY created_at, id`,
    [creatorId],
  );
}

export interface OpenKeyRow {
  id: string;
  creator_id: string;
  minimum_minor: number;
  display_name: string;
}

/** Returns nothing if the creator is suspended. */
export function keyByHash(db: Reader, keyHash: string): Promise<OpenKeyRow | undefined> {
  return db.get<OpenKeyRow>(
    `SELECT k.id, k.creator_id, k.minimum_minor, c.display_name FROM stream_keys k JOIN creators c ON c.id = k.creator_id
     WHERE k.key_hash = $1 AND c.suspended_at IS NULL`,
    [keyHash],
  );
}

/** A key that has this id already stays as it is. */
async function insertKey(
  tx: Tx,
  creatorId: string,
  key: Omit<StreamKeyRow, 'last_used_at'>,
  keyHash: string,
  maxKeys: number,
): Promise<'added' | 'exists' | 'too_many'> {
  // The head's row is locked, so that of many at once no more than allowed are added.
  await tx.run('UPDATE creator_heads SET sequence = sequence WHERE creator_id = $1', [creatorId]);
  const inserted = await tx.run(
    `INSERT INTO stream_keys (creator_id, id, label, key_hash, minimum_minor, created_at)
     SELECT creator_id, $2, $3, $4, $5, $6 FROM creator_heads
     WHERE creator_id = $1 AND (SELECT COUNT(*) FROM stream_keys WHERE creator_id = $1) < $7
     ON CONFLICT (creator_id, id) DO NOTHING`,
    [creatorId, key.id, key.label, keyHash, key.minimum_minor, key.created_at, maxKeys],
  );
  if (inserted > 0) return 'added';
  const known = await tx.get('SELECT id FROM stream_keys WHERE creator_id = $1 AND id = $2', [creatorId, key.id]);
  return known ? 'exists' : 'too_many';
}

async function deleteKey(tx: Tx, creatorId: string, id: string): Promise<boolean> {
  await tx.run('DELETE FROM stream_key_nodes WHERE creator_id = $1 AND key_id = $2', [creatorId, id]);
  await tx.run('DELETE FROM stream_key_sends WHERE creator_id = $1 AND key_id = $2', [creatorId, id]);
  return (await tx.run('DELETE FROM stream_keys WHERE creator_id = $1 AND id = $2', [creatorId, id])) > 0;
}

/** A node that says that it has a connection of the key. */
export interface KeyNode {
  node_id: string;
  answers: number;
}

/**
 * A connection of the key is opened at this node. Returns the position, and the other nodes that have connections. A key
 * that is opened for the first time begins at the newest event, as does one of a database that was restored. The update
 * locks the key: of two nodes that open it at once the second finds the first.
 */
async function openKey(
  tx: Tx,
  creatorId: string,
  keyId: string,
  nodeId: string,
  now: number,
): Promise<{ position: number; others: KeyNode[] } | null> {
  const key = await tx.get<{ position: number }>(
    `UPDATE stream_keys SET last_used_at = $3,
       position = CASE WHEN stream_keys.position <= head.sequence THEN stream_keys.position ELSE head.sequence END
     FROM creator_heads head
     WHERE stream_keys.creator_id = $1 AND stream_keys.id = $2 AND head.creator_id = $1
     RETURNING stream_keys.position`,
    [creatorId, keyId, now],
  );
  if (!key) return null;
  const others = await otherNodes(tx, creatorId, keyId, nodeId);
  await tx.run(
    `INSERT INTO stream_key_nodes (creator_id, key_id, node_id, opened_at, seen_at) VALUES ($1, $2, $3, $4, $4)
     ON CONFLICT (creator_id, key_id, node_id) DO UPDATE SET opened_at = excluded.opened_at, seen_at = excluded.seen_at`,
    [creatorId, keyId, nodeId, now],
  );
  return { position: key.position, others };
}

export async function positionOf(db: Reader, creatorId: string, keyId: string): Promise<number> {
  const row = await db.get<{ position: number | null }>(
    'SELECT position FROM stream_keys WHERE creator_id = $1 AND id = $2',
    [creatorId, keyId],
  );
  return row?.position ?? 0;
}

export function otherNodes(db: Reader, creatorId: string, keyId: string, nodeId: string): Promise<KeyNode[]> {
  return db.all<KeyNode>(
    'SELECT node_id, answers FROM stream_key_nodes WHERE creator_id = $1 AND key_id = $2 AND node_id <> $3',
    [creatorId, keyId, nodeId],
  );
}

/** The keys of which other nodes have said since then that they have connections. */
export function openElsewhere(
  db: Reader,
  creatorId: string,
  nodeId: string,
  since: number,
): Promise<{ key_id: string }[]> {
  return db.all<{ key_id: string }>(
    'SELECT DISTINCT key_id FROM stream_key_nodes WHERE creator_id = $1 AND node_id <> $2 AND seen_at >= $3',
    [creatorId, nodeId, since],
  );
}

/** This node still has a connection of the key. */
function answerProbe(tx: Tx, creatorId: string, keyId: string, nodeId: string): Promise<number> {
  return tx.run(
    `UPDATE stream_key_nodes SET answers = answers + 1 WHERE creator_id = $1 AND key_id = $2 AND node_id = $3`,
    [creatorId, keyId, nodeId],
  );
}

/** These nodes have no connection of the key any more. */
async function forgetNodes(tx: Tx, creatorId: string, keyId: string, nodeIds: readonly string[]): Promise<void> {
  for (const nodeId of nodeIds)
    await tx.run('DELETE FROM stream_key_nodes WHERE creator_id = $1 AND key_id = $2 AND node_id = $3', [
      creatorId,
      keyId,
      nodeId,
    ]);
}

/** How far a key's program has come. */
interface KeyPosition {
  readonly creator_id: string;
  readonly id: string;
  readonly position: number;
}

/** The keys of a JSON text. Sorted, so that two nodes are unlikely to lock the same keys in another order. */
const keysSql = {
  sqlite: `SELECT value ->> 'creator_id' AS creator_id, value ->> 'id' AS id, value ->> 'position' AS position
           FROM json_each($1)`,
  postgres: `SELECT creator_id, id, position
             FROM json_to_recordset($1) AS rows (creator_id TEXT, id TEXT, position BIGINT) ORDER BY id`,
};

const setPositionsSql = (rows: string): string =>
  `UPDATE stream_keys SET position = moved.position FROM (${rows}) AS moved
   WHERE stream_keys.creator_id = moved.creator_id AND stream_keys.id = moved.id
     AND stream_keys.position < moved.position`;

/** A position never goes back, whichever node writes it. */
async function savePositions(tx: Tx, positions: readonly KeyPosition[]): Promise<void> {
  const sql = { sqlite: setPositionsSql(keysSql.sqlite), postgres: setPositionsSql(keysSql.postgres) };
  await tx.run(sql, [JSON.stringify(positions)]);
}

const setSeenSql = (rows: string): string =>
  `UPDATE stream_key_nodes SET seen_at = $3 FROM (${rows}) AS seen
   WHERE stream_key_nodes.creator_id = seen.creator_id AND stream_key_nodes.key_id = seen.id
     AND stream_key_nodes.node_id = $2`;

/** This node still has connections of these keys. */
async function renewNode(tx: Tx, nodeId: string, keys: readonly Omit<KeyPosition, 'position'>[], now: number) {
  const sql = { sqlite: setSeenSql(keysSql.sqlite), postgres: setSeenSql(keysSql.postgres) };
  await tx.run(sql, [JSON.stringify(keys), nodeId, now]);
}

/** The last connection of the key at this node has closed. */
async function closeKey(tx: Tx, nodeId: string, key: KeyPosition, now: number): Promise<void> {
  const { creator_id: creatorId } = key;
  await tx.run(
    `UPDATE stream_keys SET last_used_at = $3, position = CASE WHEN position < $4 THEN $4 ELSE position END
     WHERE creator_id = $1 AND id = $2`,
    [creatorId, key.id, now, key.position],
  );
  await forgetNodes(tx, creatorId, key.id, [nodeId]);
}

export const writes = defineWrites(import.meta.url, {
  insertKey: audited('stream_key.created', insertKey, (outcome, creatorId, { label }) => {
    return outcome === 'added' && { creatorId, details: { label } };
  }),
  deleteKey: audited('stream_key.revoked', deleteKey, (deleted, creatorId) => deleted && { creatorId }),
  openKey,
  answerProbe,
  forgetNodes,
  savePositions,
  renewNode,
  closeKey,
});
