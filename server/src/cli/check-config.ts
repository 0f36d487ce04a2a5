import type { Command } from 'commander';
import { describeSettings, readConfig } from '../config.ts';
import type { Context } from './command.ts';

export function addCheckConfigCommand(program: Command, { env, print }: Context): void {
  program
    .command('check-config')
    .description('Show every setting with its source, and what is wrong')
    .action(() => {
      const config = readConfig(env);
      const { development } = config;
      const list = describeSettings(env, config);
      const [nameWidth, valueWidth] = [
        Math.max(...list.map(({ name }) => name.length)),
        Math.max(...list.map(({ value }) => (value ?? '').length)),
      ];
      print(
        { development, settings: list.map(({ name, value, source }) => ({ name, value, source })) },
        [
          ...list.map(
            ({ name, value, source, help }) =>
              `${name.padEnd(nameWidth)}  ${(value ?? '').padEnd(valueWidth)}  ${source.padEnd(11)}  ${help}`,
          ),
          '',
          development ? 'The settings are good. This is development.' : 'The settings are good.',
        ].join('\n'),
      );
    });
}
