import { parseArgs } from 'node:util';
import manifest from '../../package.json' with { type: 'json' };
import { ConfigError, type Environment } from '../config.ts';
import { AccountError } from '../features/accounts/index.ts';
import { AppError } from '../features/apps/index.ts';
import { ScopeError } from '../features/oauth/index.ts';
import { FutureSchema } from '../platform/db/migrate.ts';
import { MoveError } from '../platform/db/move-error.ts';
import { appCommands } from './app.ts';
import { backup } from './backup.ts';
import { checkConfig } from './check-config.ts';
import { type Command, Failure, parseOptions, UsageError } from './command.ts';
import { creatorCommands } from './creator.ts';
import { demoRemove } from './demo.ts';
import { grantCommands } from './grant.ts';
import { commandHelp, groupHelp, overview } from './help.ts';
import { keysRotate } from './keys.ts';
import { listen } from './listen.ts';
import { migrateCommand } from './migrate.ts';
import { openapi } from './openapi.ts';
import { serveCommand } from './serve.ts';
import { triggerCommands } from './trigger.ts';

const commands: readonly Command[] = [
  serveCommand,
  migrateCommand,
  checkConfig,
  openapi,
  ...creatorCommands,
  ...appCommands,
  ...grantCommands,
  keysRotate,
  ...triggerCommands,
  listen,
  backup,
  demoRemove,
];

const version = `namjai ${manifest.version}`;

/** The words of a command, without its arguments: `creator add`. */
const nameOf = ({ usage }: Command): string[] => usage.split(' ').filter((word) => /^[a-z-]+$/.test(word));

export async function main(argv: string[], env: Environment): Promise<void> {
  const json = argv.includes('--json');
  try {
    const command = find(argv);
    if (!command) {
      const asked = argv.filter((word) => !word.startsWith('-'));
      if (asked.length === 0 && argv.includes('--version')) return print(version);
      if (asked.length === 0 || asked[0] === 'help') return print(overview(commands));
      const group = asked.length === 1 ? commands.filter((each) => nameOf(each)[0] === asked[0]) : [];
      if (group.length > 0) return print(groupHelp(group));
      throw new UsageError(`There is no command "${asked.slice(0, 2).join(' ')}". See: namjai --help`);
    }
    const rest = argv.slice(nameOf(command).length);
    if (rest.includes('--help') || rest.includes('-h')) return print(commandHelp(command));
    const call = parse(command, rest);
    const answer = await command.run({ ...call, env });
    if (answer) print(json ? JSON.stringify(answer.json) : answer.text);
  } catch (error) {
    fail(error, json);
  }
}

/** The longest name wins. */
function find(argv: readonly string[]): Command | undefined {
  return commands
    .filter((command) => nameOf(command).every((word, i) => argv[i] === word))
    .sort((a, b) => nameOf(b).length - nameOf(a).length)[0];
}

function parse(command: Command, args: string[]) {
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({
      args: repeatFlags(args, command.options),
      options: { ...parseOptions(command.options), json: { type: 'boolean' } },
      allowPositionals: true,
    });
  } catch (error) {
    // Node's own words go on about positional arguments, over several lines.
    const [problem = ''] = (error instanceof Error ? error.message : String(error)).split(/\. |\n/);
    throw new UsageError(`${problem.replace(/\.$/, '')}. See: namjai ${nameOf(command).join(' ')} --help`);
  }
  const wanted = command.usage.split(' ').filter((word) => /^[A-Z]+$/.test(word));
  if (parsed.positionals.length !== wanted.length) throw new UsageError(`Usage: namjai ${command.usage}`);
  const missing = Object.entries(command.options ?? {}).find(
    ([name, { required }]) => required && parsed.values[name] === undefined,
  );
  if (missing) throw new UsageError(`--${missing[0]} is required. See: namjai ${nameOf(command).join(' ')} --help`);
  return parsed;
}

/** Reads `--redirect-uri A B` as `--redirect-uri A --redirect-uri B`. */
function repeatFlags(args: readonly string[], options: Command['options'] = {}): string[] {
  let flag: string | undefined;
  return args.flatMap((arg, i) => {
    if (arg.startsWith('-')) {
      flag = options[arg.slice(2)]?.multiple ? arg : undefined;
      return [arg];
    }
    return flag !== undefined && args[i - 1] !== flag ? [flag, arg] : [arg];
  });
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);

function fail(error: unknown, json: boolean): void {
  const { code, lines } = describe(error);
  process.exitCode = error instanceof UsageError ? 2 : 1;
  process.stderr.write(
    json
      ? `${JSON.stringify({ error: { code, message: lines.join('\n') } })}\n`
      : `${lines.map((line) => `namjai: ${line}`).join('\n')}\n`,
  );
}

function describe(error: unknown): { code: string; lines: readonly string[] } {
  if (error instanceof UsageError) return { code: 'usage', lines: [error.message] };
  if (error instanceof ConfigError) return { code: 'config_invalid', lines: error.problems };
  if (
    error instanceof Failure ||
    error instanceof MoveError ||
    error instanceof AccountError ||
    error instanceof AppError ||
    error instanceof ScopeError
  )
    return { code: error.code, lines: [error.message] };
  if (error instanceof FutureSchema) return { code: 'future_schema', lines: [error.message] };
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return { code: 'port_in_use', lines: [`${message}. Another server uses this port: stop it, or set PORT.`] };
  if (code === 'EACCES' && message.startsWith('listen'))
    return { code: 'port_refused', lines: [`${message}. Ports below 1024 need root: set PORT to another.`] };
  return { code: 'failed', lines: [error instanceof Error ? error.message : String(error)] };
}
