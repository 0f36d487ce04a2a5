import { text as readAll } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { type Context, withRuntime } from './command.ts';
import { addLeavingCommands } from './creator-leaving.ts';
import { Failure } from './errors.ts';
import { addCreatorLists } from './lists.ts';

export function addCreatorCommands(program: Command, context: Context): void {
  const creator = program.command('creator').description('Manage creator accounts');
  addCreatorLists(creator, context);
  addCreator(creator, context);
  addPassword(creator, context);
  addPause(creator, context, 'suspend', 'Pause a creator: sign-in, API and deliveries');
  addPause(creator, context, 'restore', 'Undo creator suspend, or creator delete while the account waits');
  addRepairClock(creator, context);
  addLeavingCommands(creator, context);
}

interface PasswordOptions {
  readonly password?: string;
  readonly passwordStdin?: boolean;
}

const addPasswordOptions = (command: Command): Command =>
  command
    .option('--password <P>', 'The password; made up if none is given')
    .addOption(new Option('--password-stdin', 'Read the password from standard input').conflicts('password'));

async function readPassword({ password, passwordStdin }: PasswordOptions): Promise<string> {
  if (passwordStdin) return (await readAll(process.stdin)).replace(/\r?\n$/, '');
  if (password !== undefined) return password;
  const { inventPassword } = await import('../features/accounts/index.ts');
  return inventPassword();
}

function addCreator(group: Command, { env, print }: Context): void {
  const command = group
    .command('add')
    .description('Add a creator account')
    .requiredOption('--username <U>', '3 to 30 characters of a-z, 0-9 and underscore')
    .option('--display-name <D>', 'Name shown to people');
  addPasswordOptions(command).action(
    async ({ username, displayName, ...given }: PasswordOptions & { username: string; displayName?: string }) => {
      const password = await readPassword(given);
      await withRuntime(
        env,
        async ({ accounts }) => {
          const { id } = await accounts.add({ username, password, ...(displayName ? { displayName } : {}) });
          print({ id, username, password }, `Creator ${username} added.\n  id        ${id}\n  password  ${password}`);
        },
        { create: true },
      );
    },
  );
}

function addPassword(group: Command, { env, print }: Context): void {
  const command = group
    .command('password')
    .description('Set a creator’s password and end all their sessions')
    .argument('<USERNAME>', 'Username of the creator');
  addPasswordOptions(command).action(async (username: string, given: PasswordOptions) => {
    const password = await readPassword(given);
    await withRuntime(env, async ({ accounts }) => {
      const { id } = await accounts.byUsername(username);
      await accounts.setPassword(id, password);
      print({ username, password }, `Password of ${username} set to ${password}`);
    });
  });
}

function addPause(group: Command, { env, print }: Context, action: 'suspend' | 'restore', description: string): void {
  group
    .command(action)
    .description(description)
    .argument('<USERNAME>', 'Username of the creator')
    .action((username: string) =>
      withRuntime(env, async ({ accounts, grants, leaving, clock }) => {
        const { id } = await accounts.byUsername(username);
        const suspended = action === 'suspend';
        const restored = !suspended && (await leaving.restore(id, 'operator'));
        if (!restored && !(await grants.suspend('creator', id, suspended ? clock() : null)))
          throw new Failure('creator_is_being_deleted', `The deletion of ${username} has begun: it cannot be undone.`);
        print({ id, username, suspended }, `Creator ${username} ${suspended ? 'suspended' : 'restored'}.`);
      }),
    );
}

function addRepairClock(group: Command, { env, print }: Context): void {
  group
    .command('repair-clock')
    .description('Move what a creator recorded in the future, while a clock was wrong, back to now')
    .argument('<USERNAME>', 'Username of the creator')
    .action((username: string) =>
      withRuntime(env, async ({ accounts, events }) => {
        const { id } = await accounts.byUsername(username);
        const aheadMs = await events.repairClock(id);
        print(
          { id, username, seconds_ahead: Math.round(aheadMs / 1000) },
          aheadMs === 0
            ? `Nothing of ${username} lies in the future.`
            : `The history of ${username} was ${Math.round(aheadMs / 1000)} seconds ahead. Tips of the future now have the present time, in the same order; totals are the same, the month is counted anew. Events keep the bytes that were sent.`,
        );
      }),
    );
}
