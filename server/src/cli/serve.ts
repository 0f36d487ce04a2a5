import type { Command } from 'commander';
import { describeSettings, readConfig } from '../config.ts';
import type { Context } from './command.ts';

export function addServeCommand(program: Command, { env }: Context): void {
  program
    .command('serve')
    .description('Run the server')
    .addHelpText(
      'after',
      `\nSettings: ${describeSettings({})
        .map(({ name }) => name)
        .join(', ')}`,
    )
    .action(async () => {
      const config = readConfig(env);
      const { checkAddressesAndFolders } = await import('../preflight.ts');
      await checkAddressesAndFolders(config);
      const { serve } = await import('../main.ts');
      await serve(config);
    });
}
