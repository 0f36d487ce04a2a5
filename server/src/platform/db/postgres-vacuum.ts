import pg from 'pg';

/**
 * On a connection of its own: it takes as long as it takes, and cannot run inside of a transaction. For a few dead rows
 * PostgreSQL would leave their entries in the indexes, which hold names.
 */
export async function vacuum(url: string, tables: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: 'namjai' });
  // A broken connection fails its query. Without a listener it would also end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    for (const table of tables) await client.query(`VACUUM (INDEX_CLEANUP ON) "${table}"`);
  } finally {
    await client.end();
  }
}
