/** The write that takes a tip back. */
import { defineWrites, type Tx } from '../../platform/db/database.ts';
import { appendEvent, type PreparedEvent, type SkipReason, takeFromGoals } from '../events/index.ts';
import { heldBy } from './alert-repo.ts';
import { wasListed } from './listed.ts';
import { columns, type TipRow, toTip } from './repo.ts';
import type { Tip } from './schemas.ts';
import { changeSupporter } from './supporters-repo.ts';

interface Voiding {
  readonly tipId: string;
  /** The time of the tip, as it was read: a repair of the clock may have moved the tip since. */
  readonly createdAt: number;
  /** The platform's month of `createdAt`. */
  readonly month: string;
  readonly reason: string | null;
  /** Reports that the alert is skipped, if it was not shown yet. */
  readonly skipped: PreparedEvent;
  readonly voided: PreparedEvent;
}

/**
 * Voids a tip, with its alert, its events and the totals. Returns nothing if the tip is voided already, or is no longer
 * of the time that was read.
 */
async function voidTip(tx: Tx, voiding: Voiding): Promise<{ tip: Tip; sequence: number } | null> {
  const { tipId, createdAt, month, reason, voided } = voiding;
  const { creatorId } = voided;
  const row = await tx.get<TipRow & { alert_reason: string | null; erased_at: number | null }>(
    `UPDATE tips SET voided_at = $4, void_reason = $5
     WHERE creator_id = $1 AND id = $2 AND created_at = $3 AND voided_at IS NULL RETURNING ${columns}, alert_reason, erased_at`,
    [creatorId, tipId, createdAt, voided.now, reason],
  );
  if (!row) return null;
  const skipped = await skipAlert(tx, tipId, voiding.skipped);
  const toVoided = (at: number): Tip =>
    toTip({ ...row, voided_at: at, alert_status: skipped ? 'skipped' : row.alert_status });
  const position = await appendEvent(tx, voided, (at) => JSON.stringify({ tip: toVoided(at.createdAt) }));
  // Time never runs backwards along a creator's log: the event may be later than this node's clock.
  if (position.createdAt !== voided.now)
    await tx.run('UPDATE tips SET voided_at = $3 WHERE creator_id = $1 AND id = $2', [
      creatorId,
      tipId,
      position.createdAt,
    ]);
  await subtract(tx, creatorId, month, row.amount_minor);
  await takeFromGoals(tx, creatorId, createdAt, row.amount_minor);
  if (row.erased_at === null && wasListed(row)) await changeSupporter(tx, creatorId, row, -1);
  return { tip: toVoided(position.createdAt), sequence: position.sequence };
}

/** Skips the tip's alert unless it was shown or settled otherwise. */
async function skipAlert(tx: Tx, tipId: string, event: PreparedEvent): Promise<boolean> {
  const reason: SkipReason = 'voided';
  const changed = await tx.run(
    `UPDATE tips SET alert_status = 'skipped', held_by = ${heldBy}, alert_reason = $3, settled_at = $4
     WHERE creator_id = $1 AND id = $2 AND alert_status IN ('queued', 'held')`,
    [event.creatorId, tipId, reason, event.now],
  );
  if (changed === 0) return false;
  await appendEvent(tx, event, () => JSON.stringify({ tip_id: tipId, alert_id: null, shown_at: null, reason }));
  return true;
}

/** After the event: the month's totals lose the tip only if it is of the head's month as it is now. */
async function subtract(tx: Tx, creatorId: string, month: string, amountMinor: number): Promise<void> {
  await tx.run(
    `UPDATE creator_heads SET
       total_minor = total_minor - $3,
       tip_count = tip_count - 1,
       void_count = void_count + 1,
       month_total_minor = month_total_minor - CASE WHEN month = $2 THEN $3 ELSE 0 END,
       month_tip_count = month_tip_count - CASE WHEN month = $2 THEN 1 ELSE 0 END
     WHERE creator_id = $1`,
    [creatorId, month, amountMinor],
  );
}

export const writes = defineWrites(import.meta.url, { voidTip });
