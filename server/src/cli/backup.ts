import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { readConfig } from '../config.ts';
import type { Context } from './command.ts';
import { Failure } from './errors.ts';

export function addBackupCommand(program: Command, context: Context): void {
  const { env, print } = context;
  const backup = program
    .command('backup')
    .description('Copy the embedded database while the server runs')
    .argument('<FILE>', 'Where the copy is written; the file must not exist yet')
    .action(async (file: string) => {
      const { database } = readConfig(env);
      if (database.engine !== 'sqlite')
        throw new Failure('not_embedded', 'This copies the embedded database. For PostgreSQL use pg_dump.');
      if (!existsSync(dirname(file))) throw new Failure('no_folder', `There is no folder ${dirname(file)}.`);
      if (existsSync(file))
        throw new Failure('file_exists', `${file} exists already. Name another file: a copy replaces none.`);
      const { backupSqlite } = await import('../platform/db/sqlite-backup.ts');
      backupSqlite({ from: database.file, to: file });
      print(
        { file },
        `The database was copied to ${file}. Keep SECRET_KEY too, in another place (and SECRET_KEY_OLD, while it is set): without it the copy cannot be used.`,
      );
    });
  addVerify(backup, context);
}

function addVerify(group: Command, { print }: Context): void {
  group
    .command('verify')
    .description('Read a copy from beginning to end, and say whether it is whole')
    .argument('<FILE>', 'A copy that no server uses')
    .action(async (file: string) => {
      if (!existsSync(file)) throw new Failure('no_file', `There is no file ${file}.`);
      if (!statSync(file).isFile()) throw new Failure('no_file', `${file} is no file: name one copy.`);
      const { checkCopy } = await import('../platform/db/sqlite-backup.ts');
      const { problems, schema, bytes } = checkCopy(file, 'full');
      if (problems.length > 0)
        throw new Failure('damaged', `${file} is damaged: ${problems.slice(0, 5).join('; ')}. Take another copy.`);
      if (schema === null) throw new Failure('not_namjai', `${file} is a database, but none of this program.`);
      print({ file, schema, bytes }, `${file} is whole: ${bytes} bytes, schema ${schema}.`);
    });
}
