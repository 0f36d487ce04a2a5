import { toTimestamp } from '../../platform/clock.ts';
import { defineWrites, type Tx } from '../../platform/db/database.ts';
import { type Alert, appendEvent, type PreparedEvent } from '../events/index.ts';

/** A test alert is stored only as its event. */
async function appendAlert(
  tx: Tx,
  event: PreparedEvent,
  unsent: Omit<Alert, 'created_at'>,
): Promise<{ alert: Alert; sequence: number }> {
  const toAlert = (createdAt: number): Alert => ({ ...unsent, created_at: toTimestamp(createdAt) });
  const { sequence, createdAt } = await appendEvent(tx, event, (position) =>
    JSON.stringify({ alert: toAlert(position.createdAt) }),
  );
  return { alert: toAlert(createdAt), sequence };
}

export const writes = defineWrites(import.meta.url, { appendAlert });
