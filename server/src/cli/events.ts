import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { StreamEvent } from '../../../sdk/src/index.ts';
import { type Context, withRuntime } from './command.ts';
import { UsageError } from './errors.ts';
import { addDatabaseOption, addServerOption } from './login.ts';
import { clockTime, cut, plainText, stopSignal, type Terminal } from './terminal.ts';

interface EventsOptions {
  readonly server?: string;
  readonly creator?: string;
  readonly after?: string;
}

const pollMs = 250;

export function addEventsCommand(program: Command, context: Context): void {
  const command = addServerOption(program.command('events')).description(
    'Print events as they happen: your own, where you are signed in',
  );
  addDatabaseOption(command, '--creator <U>', 'username of the creator')
    .option('--after <N>', 'Begin after this sequence; without it only new events are printed')
    .action((options: EventsOptions) => events(options, context));
}

async function events({ server, creator, after }: EventsOptions, context: Context): Promise<void> {
  if (after !== undefined && !/^\d{1,15}$/.test(after))
    throw new UsageError('--after must be a sequence, such as 41. See: namjai events --help');
  const position = after === undefined ? undefined : Number(after);
  if (creator !== undefined) await followLog(creator, position, context);
  else await followServer(server, position, context);
}

async function followServer(server: string | undefined, after: number | undefined, context: Context): Promise<void> {
  const { createLogins, explain, signInEnded } = await import('./logins.ts');
  const logins = createLogins(context.env);
  const login = await logins.require(server);
  const stopped = stopSignal();
  let [position, wasLive] = [after, false];
  await logins.call(login, async (client) => {
    const ended = Promise.withResolvers<void>();
    const connection = client.events.connect({
      after,
      onEvent(event) {
        position = event.sequence;
        context.print(event, eventLine(event, context.terminal));
      },
      onReset: ({ oldest }) =>
        context.note(
          `Some events after ${position} are no longer kept${oldest === null ? '' : ` (the oldest is ${oldest})`}.`,
        ),
      onStatus(status, { error, retryMs = 0 }) {
        if (status === 'live') {
          const first = `Events of ${login.username} at ${login.server}. Press Ctrl-C to stop.`;
          context.note(wasLive ? 'Connected again.' : first);
          wasLive = true;
        }
        if (status === 'waiting')
          context.note(`The connection is lost. Trying again in ${Math.ceil(retryMs / 1000)} s.`);
        if (status !== 'ended') return;
        const cause = error instanceof Error ? error.cause : undefined;
        ended.reject(cause === undefined ? signInEnded(login.server) : explain(cause, login));
      },
    });
    stopped.addEventListener('abort', () => ended.resolve());
    await ended.promise.finally(() => connection.close());
  });
  if (position !== undefined) context.note(`Go on later with: namjai events --after ${position}`);
}

async function followLog(username: string, after: number | undefined, context: Context): Promise<void> {
  const stopped = stopSignal();
  await withRuntime(context.env, async ({ accounts, events: log }) => {
    const { id } = await accounts.byUsername(username);
    let position = after ?? (await log.head(id))?.sequence ?? 0;
    context.note(`Events of ${username}. Press Ctrl-C to stop.`);
    while (!stopped.aborted) {
      const found = await log.after(id, position, 100);
      for (const { body, sequence } of found) {
        const event: StreamEvent = JSON.parse(body);
        context.print(event, eventLine(event, context.terminal));
        position = sequence;
      }
      if (found.length === 0) await sleep(pollMs, undefined, { signal: stopped }).catch(() => {});
    }
    context.note(`Go on later with: namjai events --creator ${username} --after ${position}`);
  });
}

/** `12:34:56  #41 tip.created  ฿99.00 from SOMCHAI: hello` */
export function eventLine(event: StreamEvent, { columns, style }: Terminal): string {
  const start = `${clockTime(new Date(event.created_at))}  #${Number(event.sequence)} `;
  const type = plainText(event.type);
  const words = summary(event.data);
  const room = columns - start.length - type.length - 2;
  return `${style('dim', start)}${style('bold', type)}${words ? `  ${cut(plainText(words), room)}` : ''}`;
}

function summary(data: object): string {
  const fields: Record<string, unknown> = { ...data };
  const shown = fields.tip ?? fields.alert;
  if (shown !== null && typeof shown === 'object') {
    const { amount, name, display_name, message }: Record<string, unknown> = { ...shown };
    const from = `฿${Number(amount).toFixed(2)} from ${display_name ?? name}`;
    return typeof message === 'string' && message !== '' ? `${from}: ${message}` : from;
  }
  const { goal, tip_id, alert_id, reason } = fields;
  if (goal !== null && typeof goal === 'object' && 'title' in goal) return String(goal.title);
  return [tip_id, alert_id, reason].filter((value) => typeof value === 'string').join(' ');
}
