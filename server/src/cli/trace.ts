import type { Command } from 'commander';
import type { TraceView } from '../features/trace/index.ts';
import { type Context, withRuntime } from './command.ts';
import { UsageError } from './errors.ts';
import { addServerOption } from './login.ts';
import { plainText } from './terminal.ts';

interface TraceOptions {
  readonly server?: string;
  readonly creator?: string;
}

export function addTraceCommand(program: Command, context: Context): void {
  addServerOption(program.command('trace'))
    .argument('<ID>', 'Id of a tip; beside the server’s database also of an event')
    .description('Tell what happened to a tip, what has not, and why')
    .option('--creator <U>', 'Username of the creator, beside the server’s database; tells everything')
    .action((id: string, options: TraceOptions) => trace(id, options, context));
}

async function trace(id: string, { server, creator }: TraceOptions, context: Context): Promise<void> {
  if (server !== undefined && creator !== undefined)
    throw new UsageError("Option '--creator <U>' cannot be used with '--server <URL>'. See: namjai trace --help");
  const { outsideView, toTrace, traceLines } = await import('../features/trace/index.ts');
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
  const { createLogins, readServer } = await import('./logins.ts');
  const logins = createLogins(context.env);
  const login = await logins.require(server === undefined ? undefined : readServer(server));
  const found = await logins.call(login, (client) => client.tips.trace(id));
  print(found, outsideView(found));
}
