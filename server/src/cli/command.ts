import { Command, type ErrorOptions, Help } from 'commander';
import { type Environment, readConfig } from '../config.ts';
import type { Runtime } from '../runtime.ts';
import { UsageError } from './errors.ts';
import type { Terminal } from './terminal.ts';

/** What the actions of all commands share. */
export interface Context {
  readonly env: Environment;
  readonly json: boolean;
  /** Prints the object on one line with `--json`, otherwise the text. */
  print(object: object, text: string): void;
  /** Tells people how it goes, on standard error. Nothing with `--json`. */
  note(text: string): void;
  readonly terminal: Terminal;
}

/** Runs an action on the configured database. A server may be running on the same database. */
export async function withRuntime<T>(env: Environment, use: (runtime: Runtime) => Promise<T>): Promise<T> {
  const config = readConfig(env);
  const [{ createLog }, { createRuntime }] = await Promise.all([import('../platform/log.ts'), import('../runtime.ts')]);
  const runtime = await createRuntime(config, { log: createLog({ level: 'silent' }) });
  try {
    return await use(runtime);
  } finally {
    await runtime.close();
  }
}

/** A commander command that throws `UsageError` instead of printing its own error and exiting. */
export class CliCommand extends Command {
  override createCommand(name?: string): CliCommand {
    return new CliCommand(name);
  }

  /**
   * Refuses `--password --password-stdin`, where commander would set the password to "--password-stdin". A value that
   * begins with a dash is written as `--password=-value`.
   */
  override parseOptions(args: string[]) {
    const end = args.indexOf('--');
    for (const [i, arg] of args.slice(0, end === -1 ? args.length : end).entries()) {
      const option = this.options.find(({ long, required }) => required && long === arg);
      if (option && /^-./.test(args[i + 1] ?? '')) this.error(`option '${option.flags}' argument missing`);
    }
    return super.parseOptions(args);
  }

  override error(message: string, { code = '' }: ErrorOptions = {}): never {
    const hint = /\.(missing|excess)Arguments?$/.test(code)
      ? `Usage: ${usageOf(this)}`
      : `See: ${pathOf(this).join(' ')} --help`;
    throw new UsageError(`${this.#explain(message, code)}. ${hint}`);
  }

  #explain(message: string, code: string): string {
    if (code === 'commander.unknownCommand')
      return `There is no command "${[...pathOf(this).slice(1), this.args[0]].join(' ')}"`;
    if (code === 'commander.missingMandatoryOptionValue') {
      // Commander looks for missing options first, but a misspelt option is often the reason.
      const unknown = this.args.find((arg) => arg.startsWith('-'));
      const missing = this.options.find((each) => each.mandatory && this.getOptionValue(each.attributeName()) == null);
      return unknown ? `Unknown option '${unknown}'` : `${missing?.long} is required`;
    }
    const text = message
      .replace(/^error: /, '')
      .replace('\n', ' ')
      .replace(/\.$/, '');
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  }
}

/** Lists commands by their full names, at any depth, and marks required options. */
export const helpFormat: Partial<Help> = {
  showGlobalOptions: true,
  visibleCommands: (command) => runnableCommands(command),
  subcommandTerm: (command) => [...pathOf(command).slice(1), ...argumentsOf(command)].join(' '),
  commandUsage: (command) => usageOf(command),
  optionDescription: (option) => `${new Help().optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
};

/** The commands that do something themselves, without the groups around them. */
export const runnableCommands = ({ commands }: Command): Command[] =>
  commands.flatMap((command) => (command.commands.length > 0 ? runnableCommands(command) : [command]));

export const pathOf = (command: Command): string[] => [
  ...(command.parent ? pathOf(command.parent) : []),
  command.name(),
];

const argumentsOf = ({ registeredArguments }: Command): string[] => registeredArguments.map((each) => each.name());

const usageOf = (command: Command): string =>
  [...pathOf(command), ...(command.commands.length > 0 ? ['COMMAND'] : argumentsOf(command)), '[OPTIONS]'].join(' ');
