import { toTimestamp } from '../../platform/clock.ts';
import { defineWrites, type Tx } from '../../platform/db/database.ts';
import { type Alert, appendScreened, type PreparedEvent } from '../events/index.ts';

/** A test alert is stored only as its event. Nothing is stored if it was screened by other rules than the present ones. */
async function appendAlert(
  tx: Tx,
  event: PreparedEvent,
  unsent: Omit<Alert, 'created_at'>,
  rulesVersion: number,
): Promise<{ alert: Alert; sequence: number } | 'rules_changed'> {
  const toAlert = (createdAt: number): Alert => ({ ...unsent, created_at: toTimestamp(createdAt) });
  const position = await appendScreened(tx, event, rulesVersion, ({ createdAt }) =>
    JSON.stringify({ alert: toAlert(createdAt) }),
  );
  return position ? { alert: toAlert(position.createdAt), sequence: position.sequence } : 'rules_changed';
}

export const writes = defineWrites(import.meta.url, { appendAlert });
