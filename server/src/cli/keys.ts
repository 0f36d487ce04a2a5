import type { Command } from 'commander';
import { type Context, withRuntime } from './command.ts';

export function addKeysCommands(program: Command, { env, print }: Context): void {
  program
    .command('keys')
    .description('Manage the keys that sign tokens')
    .command('rotate')
    .description('Sign new tokens with a new key; live tokens go on working')
    .action(() =>
      withRuntime(env, async ({ keys }) => {
        const kid = await keys.rotate();
        print({ kid }, `In half a minute, when every node knows it, new tokens are signed with key ${kid}.`);
      }),
    );
}
