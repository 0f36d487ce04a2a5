/** The bare transaction: what recording a tip costs with the driver alone, in one statement, as many at once as ours. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { answerCalls } from '../lib/calls.ts';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 });

const text = `
WITH head AS (
  UPDATE creator_heads SET sequence = sequence + 1, last_at = GREATEST(last_at, $2), month = $3,
    total_minor = total_minor + $4, tip_count = tip_count + 1,
    month_total_minor = month_total_minor + $4, month_tip_count = month_tip_count + 1
  WHERE creator_id = $1 RETURNING sequence, last_at
), event AS (
  INSERT INTO events (creator_id, sequence, created_at, id, type, body)
  SELECT $1, sequence, last_at, $5, 'tip.created', $6 FROM head
), tip AS (
  INSERT INTO tips (creator_id, sequence, created_at, id, amount_minor, name, display_name, message, client_id, app_name)
  SELECT $1, sequence, last_at, $7, $4, $8, $9, $10, $11, $12 FROM head
)
SELECT sequence, last_at FROM head`;

answerCalls({
  async run({ creators, connections, seconds, body }) {
    const start = performance.now();
    const end = start + seconds * 1000;
    let requests = 0;
    await Promise.all(
      Array.from({ length: connections }, async () => {
        while (performance.now() < end) {
          const creator = creators[requests++ % creators.length];
          const now = Date.now();
          const values = [creator, now, new Date(now).toISOString().slice(0, 7), 15050, `evt_${randomUUID()}`, body];
          values.push(`tip_${randomUUID()}`, 'SOMCHAI', 'สมชาย', 'Great stream!', 'app_bench', 'Bench');
          await pool.query({ name: 'record', text, values });
        }
      }),
    );
    return { requests, seconds: (performance.now() - start) / 1000 };
  },
});
