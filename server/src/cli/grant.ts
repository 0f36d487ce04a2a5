import { type Command, Failure, text, withRuntime } from './command.ts';

const parties = {
  creator: { type: 'string', value: 'U', help: 'Username of the creator', required: true },
  client: { type: 'string', value: 'ID', help: 'The app’s client id', required: true },
} as const;

const add: Command = {
  usage: 'grant add',
  summary: 'Issue tokens without the browser, for tests and own tools',
  options: {
    ...parties,
    scope: { type: 'string', value: '"…"', help: 'Scopes, separated by spaces; may be empty', required: true },
  },
  run: ({ values, env }) =>
    withRuntime(env, async ({ accounts, apps, grants }) => {
      const creator = await accounts.byUsername(text(values, 'creator') ?? '');
      const app = await apps.byId(text(values, 'client') ?? '');
      const tokens = await grants.addByOperator(creator.id, app.id, text(values, 'scope') ?? '');
      return {
        json: tokens,
        text: [
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
      };
    }),
};

const revoke: Command = {
  usage: 'grant revoke',
  summary: 'End what an app may do for a creator, at once',
  options: parties,
  run: ({ values, env }) =>
    withRuntime(env, async ({ accounts, apps, grants }) => {
      const creator = await accounts.byUsername(text(values, 'creator') ?? '');
      const app = await apps.byId(text(values, 'client') ?? '');
      if (!(await grants.revoke(creator.id, app.id, 'operator')))
        throw new Failure('grant_unknown', `${app.name} has no live grant for ${creator.username}.`);
      return { json: { revoked: true }, text: `${app.name} can no longer act for ${creator.username}.` };
    }),
};

export const grantCommands: readonly Command[] = [add, revoke];
