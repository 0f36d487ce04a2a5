import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Runtime } from '../runtime.ts';
import { type Context, withRuntime } from './command.ts';
import { Failure, UsageError } from './errors.ts';
import { createForward, describeForwarded, readForwardUrl } from './forward.ts';
import { addDatabaseOption, addServerOption } from './login.ts';
import { stopSignal } from './terminal.ts';

const pollMs = 250;

interface ListenOptions {
  readonly server?: string;
  readonly creator?: string;
  readonly client?: string;
  readonly forwardTo: string;
}

export function addListenCommand(program: Command, context: Context): void {
  const command = addServerOption(program.command('listen'))
    .description('Forward an app’s webhooks to an address of your own, for development')
    .requiredOption('--forward-to <URL>', 'Where they are posted, signed');
  addDatabaseOption(command, '--creator <U>', 'username of the creator');
  addDatabaseOption(command, '--client <ID>', 'the app; its grant needs events.subscribe')
    .addHelpText(
      'after',
      '\nAt a server the app is that of NAMJAI_CLIENT_ID and NAMJAI_CLIENT_SECRET. Its webhooks come as they would to a\npublic address, and are tried again when your program fails.',
    )
    .action((options: ListenOptions) => listen(options, context));
}

function listen(options: ListenOptions, context: Context): Promise<void> {
  const { creator, client } = options;
  if (creator === undefined && client === undefined) return listenAtServer(options, context);
  if (creator === undefined || client === undefined)
    throw new UsageError('--creator and --client need each other. See: namjai listen --help');
  return withRuntime(context.env, (runtime) => listenToLog(runtime, { ...options, creator, client }, context));
}

async function listenAtServer({ server: typed, forwardTo }: ListenOptions, context: Context): Promise<void> {
  const { env, json, print, note, terminal } = context;
  const [{ createLogins, readServer }, { runListener }] = await Promise.all([
    import('./logins.ts'),
    import('./listener-client.ts'),
  ]);
  const url = readForwardUrl(forwardTo);
  const { NAMJAI_CLIENT_ID: clientId, NAMJAI_CLIENT_SECRET: clientSecret } = env;
  if (!clientId || !clientSecret)
    throw new Failure(
      'client_missing',
      'Set NAMJAI_CLIENT_ID and NAMJAI_CLIENT_SECRET to the credentials of your app; its page in the developer portal has them.',
    );
  const server = typed === undefined ? (await createLogins(env).find(undefined))?.server : readServer(typed);
  if (server === undefined)
    throw new Failure(
      'server_missing',
      'Say which server: namjai listen --server URL, or sign in with: namjai login --server URL',
    );
  const forward = createForward(url);
  let shownSecret = '';
  try {
    await runListener({
      server,
      clientId,
      clientSecret,
      forward,
      signal: stopSignal(),
      onReady({ endpointId, secret }) {
        const object = { listening: true, server, client_id: clientId, endpoint_id: endpointId, forward_to: url.href };
        if (json) print({ ...object, secret }, '');
        else if (secret === shownSecret) note('Listening again. What happened in between was not forwarded.');
        else {
          const lines = [
            `Webhooks of ${clientId} at ${server} go to ${url.href}`,
            `Check their signatures with ${terminal.style('bold', secret)}`,
          ];
          print({}, lines.join('\n'));
          note('Press Ctrl-C to stop.');
        }
        shownSecret = secret;
      },
      onForwarded(deliveryId, body, answer) {
        const { object, text } = describeForwarded(body, answer, terminal);
        print({ ...object, delivery_id: deliveryId }, text);
      },
      onWait(why, waitMs) {
        if (json) print({ listening: false, reason: why, retry_ms: waitMs }, '');
        else note(`Not connected (${why}). Trying again in ${Math.ceil(waitMs / 1000)} s.`);
      },
    });
  } finally {
    await forward.close();
  }
}

/**
 * Polls the event log in the database, so it sees events that any server on the same database records. A forwarded
 * event has the headers and the body of a webhook, but it is sent only once.
 */
async function listenToLog(
  { accounts, apps, grants, events }: Runtime,
  { creator: username, client, forwardTo }: { creator: string; client: string; forwardTo: string },
  { print, terminal }: Context,
): Promise<void> {
  const url = readForwardUrl(forwardTo);
  const creator = await accounts.byUsername(username);
  const app = await apps.byId(client);
  const mayListen = async () =>
    (await grants.connections(creator.id)).some(
      ({ client_id, scope }) => client_id === app.id && scope.split(' ').includes('events.subscribe'),
    );
  if (!(await mayListen()))
    throw new Failure('grant_unusable', `${app.name} has no grant of ${creator.username} with events.subscribe.`);
  const { newWebhookSecret, standardFormat, webhookKey } = await import('../features/webhooks/index.ts');
  const secret = newWebhookSecret();
  const key = webhookKey(secret);
  const stopped = stopSignal();
  const forward = createForward(url);
  try {
    let position = (await events.head(creator.id))?.sequence ?? 0;
    print(
      { listening: true, creator: creator.username, forward_to: url.href, secret },
      `Events of ${creator.username} go to ${url.href}, signed with\n${secret}\nPress Ctrl-C to stop.`,
    );
    while (!stopped.aborted && (await mayListen())) {
      const found = await events.after(creator.id, position, 100);
      for (const { body, sequence } of found) {
        if (stopped.aborted) break;
        const answer = await forward(standardFormat({ event_id: JSON.parse(body).id, body }, [key], Date.now()));
        position = sequence;
        const { object, text } = describeForwarded(body, answer, terminal);
        print(object, text);
      }
      if (found.length === 0) await sleep(pollMs, undefined, { signal: stopped }).catch(() => {});
    }
  } finally {
    await forward.close();
  }
}
