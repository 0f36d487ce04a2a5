import { type Command, withRuntime } from './command.ts';

export const migrateCommand: Command = {
  usage: 'migrate',
  summary: 'Bring the database up to date (the server also does this at its start)',
  run: ({ env }) =>
    withRuntime(env, async ({ db }) => {
      const rows = await db.all<{ name: string }>('SELECT name FROM schema_migrations ORDER BY number');
      const names = rows.map(({ name }) => name);
      return { json: { migrations: names }, text: `The database is up to date (${names.length} migrations).` };
    }),
};
