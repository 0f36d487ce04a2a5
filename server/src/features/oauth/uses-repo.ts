import type { Tx } from '../../platform/db/database.ts';

/** Nodes note on their own clocks: the latest stays. */
export async function upsertUse(tx: Tx, creatorId: string, grantId: string, at: number): Promise<void> {
  await tx.run(
    `INSERT INTO grant_uses (creator_id, grant_id, used_at) VALUES ($1, $2, $3)
     ON CONFLICT (creator_id, grant_id) DO UPDATE SET used_at = excluded.used_at
     WHERE grant_uses.used_at < excluded.used_at`,
    [creatorId, grantId, at],
  );
}
