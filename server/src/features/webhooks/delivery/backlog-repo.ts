/** The SQL that finds what waits: endpoints with due deliveries, and how far deliveries are behind. */
import type { Reader } from '../../../platform/db/database.ts';

/** The endpoints that have deliveries waiting, one step of an index for each. */
const waitingEndpoints = `
  SELECT MIN(endpoint_id) FROM webhook_deliveries WHERE status = 'pending'
  UNION ALL
  SELECT (SELECT MIN(endpoint_id) FROM webhook_deliveries WHERE status = 'pending' AND endpoint_id > waiting.id)
  FROM waiting WHERE waiting.id IS NOT NULL`;

export interface Backlog {
  /** Counted up to 10,000. */
  pending: number;
  /** Of receivers that answer. */
  oldest_due: number | null;
  /** Of receivers that have failed since their last success, and of closed listeners: they delay nobody else. */
  oldest_due_failing: number | null;
}

/** Deliveries that are not settled, and when the first of them was due. A leased one is due at the end of its lease. */
export async function backlogOf(db: Reader): Promise<Backlog> {
  const row = await db.get<Backlog>(
    `WITH RECURSIVE waiting (id) AS (${waitingEndpoints}),
     oldest (failing, due_at) AS (
       SELECT CASE WHEN e.failing_since IS NOT NULL OR (e.kind = 'listener' AND e.session IS NULL) THEN 1 ELSE 0 END,
         (SELECT MIN(due_at) FROM webhook_deliveries WHERE status = 'pending' AND endpoint_id = e.id)
       FROM waiting JOIN webhook_endpoints e ON e.id = waiting.id)
     SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM webhook_deliveries WHERE status = 'pending' LIMIT 10000) AS first)
         AS pending,
       (SELECT MIN(due_at) FROM oldest WHERE failing = 0) AS oldest_due,
       (SELECT MIN(due_at) FROM oldest WHERE failing = 1) AS oldest_due_failing`,
  );
  return row ?? { pending: 0, oldest_due: null, oldest_due_failing: null };
}

/**
 * Endpoints with a due delivery, and the session of a listener that is open; not those that are closed. The recursion
 * reads one index entry for each endpoint, not all deliveries.
 */
export function dueEndpoints(db: Reader, now: number): Promise<{ id: string; session: string | null }[]> {
  return db.all(
    `WITH RECURSIVE waiting (id) AS (${waitingEndpoints})
     SELECT waiting.id, e.session FROM waiting LEFT JOIN webhook_endpoints e ON e.id = waiting.id
     WHERE waiting.id IS NOT NULL AND (e.kind IS NULL OR e.kind <> 'listener' OR e.session IS NOT NULL) AND
       (SELECT MIN(due_at) FROM webhook_deliveries WHERE status = 'pending' AND endpoint_id = waiting.id) <= $1`,
    [now],
  );
}
