import type { Command } from 'commander';
import { type Context, withRuntime } from './command.ts';
import { UsageError } from './errors.ts';
import { addAppLists } from './lists.ts';

interface NewApp {
  readonly name: string;
  readonly redirectUri?: string[];
  readonly public?: boolean;
  readonly owner?: string;
  readonly description?: string;
  readonly homepage?: string;
  readonly privacy?: string;
}

export function addAppCommands(program: Command, context: Context): void {
  const app = program.command('app').description('Manage apps');
  addAppLists(app, context);
  addApp(app, context);
  addPause(app, context, 'suspend', 'Pause an app: its tokens, sockets and deliveries');
  addPause(app, context, 'restore', 'Undo app suspend');
}

function addApp(group: Command, { env, print }: Context): void {
  group
    .command('add')
    .description('Register an app')
    .requiredOption('--name <N>', 'Name shown to creators')
    .option('--redirect-uri <URL...>', 'Where the browser returns to; several can be given; a public app needs none')
    .option('--owner <U>', 'Username of the developer who owns it')
    .option('--public', 'Runs on people’s own machines and gets no secret')
    .option('--description <D>', 'A few words that creators see')
    .option('--homepage <URL>', 'Its homepage')
    .option('--privacy <URL>', 'Its privacy page')
    .action(({ redirectUri: redirectUris = [], owner, public: publicApp = false, ...details }: NewApp) =>
      withRuntime(
        env,
        async ({ accounts, apps }) => {
          if (redirectUris.length === 0 && !publicApp) throw new UsageError('--redirect-uri is missing.');
          const ownerId = owner === undefined ? null : (await accounts.byUsername(owner)).id;
          const app = { ...details, redirectUris, ownerId };
          if (publicApp) {
            const { clientId, name } = await apps.addPublic(app);
            print({ client_id: clientId, client_secret: null }, `App ${name} registered.\n  client_id  ${clientId}`);
            return;
          }
          const { clientId, clientSecret, name } = await apps.add(app);
          print(
            { client_id: clientId, client_secret: clientSecret },
            `App ${name} registered. The secret is shown only now.\n  client_id      ${clientId}\n  client_secret  ${clientSecret}`,
          );
        },
        { create: true },
      ),
    );
}

function addPause(group: Command, { env, print }: Context, action: 'suspend' | 'restore', description: string): void {
  group
    .command(action)
    .description(description)
    .argument('<ID>', 'The app’s client id')
    .action((id: string) =>
      withRuntime(env, async ({ apps, grants, clock }) => {
        const app = await apps.byId(id);
        const suspended = action === 'suspend';
        await grants.suspend('app', id, suspended ? clock() : null);
        print({ client_id: id, suspended }, `App ${app.name} ${suspended ? 'suspended' : 'restored'}.`);
      }),
    );
}
