import { type Command, CommanderError } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import type { Environment } from '../config.ts';
import { addAppCommands } from './app.ts';
import { addAuditCommand } from './audit.ts';
import { addBackupCommand } from './backup.ts';
import { addCheckConfigCommand } from './check-config.ts';
import { CliCommand, type Context, helpFormat } from './command.ts';
import { addCreatorCommands } from './creator.ts';
import { addDemoCommands } from './demo.ts';
import { describeError, UsageError } from './errors.ts';
import { addEventsCommand } from './events.ts';
import { addGrantCommands } from './grant.ts';
import { addKeysCommands } from './keys.ts';
import { addListenCommand } from './listen.ts';
import { addLoginCommands } from './login.ts';
import { addMigrateCommand } from './migrate.ts';
import { addOpenapiCommand } from './openapi.ts';
import { addRehearseCommand } from './rehearse.ts';
import { addSecretKeyCommands } from './secret-key.ts';
import { addServeCommand } from './serve.ts';
import { createTerminal, jsonLine, type Output, withoutControls, withStylesOnly } from './terminal.ts';
import { addTraceCommand } from './trace.ts';
import { addTriggerCommands } from './trigger.ts';

/** In the order of the help. Actions import what they need themselves, so that help and usage errors come at once. */
const commands: readonly ((program: Command, context: Context) => void)[] = [
  addServeCommand,
  addMigrateCommand,
  addCheckConfigCommand,
  addOpenapiCommand,
  addCreatorCommands,
  addAppCommands,
  addGrantCommands,
  addKeysCommands,
  addSecretKeyCommands,
  addAuditCommand,
  addLoginCommands,
  addTriggerCommands,
  addEventsCommand,
  addTraceCommand,
  addListenCommand,
  addRehearseCommand,
  addBackupCommand,
  addDemoCommands,
];

interface ProcessStreams {
  readonly env: Environment;
  readonly stdout: Output;
  readonly stderr: Output;
}

/** Runs one command and answers the exit code: 0, 1 for a failure, 2 for wrong usage. */
export async function main(
  argv: readonly string[],
  { env, stdout, stderr }: ProcessStreams = process,
): Promise<number> {
  const json = argv.includes('--json');
  const terminal = createTerminal(stdout, env);
  // Whatever a command prints may hold what others wrote.
  const plain = terminal.colours ? withStylesOnly : withoutControls;
  const print: Context['print'] = (object, text) => void stdout.write(`${json ? jsonLine(object) : plain(text)}\n`);
  const note: Context['note'] = (text, object) => {
    if (!json) stderr.write(`${plain(text)}\n`);
    else if (object) stderr.write(`${jsonLine(object)}\n`);
  };
  try {
    await createProgram({ env, json, print, note, terminal }, stdout).parseAsync(argv, { from: 'user' });
    return 0;
  } catch (error) {
    // Usage errors are no `CommanderError` here: one only ends the program after its help or version was printed.
    if (error instanceof CommanderError) return 0;
    const { code, lines, trace } = describeError(error, env.LOG_LEVEL === 'debug' || env.LOG_LEVEL === 'trace');
    const text = [...lines, ...trace]
      .map(withoutControls)
      .map((line) => `namjai: ${line}`)
      .join('\n');
    stderr.write(`${json ? jsonLine({ error: { code, message: lines.join('\n') } }) : text}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

export function createProgram(context: Context, stdout: Output): Command {
  const writeOut = (text: string) => stdout.write(text);
  const program = new CliCommand('namjai')
    .description('Namjai น้ำใจ: tips for creators, with an open developer API.')
    .version(`namjai ${manifest.version}`, '--version', 'Print the version')
    .option('--json', 'Print one object on one line')
    .configureHelp(helpFormat)
    .helpOption('-h, --help', 'Print this help')
    .addHelpText(
      'after',
      '\nEvery command takes --help.\nSettings come from environment variables; namjai check-config shows them all.',
    )
    .exitOverride()
    // A group without a command prints its help. Commander sends that to standard error, but it is what was asked for.
    .configureOutput({ writeOut, writeErr: writeOut });
  for (const addCommands of commands) addCommands(program, context);
  return program;
}
