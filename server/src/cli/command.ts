import { existsSync } from 'node:fs';
import { Command, type ErrorOptions, Help, InvalidArgumentError } from 'commander';
import { type Config, type Environment, readConfig } from '../config.ts';
import type { Runtime } from '../runtime.ts';
import { Failure, UsageError } from './errors.ts';
import type { Terminal } from './terminal.ts';

/** What the actions of all commands share. */
export interface Context {
  readonly env: Environment;
  readonly json: boolean;
  /** Prints the object on one line with `--json`, otherwise the text. */
  print(object: object, text: string): void;
  /** Tells people how it goes, on standard error. With `--json` the object on one line, or nothing. */
  note(text: string, object?: object): void;
  readonly terminal: Terminal;
}

/**
 * Runs an action on the configured database. A server may be running on the same database. Only with `create` is an
 * embedded database made that is not there: a command without the settings of the server would look into an empty one.
 */
export async function withRuntime<T>(
  env: Environment,
  use: (runtime: Runtime) => Promise<T>,
  { create = false }: { readonly create?: boolean } = {},
): Promise<T> {
  const config = readConfig(env);
  if (!create) requireDatabase(config);
  const [{ createLog }, { operatorActor }, { createRuntime }] = await Promise.all([
    import('../platform/log.ts'),
    import('../platform/origin.ts'),
    import('../runtime.ts'),
  ]);
  const runtime = await createRuntime(config, { log: createLog({ level: 'silent' }) });
  try {
    return await runtime.origins.run(
      () => operatorActor(env),
      () => use(runtime),
    );
  } finally {
    await runtime.close();
  }
}

function requireDatabase({ database }: Config): void {
  if (database.engine !== 'sqlite' || existsSync(database.file)) return;
  throw new Failure(
    'no_database',
    `There is no database ${database.file}. Set DATABASE_URL as the server has it (namjai check-config shows it), or start the server first: it makes one.`,
  );
}

/** Reads an option that is a number of rows. */
export const limitUpTo =
  (most: number) =>
  (text: string): number => {
    const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (limit < 1 || limit > most) throw new InvalidArgumentError(`It must be a whole number from 1 to ${most}.`);
    return limit;
  };

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
  commands.flatMap((command) => [...(isGroup(command) ? [] : [command]), ...runnableCommands(command)]);

/** A command that takes arguments does something itself, even if there are commands below it. */
const isGroup = ({ commands, registeredArguments }: Command): boolean =>
  commands.length > 0 && registeredArguments.length === 0;

export const pathOf = (command: Command): string[] => [
  ...(command.parent ? pathOf(command.parent) : []),
  command.name(),
];

const argumentsOf = ({ registeredArguments }: Command): string[] => registeredArguments.map((each) => each.name());

const usageOf = (command: Command): string =>
  [...pathOf(command), ...(isGroup(command) ? ['COMMAND'] : argumentsOf(command)), '[OPTIONS]'].join(' ');
