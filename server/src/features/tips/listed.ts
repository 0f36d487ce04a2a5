import type { AlertStatus, StoredSkipReason } from '../events/index.ts';

/**
 * Which tips stand in public lists, and by which name. A tip enters them when its alert is queued: one that is held, or
 * was refused before it was queued, is in none. It leaves them when it is voided or its words are erased.
 */
const refused = ['rejected', 'held_too_long', 'blocked'] satisfies StoredSkipReason[];

/** A condition of SQL on `tips`. */
export const listed = `voided_at IS NULL AND erased_at IS NULL AND alert_status <> 'held'
  AND (alert_reason IS NULL OR alert_reason NOT IN (${refused.map((reason) => `'${reason}'`).join(', ')}))`;

/** An expression of SQL on `tips`. */
export const shownName = 'COALESCE(alert_name, display_name, name)';

/** The same for a row, voided or erased or not. */
export const wasListed = (tip: { readonly alert_status: AlertStatus; readonly alert_reason: string | null }): boolean =>
  tip.alert_status !== 'held' && !refused.some((reason) => reason === tip.alert_reason);
