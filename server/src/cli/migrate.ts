import type { Command } from 'commander';
import { type Context, withRuntime } from './command.ts';
import { createProgress } from './progress.ts';

export function addMigrateCommand(program: Command, context: Context): void {
  program
    .command('migrate')
    .description('Bring the database up to date (the server also does this at its start), or move it to PostgreSQL')
    .option('--from <sqlite:FILE>', 'Move this embedded database; no server may run on it')
    .option('--to <postgres://…>', 'into this PostgreSQL database, which must be empty')
    .action(({ from, to }: { from?: string; to?: string }, command: Command) => {
      if (from === undefined && to === undefined) return applyMigrations(context);
      if (!from?.startsWith('sqlite:') || !to || !/^postgres(ql)?:\/\//.test(to))
        return command.error('A move needs --from sqlite:FILE and --to postgres://…');
      return move(from.slice('sqlite:'.length), to, context);
    });
}

const applyMigrations = ({ env, print }: Context): Promise<void> =>
  withRuntime(
    env,
    async ({ db }) => {
      const { appliedMigrations } = await import('../platform/db/migrate.ts');
      const migrations = await appliedMigrations(db);
      const list = migrations.map((name) => `  ${name}\n`).join('');
      print({ migrations }, `${list}The database is up to date (${migrations.length} migrations).`);
    },
    { create: true },
  );

async function move(from: string, to: string, { json, print }: Context): Promise<void> {
  const { moveDatabase } = await import('../platform/db/move.ts');
  const progress = createProgress(process.stderr);
  const tables = await moveDatabase({
    from,
    to,
    onProgress: (done, total, table) => {
      if (!json) progress.bar({ done, total, unit: 'rows', detail: table });
    },
  }).finally(progress.clear);
  print(
    { rows: Object.fromEntries(tables.map(({ name, rows }) => [name, rows])) },
    [
      ...tables.map(({ name, rows }) => `  ${String(rows).padStart(12)}  ${name}`),
      'Moved. Every table has as many rows, and every column the same sum, on both sides.',
      'Start the nodes with the same SECRET_KEY (and SECRET_KEY_OLD, if it is set); in development it stands in secret.key beside the old file.',
    ].join('\n'),
  );
}
