import type { Reader } from '../../platform/db/database.ts';
import type { EventPosition } from '../events/index.ts';

const batchSql = `
SELECT CAST(COALESCE(SUM(CASE WHEN voided_at IS NULL THEN amount_minor END), 0) AS BIGINT) AS "totalMinor",
  COUNT(CASE WHEN voided_at IS NULL THEN 1 END) AS count, COUNT(*) AS "read",
  COALESCE(MAX(created_at), 0) AS "createdAt", COALESCE(MAX(sequence), 0) AS sequence
FROM (SELECT amount_minor, created_at, sequence, voided_at FROM tips
  WHERE creator_id = $1 AND (created_at, sequence) > ($2, $3) AND created_at < $4
  ORDER BY created_at, sequence LIMIT $5) AS batch`;

/**
 * The total of up to `limit` tips after a position and before an instant, how many it read with those that are voided,
 * and the position of the last of them. By `all`: PostgreSQL batches `get`, and this statement may be slow.
 */
export async function sumBatch(
  db: Reader,
  creatorId: string,
  after: EventPosition,
  before: number,
  limit: number,
): Promise<BatchSum> {
  const [sum] = await db.all<BatchSum>(batchSql, [creatorId, after.createdAt, after.sequence, before, limit]);
  return sum ?? { totalMinor: 0, count: 0, read: 0, ...after };
}

export interface VoidedTip {
  readonly sequence: number;
  readonly createdAt: number;
  readonly amountMinor: number;
}

/** Up to `limit` tips that were voided at this instant or later. */
export function voidedSince(db: Reader, creatorId: string, since: number, limit: number): Promise<VoidedTip[]> {
  return db.all<VoidedTip>(
    `SELECT sequence, created_at AS "createdAt", amount_minor AS "amountMinor" FROM tips
     WHERE creator_id = $1 AND voided_at IS NOT NULL AND voided_at >= $2 ORDER BY voided_at LIMIT $3`,
    [creatorId, since, limit],
  );
}

interface BatchSum extends EventPosition {
  readonly totalMinor: number;
  readonly count: number;
  readonly read: number;
}
