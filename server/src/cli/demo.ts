import type { Command } from 'commander';
import { type Context, withRuntime } from './command.ts';

export function addDemoCommands(program: Command, { env, print }: Context): void {
  program
    .command('demo')
    .description('Manage the demo world')
    .command('remove')
    .description('Take the demo creator, app and tips out of the database')
    .action(() =>
      withRuntime(env, async ({ demo }) => {
        const removed = (await demo.remove()) > 0;
        print({ removed }, removed ? 'The demo world is gone.' : 'There was no demo world.');
      }),
    );
}
