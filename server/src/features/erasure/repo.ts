/** Erasing the words of tips wherever they are stored, and erasures of all tips of a name. */
import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';
import type { EventPosition, PreparedEvent } from '../events/index.ts';
import { nameKey, removeKnownName } from '../screening/index.ts';
import { eraseTip } from '../tips/index.ts';
import { forgetAnswers } from '../webhooks/index.ts';

/**
 * Erases the words of one tip: two in one write could wait for each other's locks. Returns nothing if it has none, else the
 * sequence of the event that reports a skipped alert, if there is one.
 */
async function eraseTipTexts(
  tx: Tx,
  tipId: string,
  skipped: PreparedEvent,
): Promise<{ sequence: number | null } | null> {
  const { creatorId } = skipped;
  const erased = await eraseTip(tx, tipId, skipped);
  if (!erased) return null;
  await removeKnownName(tx, creatorId, nameKey(erased.displayName ?? erased.name));
  await forgetAnswers(tx, creatorId, erased.eventIds);
  return { sequence: erased.sequence };
}

export interface ErasureRow {
  creator_id: string;
  id: string;
  /** Null once it is finished. */
  name: string | null;
  /** All tips from here on are done. */
  created_at: number;
  sequence: number;
  /** How many tips the creator had at its start, voided ones included. */
  total: number;
  searched: number;
  erased: number;
  started_at: number;
  finished_at: number | null;
}

const columns = 'creator_id, id, name, created_at, sequence, total, searched, erased, started_at, finished_at';

/** The last erasure of a creator. */
export function erasureOf(db: Reader, creatorId: string): Promise<ErasureRow | undefined> {
  return db.get<ErasureRow>(`SELECT ${columns} FROM tip_erasures WHERE creator_id = $1`, [creatorId]);
}

/** Erasures that nobody has worked on since an instant. */
export function leftErasures(db: Reader, before: number): Promise<ErasureRow[]> {
  return db.all<ErasureRow>(
    `SELECT ${columns} FROM tip_erasures WHERE finished_at IS NULL AND touched_at < $1 ORDER BY started_at`,
    [before],
  );
}

interface NewErasure {
  readonly creatorId: string;
  readonly id: string;
  readonly name: string;
  readonly before: EventPosition;
  readonly total: number;
  readonly now: number;
}

/** Replaces the erasure before, unless that one is not finished. Returns whether it did. */
async function insertErasure(tx: Tx, { creatorId, id, name, before, total, now }: NewErasure): Promise<boolean> {
  const inserted = await tx.run(
    `INSERT INTO tip_erasures (creator_id, id, name, created_at, sequence, total, started_at, touched_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
     ON CONFLICT (creator_id) DO UPDATE SET id = excluded.id, name = excluded.name, created_at = excluded.created_at,
       sequence = excluded.sequence, total = excluded.total, searched = 0, erased = 0,
       started_at = excluded.started_at, touched_at = excluded.touched_at, finished_at = NULL
     WHERE tip_erasures.finished_at IS NOT NULL`,
    [creatorId, id, name, before.createdAt, before.sequence, total, now],
  );
  return inserted > 0;
}

interface ErasureStep {
  readonly creatorId: string;
  readonly id: string;
  /** How far it has come: never back, if two nodes work on it. */
  readonly position: EventPosition;
  readonly searched: number;
  /** How many tips have lost their words since the last step. */
  readonly erased: number;
  readonly now: number;
}

/** Returns whether the erasure is still to be worked on. */
async function advance(tx: Tx, { creatorId, id, position, searched, erased, now }: ErasureStep): Promise<boolean> {
  const advanced = await tx.run(
    `UPDATE tip_erasures SET erased = erased + $6, touched_at = $7,
       searched = CASE WHEN $4 < sequence THEN $5 ELSE searched END,
       created_at = CASE WHEN $4 < sequence THEN $3 ELSE created_at END,
       sequence = CASE WHEN $4 < sequence THEN $4 ELSE sequence END
     WHERE creator_id = $1 AND id = $2 AND finished_at IS NULL`,
    [creatorId, id, position.createdAt, position.sequence, searched, erased, now],
  );
  return advanced > 0;
}

/** From here on the name is stored nowhere. */
async function finish(tx: Tx, creatorId: string, id: string, now: number): Promise<void> {
  await tx.run(
    `UPDATE tip_erasures SET name = NULL, searched = total, touched_at = $3, finished_at = $3
     WHERE creator_id = $1 AND id = $2 AND finished_at IS NULL`,
    [creatorId, id, now],
  );
}

export const writes = defineWrites(import.meta.url, { eraseTipTexts, insertErasure, advance, finish });
