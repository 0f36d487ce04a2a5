import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';

export async function stepsOf(db: Reader, creatorId: string): Promise<string[]> {
  const rows = await db.all<{ step: string }>('SELECT step FROM first_steps WHERE creator_id = $1', [creatorId]);
  return rows.map(({ step }) => step);
}

async function addSteps(tx: Tx, creatorId: string, steps: readonly string[], now: number): Promise<void> {
  for (const step of steps)
    await tx.run(
      `INSERT INTO first_steps (creator_id, step, done_at)
       SELECT creator_id, $2, CAST($3 AS BIGINT) FROM creator_heads WHERE creator_id = $1
       ON CONFLICT (creator_id, step) DO NOTHING`,
      [creatorId, step, now],
    );
}

export const writes = defineWrites(import.meta.url, { addSteps });
