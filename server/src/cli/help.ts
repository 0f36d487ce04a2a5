import { settings } from '../config.ts';
import type { Command } from './command.ts';

function list(commands: readonly Command[]): string[] {
  const width = Math.max(...commands.map(({ usage }) => usage.length));
  return commands.map(({ usage, summary }) => `  ${usage.padEnd(width)}  ${summary}`);
}

/** For the first word of several commands alone: `namjai creator`. */
export const groupHelp = (commands: readonly Command[]): string =>
  ['Usage: namjai COMMAND [OPTIONS]', '', ...list(commands), '', 'Every command takes --help.'].join('\n');

export function overview(commands: readonly Command[]): string {
  return [
    'Namjai น้ำใจ: tips for creators, with an open developer API.',
    '',
    'Usage: namjai COMMAND [OPTIONS]',
    '',
    ...list(commands),
    '',
    'Every command takes --help, and --json for one line of JSON.',
    'Settings come from environment variables; namjai check-config shows them all.',
  ].join('\n');
}

export function commandHelp({ usage, summary, options = {} }: Command): string {
  const all = { ...options, json: { type: 'boolean', help: 'Print one object on one line' } as const };
  const rows = Object.entries<(typeof options)[string]>(all).map(
    ([name, option]) =>
      [
        `--${name}${option.value ? ` ${option.value}` : ''}`,
        `${option.help}${option.required ? ' (required)' : ''}`,
      ] as const,
  );
  const width = Math.max(...rows.map(([left]) => left.length));
  return [
    `Usage: namjai ${usage} [OPTIONS]`,
    '',
    `${summary}.`,
    '',
    ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`),
    ...(usage === 'serve' ? ['', `Settings: ${Object.keys(settings).join(', ')}`] : []),
  ].join('\n');
}
