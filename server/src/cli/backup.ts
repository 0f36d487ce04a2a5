import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { readConfig } from '../config.ts';
import type { Context } from './command.ts';
import { Failure } from './errors.ts';

export function addBackupCommand(program: Command, { env, print }: Context): void {
  program
    .command('backup')
    .description('Copy the embedded database while the server runs')
    .argument('<FILE>', 'Where the copy is written; the file must not exist yet')
    .action(async (file: string) => {
      const { database } = readConfig(env);
      if (database.engine !== 'sqlite')
        throw new Failure('not_embedded', 'This copies the embedded database. For PostgreSQL use pg_dump.');
      if (!existsSync(dirname(file))) throw new Failure('no_folder', `There is no folder ${dirname(file)}.`);
      const { backupSqlite } = await import('../platform/db/sqlite-backup.ts');
      backupSqlite({ from: database.file, to: file });
      print(
        { file },
        `The database was copied to ${file}. Keep SECRET_KEY too, in another place: without it the copy cannot be used.`,
      );
    });
}
