import { toTimestamp, toTimestampOrNull } from '../../platform/clock.ts';
import type { TipRow } from './repo.ts';
import type { Tip } from './schemas.ts';

/** A tip as it is shown. Its time is its last field. */
export function toTip(row: TipRow): Tip {
  return {
    id: row.id,
    amount: row.amount_minor / 100,
    amount_minor: row.amount_minor,
    currency: 'THB',
    name: row.name,
    display_name: row.display_name,
    message: row.message,
    source: { type: row.client_id === null ? 'cli' : 'api', client_id: row.client_id, app_name: row.app_name },
    alert: { status: row.alert_status, shown_at: toTimestampOrNull(row.alert_shown_at) },
    created_at: toTimestamp(row.created_at),
  };
}
