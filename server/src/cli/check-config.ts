import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { type Config, describeSettings, readConfig } from '../config.ts';
import type { Database } from '../platform/db/database.ts';
import type { Context } from './command.ts';

export function addCheckConfigCommand(program: Command, { env, print }: Context): void {
  program
    .command('check-config')
    .description('Show every setting with its source, and what is wrong')
    .action(async () => {
      const config = readConfig(env);
      const clock = await checkClock(config);
      const { development } = config;
      const list = describeSettings(env, config);
      const [nameWidth, valueWidth] = [
        Math.max(...list.map(({ name }) => name.length)),
        Math.max(...list.map(({ value }) => (value ?? '').length)),
      ];
      print(
        { development, settings: list.map(({ name, value, source }) => ({ name, value, source })), clock },
        [
          ...list.map(
            ({ name, value, source, help }) =>
              `${name.padEnd(nameWidth)}  ${(value ?? '').padEnd(valueWidth)}  ${source.padEnd(11)}  ${help}`,
          ),
          '',
          development ? 'The settings are good. This is development.' : 'The settings are good.',
          ...clock.problems,
        ].join('\n'),
      );
    });
}

/** Whether this machine's clock can be trusted, by the database as it is: nothing is made or migrated. */
async function checkClock({ database }: Config): Promise<{ problems: readonly string[] }> {
  if (database.engine === 'sqlite' && !existsSync(database.file)) return { problems: [] };
  const [{ createClockCheck }, { systemClock: clock }] = await Promise.all([
    import('../features/events/index.ts'),
    import('../platform/clock.ts'),
  ]);
  try {
    const db = await open(database);
    try {
      return await createClockCheck({ db, clock }).checkClock();
    } finally {
      await db.close();
    }
  } catch (error) {
    return { problems: [`The clock could not be compared with the database: ${String(error)}`] };
  }
}

async function open(database: Config['database']): Promise<Database> {
  if (database.engine === 'sqlite') return (await import('../platform/db/sqlite.ts')).openSqlite(database);
  return (await import('../platform/db/postgres.ts')).openPostgres(database);
}
