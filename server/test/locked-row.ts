import pg from 'pg';

/** Another session on PostgreSQL locks a creator's row. Resolves with what releases it. */
export async function lockCreatorRow(databaseUrl: string, creatorId: string): Promise<() => Promise<void>> {
  const session = new pg.Client({ connectionString: databaseUrl });
  // The database may be dropped while it is connected.
  session.on('error', () => {});
  await session.connect();
  await session.query('BEGIN');
  await session.query('SELECT sequence FROM creator_heads WHERE creator_id = $1 FOR UPDATE', [creatorId]);
  // Its end rolls back, and may be asked for twice.
  return () => session.end();
}
