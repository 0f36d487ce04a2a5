import type { Command } from 'commander';
import type { TraceView } from '../features/trace/index.ts';
import { type Context, withRuntime } from './command.ts';
import { addDatabaseOption, addServerOption } from './login.ts';
import { plainText } from './terminal.ts';

interface TraceOptions {
  readonly server?: string;
  readonly creator?: string;
}

export function addTraceCommand(program: Command, context: Context): void {
  const command = addServerOption(program.command('trace'))
    .argument('<ID>', 'Id of a tip; directly on the server’s database also of an event')
    .description('Tell what happened to a tip, what has not, and why');
  addDatabaseOption(command, '--creator <U>', 'username of the creator; tells everything').action(
    (id: string, options: TraceOptions) => trace(id, options, context),
  );
}

async function trace(id: string, { server, creator }: TraceOptions, context: Context): Promise<void> {
  const { viewOfApiTrace, toTrace, traceLines } = await import('../features/trace/index.ts');
  const print = (object: object, view: TraceView): void =>
    context.print(object, traceLines(view).map(plainText).join('\n'));
  if (creator !== undefined)
    return withRuntime(context.env, async ({ accounts, traces }) => {
      const { id: creatorId } = await accounts.byUsername(creator);
      const view = id.startsWith('evt_')
        ? await traces.ofEvent(creatorId, id, 'operator')
        : await traces.ofTip(creatorId, id, 'operator');
      print({ ...toTrace(view), receivers: view.receivers }, view);
    });
  const { createLogins } = await import('./logins.ts');
  const logins = createLogins(context.env);
  const login = await logins.require(server);
  const found = await logins.call(login, (client) => client.tips.trace(id));
  print(found, viewOfApiTrace(found));
}
