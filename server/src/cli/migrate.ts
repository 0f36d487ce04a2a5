import type { Environment } from '../config.ts';
import { type Answer, type Call, type Command, text, UsageError, withRuntime } from './command.ts';
import { createProgress } from './progress.ts';

export const migrateCommand: Command = {
  usage: 'migrate',
  summary: 'Bring the database up to date (the server also does this at its start), or move it to PostgreSQL',
  options: {
    from: { type: 'string', value: 'sqlite:FILE', help: 'Move this embedded database; no server may run on it' },
    to: { type: 'string', value: 'postgres://…', help: 'into this PostgreSQL database, which must be empty' },
  },
  run({ values, env }) {
    const [from, to] = [text(values, 'from'), text(values, 'to')];
    if (from === undefined && to === undefined) return update(env);
    if (!from?.startsWith('sqlite:') || !to || !/^postgres(ql)?:\/\//.test(to))
      throw new UsageError('A move needs --from sqlite:FILE and --to postgres://…');
    return move(from.slice('sqlite:'.length), to, values);
  },
};

const update = (env: Environment): Promise<Answer> =>
  withRuntime(env, async ({ db }) => {
    const rows = await db.all<{ name: string }>('SELECT name FROM schema_migrations ORDER BY number');
    const names = rows.map(({ name }) => name);
    return { json: { migrations: names }, text: `The database is up to date (${names.length} migrations).` };
  });

async function move(from: string, to: string, { json }: Call['values']): Promise<Answer> {
  const { moveDatabase } = await import('../platform/db/move.ts');
  const onProgress = json ? () => {} : createProgress(process.stderr);
  const tables = await moveDatabase({ from, to, onProgress });
  const rows = Object.fromEntries(tables.map((table) => [table.name, table.rows]));
  return {
    json: { rows },
    text: [
      ...tables.map((table) => `  ${String(table.rows).padStart(12)}  ${table.name}`),
      'Moved. Every table has as many rows, and every column the same sum, on both sides.',
      'Start the nodes with the same SECRET_KEY; in development it stands in secret.key beside the old file.',
    ].join('\n'),
  };
}
