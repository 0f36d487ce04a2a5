import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { readConfig } from '../config.ts';
import { backupSqlite } from '../platform/db/sqlite-backup.ts';
import { type Command, Failure } from './command.ts';

export const backup: Command = {
  usage: 'backup FILE',
  summary: 'Copy the embedded database while the server runs',
  async run({ positionals: [file = ''], env }) {
    const { database } = readConfig(env);
    if (database.engine !== 'sqlite')
      throw new Failure('not_embedded', 'This copies the embedded database. For PostgreSQL use pg_dump.');
    if (!existsSync(dirname(file))) throw new Failure('no_folder', `There is no folder ${dirname(file)}.`);
    backupSqlite({ from: database.file, to: file });
    return {
      json: { file },
      text: `The database was copied to ${file}. Keep SECRET_KEY too, in another place: without it the copy cannot be used.`,
    };
  },
};
