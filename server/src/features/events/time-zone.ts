import type { Database } from '../../platform/db/database.ts';
import type { EventLog } from './service.ts';

/** Month totals are kept in the platform's time zone; when that setting changes they are counted anew. */
export async function keepTimeZone(db: Database, events: EventLog, timeZone: string): Promise<void> {
  const kept = await db.get<{ value: string }>(`SELECT value FROM meta WHERE key = 'time_zone'`);
  if (kept?.value === timeZone) return;
  if (kept) await events.recountMonths();
  await db.write((tx) =>
    tx.run(
      `INSERT INTO meta (key, value) VALUES ('time_zone', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
      [timeZone],
    ),
  );
}
