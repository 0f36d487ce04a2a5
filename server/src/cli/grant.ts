import type { Command } from 'commander';
import { type Context, withRuntime } from './command.ts';
import { Failure } from './errors.ts';

interface Parties {
  readonly creator: string;
  readonly client: string;
}

export function addGrantCommands(program: Command, context: Context): void {
  const grant = program.command('grant').description('Manage what apps may do for creators');
  addGrant(grant, context);
  addRevoke(grant, context);
}

const addParties = (command: Command): Command =>
  command
    .requiredOption('--creator <U>', 'Username of the creator')
    .requiredOption('--client <ID>', 'The app’s client id');

function addGrant(group: Command, { env, print }: Context): void {
  addParties(group.command('add'))
    .description('Issue tokens without the browser, for tests and own tools')
    .requiredOption('--scope <SCOPES>', 'Scopes, separated by spaces; may be empty')
    .action(({ creator: username, client, scope }: Parties & { scope: string }) =>
      withRuntime(env, async ({ accounts, apps, grants }) => {
        const creator = await accounts.byUsername(username);
        const app = await apps.byId(client);
        const tokens = await grants.addByOperator(creator.id, app.id, scope);
        print(
          tokens,
          [
            `${app.name} may act for ${creator.username}: ${tokens.scope || 'GET /v1/me only'}`,
            '',
            'access_token',
            tokens.access_token,
            '',
            'refresh_token',
            tokens.refresh_token,
            '',
            `The access token lives for ${tokens.expires_in} seconds.`,
          ].join('\n'),
        );
      }),
    );
}

function addRevoke(group: Command, { env, print }: Context): void {
  addParties(group.command('revoke'))
    .description('End what an app may do for a creator, at once')
    .action(({ creator: username, client }: Parties) =>
      withRuntime(env, async ({ accounts, apps, grants }) => {
        const creator = await accounts.byUsername(username);
        const app = await apps.byId(client);
        if (!(await grants.revoke(creator.id, app.id, 'operator')))
          throw new Failure('grant_unknown', `${app.name} has no live grant for ${creator.username}.`);
        print({ revoked: true }, `${app.name} can no longer act for ${creator.username}.`);
      }),
    );
}
