import type { KeyObject } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { StoredEvent } from '../features/events/index.ts';
import type { Runtime } from '../runtime.ts';
import { type Context, withRuntime } from './command.ts';
import { Failure } from './errors.ts';

const pollMs = 250;
const forwardTimeoutMs = 15_000;

interface ListenOptions {
  readonly creator: string;
  readonly client: string;
  readonly forwardTo: string;
}

export function addListenCommand(program: Command, context: Context): void {
  program
    .command('listen')
    .description('Forward events to an address as webhooks would, for development')
    .requiredOption('--creator <U>', 'Username of the creator')
    .requiredOption('--client <ID>', 'The app that listens; its grant needs events.subscribe')
    .requiredOption('--forward-to <URL>', 'Where events are posted, signed')
    .action((options: ListenOptions) => withRuntime(context.env, (runtime) => listen(runtime, options, context)));
}

/**
 * Polls the event log in the database, so it sees events that any server on the same database records. A forwarded
 * event has the headers and the body of a webhook, but it is sent only once, and any address is allowed, loopback
 * included, because the operator chose it.
 */
async function listen(
  { accounts, apps, grants, events }: Runtime,
  { creator: username, client, forwardTo }: ListenOptions,
  { print }: Context,
): Promise<void> {
  const url = readUrl(forwardTo);
  const creator = await accounts.byUsername(username);
  const app = await apps.byId(client);
  const mayListen = async () =>
    (await grants.connections(creator.id)).some(
      ({ client_id, scope }) => client_id === app.id && scope.split(' ').includes('events.subscribe'),
    );
  if (!(await mayListen()))
    throw new Failure('grant_unusable', `${app.name} has no grant of ${creator.username} with events.subscribe.`);
  const { newWebhookSecret, webhookKey } = await import('../features/webhooks/index.ts');
  const secret = newWebhookSecret();
  const key = webhookKey(secret);
  const stopped = abortOnSignal();
  let position = (await events.head(creator.id))?.sequence ?? 0;
  print(
    { listening: true, creator: creator.username, forward_to: url.href, secret },
    `Events of ${creator.username} go to ${url.href}, signed with\n${secret}\nPress Ctrl-C to stop.`,
  );
  while (!stopped.aborted && (await mayListen())) {
    const found = await events.after(creator.id, position, 100);
    for (const event of found) {
      if (stopped.aborted) break;
      const { id, type } = JSON.parse(event.body);
      const answer = await forward(url, key, id, event);
      position = event.sequence;
      print({ id, type, sequence: event.sequence, ...answer }, `${type} ${id} → ${answer.status ?? answer.error}`);
    }
    if (found.length === 0) await sleep(pollMs, undefined, { signal: stopped }).catch(() => {});
  }
}

function readUrl(typed: string): URL {
  if (URL.canParse(typed) && /^https?:$/.test(new URL(typed).protocol)) return new URL(typed);
  throw new Failure('url_invalid', `"${typed}" is not an address that begins with http:// or https://.`);
}

async function forward(url: URL, key: KeyObject, id: string, { body }: StoredEvent) {
  const { standardFormat } = await import('../features/webhooks/index.ts');
  try {
    const answer = await fetch(url, {
      method: 'POST',
      ...standardFormat({ event_id: id, body }, [key], Date.now()),
      redirect: 'manual',
      signal: AbortSignal.timeout(forwardTimeoutMs),
    });
    await answer.body?.cancel();
    return { status: answer.status, error: null };
  } catch (error) {
    const { cause, message } = error instanceof Error ? error : new Error(String(error));
    return { status: null, error: cause instanceof Error ? cause.message || message : message };
  }
}

function abortOnSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}
