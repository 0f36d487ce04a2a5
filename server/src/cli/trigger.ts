import type { Command } from 'commander';
import type { Client } from '../../../sdk/src/index.ts';
import type { Runtime } from '../runtime.ts';
import { type Context, withRuntime } from './command.ts';
import { Failure, optionProblems } from './errors.ts';
import { addDatabaseOption, addServerOption } from './login.ts';

interface TriggerOptions {
  readonly creator?: string;
  readonly server?: string;
  readonly amount: string;
  readonly name: string;
  readonly displayName?: string;
  readonly message?: string;
}

/** The tip or alert as the API takes it. */
type Typed = ReturnType<typeof typedFields>;

export function addTriggerCommands(program: Command, { env, print }: Context): void {
  const trigger = program.command('trigger').description('Make events happen, for development');

  addOptions(trigger.command('tip'))
    .description('Record a tip, as an app would')
    .action((options: TriggerOptions) =>
      atServerOrDirectly(
        options,
        async (client, typed, who) => {
          const tip = await client.tips.create(typed);
          print(tip, `Tip ${tip.id} of ฿${tip.amount.toFixed(2)} recorded for ${who}.`);
        },
        async (runtime) => {
          const { creator, fields } = await readInput(options, runtime);
          const { tip } = await runtime.tips.record({ ...fields, app: null });
          print(tip, `Tip ${tip.id} of ฿${tip.amount.toFixed(2)} recorded for ${creator.username}.`);
        },
      ),
    );

  addOptions(trigger.command('alert'))
    .description('Send a test alert')
    .action((options: TriggerOptions) =>
      atServerOrDirectly(
        options,
        async (client, typed, who) => {
          const alert = await client.alerts.send(typed);
          print(alert, `Test alert ${alert.id} sent to ${who}.`);
        },
        async (runtime) => {
          const { creator, fields } = await readInput(options, runtime);
          const { alert } = await runtime.alerts.send(fields);
          print(alert, `Test alert ${alert.id} sent to ${creator.username}.`);
        },
      ),
    );

  async function atServerOrDirectly(
    options: TriggerOptions,
    atServer: (client: Client, typed: Typed, who: string) => Promise<void>,
    onDatabase: (runtime: Runtime) => Promise<void>,
  ): Promise<void> {
    if (options.creator !== undefined) return withRuntime(env, onDatabase);
    const { createLogins } = await import('./logins.ts');
    const logins = createLogins(env);
    const login = await logins.require(options.server);
    await logins.call(login, (client) => atServer(client, typedFields(options), login.username));
  }
}

const addOptions = (command: Command): Command =>
  addDatabaseOption(addServerOption(command), '--creator <U>', 'username of the creator')
    .option('--amount <BAHT>', 'Amount in baht', '100')
    .option('--name <N>', 'Name of the tipper', 'NAMJAI')
    .option('--display-name <D>', 'Shown in place of the name')
    .option('--message <M>', 'Text of the tip');

function typedFields({ amount, name, displayName, message }: TriggerOptions) {
  return { amount: Number(amount), name, display_name: displayName ?? null, message: message ?? null };
}

/** Checks the options by the rules of the API, then looks for the creator. */
async function readInput(options: TriggerOptions, { config, accounts }: Runtime) {
  const [{ tipFields }, { Type }, { createCheck }] = await Promise.all([
    import('../features/tips/index.ts'),
    import('../platform/http/type.ts'),
    import('../platform/http/validation.ts'),
  ]);
  const { amount, name, message, display_name } = tipFields(config);
  const typed = typedFields(options);
  const problems = createCheck(Type.Object({ amount, name, message, display_name }))(typed);
  if (problems.length > 0) throw new Failure('validation_failed', optionProblems(problems));
  const creator = await accounts.byUsername(options.creator ?? '');
  const fields = {
    creatorId: creator.id,
    amount: typed.amount,
    name: typed.name,
    message: typed.message,
    displayName: typed.display_name,
  };
  return { creator, fields };
}
