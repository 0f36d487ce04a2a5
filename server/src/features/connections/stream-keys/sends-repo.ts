import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';

/** An event that a program with a key was sent. */
export interface SendRow {
  creator_id: string;
  key_id: string;
  sequence: number;
  sent_at: number;
}

/** Of each key, those of so many of the creator's newest events are kept. */
export const keptEvents = 1000;

const rowsSql = {
  sqlite: `SELECT value ->> 'creator_id' AS creator_id, value ->> 'key_id' AS key_id,
             value ->> 'sequence' AS sequence, value ->> 'sent_at' AS sent_at FROM json_each($1)`,
  postgres: `SELECT creator_id, key_id, sequence, sent_at
             FROM json_to_recordset($1) AS rows (creator_id TEXT, key_id TEXT, sequence BIGINT, sent_at BIGINT)`,
};

/** Of a key that was revoked meanwhile nothing is kept. The first connection of a key that got an event counts. */
const insertSql = (rows: string): string =>
  `INSERT INTO stream_key_sends (creator_id, key_id, sequence, sent_at)
   SELECT creator_id, key_id, sequence, sent_at FROM (${rows}) AS sent
   WHERE EXISTS (SELECT 1 FROM stream_keys k WHERE k.creator_id = sent.creator_id AND k.id = sent.key_id)
   ON CONFLICT (creator_id, key_id, sequence) DO NOTHING`;

async function saveSends(tx: Tx, rows: readonly SendRow[]): Promise<void> {
  const sql = { sqlite: insertSql(rowsSql.sqlite), postgres: insertSql(rowsSql.postgres) };
  await tx.run(sql, [JSON.stringify(rows)]);
  const newest = new Map(rows.map(({ creator_id, key_id, sequence }) => [key_id, { creator_id, sequence }]));
  for (const [keyId, { creator_id, sequence }] of newest)
    await tx.run('DELETE FROM stream_key_sends WHERE creator_id = $1 AND key_id = $2 AND sequence <= $3', [
      creator_id,
      keyId,
      sequence - keptEvents,
    ]);
}

/** Of all keys of a creator. */
export function sendsBetween(
  db: Reader,
  creatorId: string,
  from: number,
  to: number,
): Promise<Omit<SendRow, 'creator_id'>[]> {
  return db.all(
    `SELECT key_id, sequence, sent_at FROM stream_key_sends
     WHERE creator_id = $1 AND key_id IN (SELECT id FROM stream_keys WHERE creator_id = $1)
       AND sequence >= $2 AND sequence <= $3`,
    [creatorId, from, to],
  );
}

export const writes = defineWrites(import.meta.url, { saveSends });
