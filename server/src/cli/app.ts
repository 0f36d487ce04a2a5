import { type Command, text, withRuntime } from './command.ts';

const add: Command = {
  usage: 'app add',
  summary: 'Register an app',
  options: {
    name: { type: 'string', value: 'N', help: 'Name shown to creators', required: true },
    'redirect-uri': {
      type: 'string',
      value: 'URL…',
      multiple: true,
      help: 'Where the browser returns to; several can be given',
      required: true,
    },
    owner: { type: 'string', value: 'U', help: 'Username of the developer who owns it' },
  },
  run({ values, env }) {
    const [name, owner] = [text(values, 'name') ?? '', text(values, 'owner')];
    const redirectUris = Array.isArray(values['redirect-uri']) ? values['redirect-uri'].map(String) : [];
    return withRuntime(env, async ({ accounts, apps }) => {
      const ownerId = owner === undefined ? null : (await accounts.byUsername(owner)).id;
      const { clientId, clientSecret } = await apps.add({ name, redirectUris, ownerId });
      return {
        json: { client_id: clientId, client_secret: clientSecret },
        text: `App ${name} registered. The secret is shown only now.\n  client_id      ${clientId}\n  client_secret  ${clientSecret}`,
      };
    });
  },
};

const pause = (action: 'suspend' | 'restore', summary: string): Command => ({
  usage: `app ${action} ID`,
  summary,
  run: ({ positionals: [id = ''], env }) =>
    withRuntime(env, async ({ apps, grants, clock }) => {
      const app = await apps.byId(id);
      const suspended = action === 'suspend';
      await grants.suspend('app', id, suspended ? clock() : null);
      return { json: { client_id: id, suspended }, text: `App ${app.name} ${suspended ? 'suspended' : 'restored'}.` };
    }),
});

export const appCommands: readonly Command[] = [
  add,
  pause('suspend', 'Pause an app: its tokens, sockets and deliveries'),
  pause('restore', 'Undo app suspend'),
];
