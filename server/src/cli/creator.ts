import { text as readAll } from 'node:stream/consumers';
import { inventPassword } from '../features/accounts/index.ts';
import { type Call, type Command, text, UsageError, withRuntime } from './command.ts';

const passwordOptions = {
  password: { type: 'string', value: 'P', help: 'The password; made up if none is given' },
  'password-stdin': { type: 'boolean', help: 'Read the password from standard input' },
} as const;

async function passwordOf(values: Call['values']): Promise<string> {
  if (values['password-stdin'] && values.password !== undefined)
    throw new UsageError('Give --password or --password-stdin, not both.');
  if (values['password-stdin']) return (await readAll(process.stdin)).replace(/\r?\n$/, '');
  return text(values, 'password') ?? inventPassword();
}

const add: Command = {
  usage: 'creator add',
  summary: 'Add a creator account',
  options: {
    username: { type: 'string', value: 'U', help: '3 to 30 characters of a-z, 0-9 and underscore', required: true },
    'display-name': { type: 'string', value: 'D', help: 'Name shown to people' },
    ...passwordOptions,
  },
  async run({ values, env }) {
    const [username, displayName, password] = [
      text(values, 'username') ?? '',
      text(values, 'display-name'),
      await passwordOf(values),
    ];
    return withRuntime(env, async ({ accounts }) => {
      const { id } = await accounts.add({ username, password, ...(displayName ? { displayName } : {}) });
      return {
        json: { id, username, password },
        text: `Creator ${username} added.\n  id        ${id}\n  password  ${password}`,
      };
    });
  },
};

const password: Command = {
  usage: 'creator password USERNAME',
  summary: 'Set a creator’s password and end all their sessions',
  options: passwordOptions,
  async run({ values, positionals: [username = ''], env }) {
    const secret = await passwordOf(values);
    return withRuntime(env, async ({ accounts }) => {
      const { id } = await accounts.byUsername(username);
      await accounts.setPassword(id, secret);
      return { json: { username, password: secret }, text: `Password of ${username} set to ${secret}` };
    });
  },
};

const pause = (action: 'suspend' | 'restore', summary: string): Command => ({
  usage: `creator ${action} USERNAME`,
  summary,
  run: ({ positionals: [username = ''], env }) =>
    withRuntime(env, async ({ accounts, grants, clock }) => {
      const { id } = await accounts.byUsername(username);
      const suspended = action === 'suspend';
      await grants.suspend('creator', id, suspended ? clock() : null);
      return {
        json: { id, username, suspended },
        text: `Creator ${username} ${suspended ? 'suspended' : 'restored'}.`,
      };
    }),
});

export const creatorCommands: readonly Command[] = [
  add,
  password,
  pause('suspend', 'Pause a creator: sign-in, API and deliveries'),
  pause('restore', 'Undo creator suspend'),
];
