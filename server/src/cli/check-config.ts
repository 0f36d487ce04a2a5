import { describeSettings, readConfig } from '../config.ts';
import type { Command } from './command.ts';

export const checkConfig: Command = {
  usage: 'check-config',
  summary: 'Show every setting with its source, and what is wrong',
  async run({ env }) {
    const config = readConfig(env);
    const { development } = config;
    const list = describeSettings(env, config);
    const [nameWidth, valueWidth] = [
      Math.max(...list.map(({ name }) => name.length)),
      Math.max(...list.map(({ value }) => (value ?? '').length)),
    ];
    return {
      json: { development, settings: list.map(({ name, value, source }) => ({ name, value, source })) },
      text: [
        ...list.map(
          ({ name, value, source, help }) =>
            `${name.padEnd(nameWidth)}  ${(value ?? '').padEnd(valueWidth)}  ${source.padEnd(11)}  ${help}`,
        ),
        '',
        development ? 'The settings are good. This is development.' : 'The settings are good.',
      ].join('\n'),
    };
  },
};
