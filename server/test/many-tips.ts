import type { Runtime } from '../src/runtime.ts';
import { execute } from './sql.ts';

/** A call of the database has five seconds, also on a busy machine. */
const perStatement = 5_000;

/** A creator's history of so many tips, the newest now and a second between two: straight into the store. */
export async function makeManyTips(
  { db, clock }: Pick<Runtime, 'db' | 'clock'>,
  creatorId: string,
  count: number,
  message = 'สวัสดี',
): Promise<void> {
  const now = clock();
  for (let first = 1; first <= count; first += perStatement)
    await execute(
      db,
      `WITH RECURSIVE n(i) AS (SELECT CAST($4 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < $5)
       INSERT INTO tips (creator_id, sequence, created_at, id, amount_minor, name, message)
       SELECT $1, i, $3 - ($2 - i) * 1000, 'tip_' || i, 100 + i, 'TIP ' || i, CAST($6 AS TEXT) FROM n`,
      [creatorId, count, now, first, Math.min(count, first + perStatement - 1), message],
    );
  await execute(db, 'UPDATE creator_heads SET sequence = $2, tip_count = $2, last_at = $3 WHERE creator_id = $1', [
    creatorId,
    count,
    now,
  ]);
}

/** Records tips by the service, past the limits of the API. */
export async function recordTips(
  { runtime }: { readonly runtime: Pick<Runtime, 'tips'> },
  creatorId: string,
  count: number,
  message: string | null = null,
): Promise<void> {
  const tip = { creatorId, app: null, amount: 1, name: 'SOMCHAI', displayName: null, message };
  await Promise.all(Array.from({ length: count }, () => runtime.tips.record(tip)));
}
