/**
 * Erasing the words of a tip, for good. Invariants:
 *
 * - The words go from the tip, from its stored events and from the list of supporters in one write. Nothing else changes
 *   the body of a stored event.
 * - The amount stays: totals, goals and counts do not change.
 * - A tip without words is shown nowhere in public. An alert that was not shown yet is skipped.
 */
import type { Reader, Tx } from '../../platform/db/database.ts';
import { appendEvent, erasedName, eraseEventWords, type PreparedEvent, type SkipReason } from '../events/index.ts';
import { settleAlert } from './alert-repo.ts';
import { wasListed } from './listed.ts';
import { columns, type TipRow } from './repo.ts';
import { changeSupporter } from './supporters-repo.ts';

export interface ErasedTip {
  /** The name as it was sent. */
  readonly name: string;
  readonly displayName: string | null;
  /** The events that had words. */
  readonly eventIds: readonly string[];
  /** Of the event that reports that the alert is skipped, if it was not shown yet. */
  readonly sequence: number | null;
}

/** Returns nothing if there is no such tip, or its words are erased already. `skipped` is appended if the alert waits. */
export async function eraseTip(tx: Tx, tipId: string, skipped: PreparedEvent): Promise<ErasedTip | null> {
  const { creatorId, now } = skipped;
  const row = await tx.get<TipRow & { alert_reason: string | null }>(
    `UPDATE tips SET erased_at = $3 WHERE creator_id = $1 AND id = $2 AND erased_at IS NULL
     RETURNING ${columns}, alert_reason`,
    [creatorId, tipId, now],
  );
  if (!row) return null;
  const sequence = await skipAlert(tx, row, skipped);
  // `changeSupporter` needs the lock of the creator's head, which an appended event has taken.
  if (sequence === null)
    await tx.run('UPDATE creator_heads SET sequence = sequence WHERE creator_id = $1', [creatorId]);
  if (row.voided_at === null && wasListed(row)) await changeSupporter(tx, creatorId, row, -1);
  await tx.run(
    `UPDATE tips SET name = $3, display_name = NULL, message = NULL, alert_name = NULL, alert_message = NULL
     WHERE creator_id = $1 AND id = $2`,
    [creatorId, tipId, erasedName],
  );
  const eventIds = await eraseEventWords(tx, creatorId, row);
  return { name: row.name, displayName: row.display_name, eventIds, sequence };
}

async function skipAlert(tx: Tx, tip: TipRow, event: PreparedEvent): Promise<number | null> {
  const { alert_status: from, id } = tip;
  if (from !== 'held' && from !== 'queued') return null;
  const reason: SkipReason = from === 'held' ? 'rejected' : 'by_creator';
  const outcome = { status: 'skipped', reason, shownAt: null, settledAt: event.now } as const;
  if (!(await settleAlert(tx, event.creatorId, id, from, outcome))) return null;
  const data = JSON.stringify({ tip_id: id, alert_id: null, shown_at: null, reason });
  return (await appendEvent(tx, event, () => data)).sequence;
}

/** Tips that were voided since then, and the newest of those whose words were erased. */
export function takenBackSince(
  db: Reader,
  creatorId: string,
  since: number,
  mostErased: number,
): Promise<{ id: string }[]> {
  return db.all<{ id: string }>(
    `SELECT id FROM tips WHERE creator_id = $1 AND voided_at >= $2 AND voided_at IS NOT NULL
     UNION
     SELECT id FROM (SELECT id FROM tips WHERE creator_id = $1 AND erased_at >= $2 AND erased_at IS NOT NULL
       ORDER BY erased_at DESC LIMIT $3) AS erased`,
    [creatorId, since, mostErased],
  );
}

export async function isErased(db: Reader, creatorId: string, id: string): Promise<boolean> {
  const row = await db.get('SELECT id FROM tips WHERE creator_id = $1 AND id = $2 AND erased_at IS NOT NULL', [
    creatorId,
    id,
  ]);
  return row !== undefined;
}
