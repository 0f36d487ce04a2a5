import { createWriteStream, existsSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { linkNew } from '../platform/link-new.ts';
import { type Context, withRuntime } from './command.ts';
import { Failure } from './errors.ts';
import { utcText } from './table.ts';

export function addLeavingCommands(group: Command, context: Context): void {
  addExport(group, context);
  addDelete(group, context);
}

function addExport(group: Command, { env, print }: Context): void {
  group
    .command('export')
    .description('Write everything that is stored about a creator into a ZIP archive')
    .argument('<USERNAME>', 'Username of the creator')
    .argument('<FILE>', 'Where the archive is written; the file must not exist yet')
    .action(async (username: string, file: string) => {
      const exists = () =>
        new Failure('file_exists', `${file} exists already. Name another file: an export replaces none.`);
      if (existsSync(file)) throw exists();
      if (!existsSync(dirname(file))) throw new Failure('no_folder', `There is no folder ${dirname(file)}.`);
      await withRuntime(env, async ({ accounts, exports }) => {
        const { id } = await accounts.byUsername(username);
        const partial = `${file}.${process.pid}.part`;
        try {
          const { bytes } = await exports.archive({ id, username });
          await pipeline(bytes, createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true }));
          linkNew(partial, file);
        } catch (error) {
          const { code, syscall }: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
          throw code === 'EEXIST' && syscall !== 'open' ? exists() : error;
        } finally {
          rmSync(partial, { force: true });
        }
        print(
          { id, username, file },
          `Everything that is stored about ${username} is in ${file}. It holds personal data: keep it safe, and delete it when it has been handed over.`,
        );
      });
    });
}

function addDelete(group: Command, { env, print }: Context): void {
  group
    .command('delete')
    .description('Delete a creator’s account after seven days, until which they or creator restore can undo it')
    .argument('<USERNAME>', 'Username of the creator')
    .option('--now', 'Delete it now: nobody can undo it')
    .option('--yes', 'Do not ask for the username again')
    .action(async (username: string, { now = false, yes = false }: { now?: boolean; yes?: boolean }) => {
      if (!yes) await askAgain(username);
      await withRuntime(env, async ({ accounts, leaving }) => {
        const { id } = await accounts.byUsername(username);
        if (now) {
          await leaving.deleteNow(id);
          print({ id, username, deleted: true }, `The account ${username} and everything of it is deleted.`);
          return;
        }
        const delete_at = new Date(await leaving.ask(id)).toISOString();
        print(
          { id, username, deleted: false, delete_at },
          `The account ${username} is suspended, and will be deleted after ${utcText(delete_at)}. Its owner can sign in to keep it; creator restore undoes it too.`,
        );
      });
    });
}

/** Somebody who mistyped a name, or runs an old line of the shell's history, notices it here. */
async function askAgain(username: string): Promise<void> {
  if (!process.stdin.isTTY)
    throw new Failure('not_confirmed', 'Nothing was deleted: there is nobody to ask again. Add --yes.');
  const questions = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const typed = await questions.question(`This deletes the account ${username}. Type the username again: `);
    if (typed.trim() !== username) throw new Failure('not_confirmed', 'Nothing was deleted: that is another name.');
  } finally {
    questions.close();
  }
}
