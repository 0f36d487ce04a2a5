import type { Command } from 'commander';
import type { Runtime } from '../runtime.ts';
import { type Context, withRuntime } from './command.ts';
import { Failure } from './errors.ts';

interface TriggerOptions {
  readonly creator: string;
  readonly amount: string;
  readonly name: string;
  readonly displayName?: string;
  readonly message?: string;
}

export function addTriggerCommands(program: Command, { env, print }: Context): void {
  const trigger = program.command('trigger').description('Make events happen, for development');

  addOptions(trigger.command('tip'))
    .description('Record a tip, as an app would')
    .action((options: TriggerOptions) =>
      withRuntime(env, async (runtime) => {
        const { creator, fields } = await readInput(options, runtime);
        const { tip } = await runtime.tips.record({ ...fields, app: null });
        print(tip, `Tip ${tip.id} of ฿${tip.amount.toFixed(2)} recorded for ${creator.username}.`);
      }),
    );

  addOptions(trigger.command('alert'))
    .description('Send a test alert')
    .action((options: TriggerOptions) =>
      withRuntime(env, async (runtime) => {
        const { creator, fields } = await readInput(options, runtime);
        const { alert } = await runtime.alerts.send(fields);
        print(alert, `Test alert ${alert.id} sent to ${creator.username}.`);
      }),
    );
}

const addOptions = (command: Command): Command =>
  command
    .requiredOption('--creator <U>', 'Username of the creator')
    .option('--amount <BAHT>', 'Amount in baht', '100')
    .option('--name <N>', 'Name of the tipper', 'NAMJAI')
    .option('--display-name <D>', 'Shown in place of the name')
    .option('--message <M>', 'Text of the tip');

/** Checks the options by the rules of the API, then looks for the creator. */
async function readInput(options: TriggerOptions, { config, accounts }: Runtime) {
  const [{ tipFields }, { Type }, { createCheck }] = await Promise.all([
    import('../features/tips/index.ts'),
    import('../platform/http/type.ts'),
    import('../platform/http/validation.ts'),
  ]);
  const { amount, name, message, display_name } = tipFields(config);
  const { displayName = null, message: text = null } = options;
  const typed = { amount: Number(options.amount), name: options.name, message: text, display_name: displayName };
  const problems = createCheck(Type.Object({ amount, name, message, display_name }))(typed);
  if (problems.length > 0)
    throw new Failure(
      'validation_failed',
      problems.map(({ field, message }) => `--${field?.replace('_', '-')} ${message}`).join('; '),
    );
  const creator = await accounts.byUsername(options.creator);
  const fields = { creatorId: creator.id, amount: typed.amount, name: typed.name, message: text, displayName };
  return { creator, fields };
}
