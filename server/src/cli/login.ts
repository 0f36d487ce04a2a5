import { type Command, Option } from 'commander';
import type { DeviceCode } from '../../../sdk/src/oauth/index.ts';
import type { Context } from './command.ts';
import { Failure } from './errors.ts';
import { plainText, stopSignal, type Terminal } from './terminal.ts';

interface ServerOption {
  readonly server?: string;
}

export function addLoginCommands(program: Command, context: Context): void {
  program
    .command('login')
    .description('Sign in at any server, with a code that you approve in a browser')
    .requiredOption('--server <URL>', 'Address of the server, such as https://tips.example')
    .action(({ server }: { server: string }) => login(server, context));

  addServerOption(program.command('logout'))
    .description('End the sign-in, at the server and here')
    .option('--forget', 'Forget it here even if the server does not answer')
    .action((options: ServerOption & { forget?: boolean }) => logout(options, context));

  addServerOption(program.command('whoami'))
    .description('Show who is signed in, and where')
    .action((options: ServerOption) => whoami(options, context));
}

export const addServerOption = (command: Command): Command =>
  command.option('--server <URL>', 'Address of the server (by default the one of the last login)');

/** For an option of a command that works either at a server or directly on its database. */
export const addDatabaseOption = (command: Command, flags: string, description: string): Command =>
  command.addOption(new Option(flags, `Directly on the server’s database: ${description}`).conflicts('server'));

/** Signs in with a device code (RFC 8628) and all scopes: the other commands act for whoever signed in. */
async function login(typed: string, { env, print, note, terminal }: Context): Promise<void> {
  const [{ createLogins, readServer }, { allScopes }] = await Promise.all([
    import('./logins.ts'),
    import('../features/oauth/index.ts'),
  ]);
  const server = readServer(typed);
  const logins = createLogins(env);
  const { pending, oauth } = logins.begin(server, await cliClientId(server), allScopes.join(' '));
  const stopped = stopSignal();
  let approvedBy: string | undefined;
  try {
    const { creatorId, scope } = await oauth.device({
      signal: stopped,
      onCode: async (code) => {
        const { userCode: user_code, verificationUri: verification_uri, expiresIn: expires_in } = code;
        const fields = { verification_uri, verification_uri_complete: code.verificationUriComplete };
        const waiting = `Waiting for you, for ${Math.round(expires_in / 60)} minutes. Press Ctrl-C to stop.`;
        // Standard output gets the result alone.
        note(`${await instructions(code, terminal)}\n${waiting}`, { user_code, ...fields, expires_in });
      },
    });
    approvedBy = creatorId;
    const { username } = await oauth.as(creatorId).me();
    await logins.save({ ...pending, creatorId, username });
    print({ server, username, creator_id: creatorId, scope }, `Signed in at ${server} as ${plainText(username)}.`);
  } catch (error) {
    // Best effort: tokens that nobody has any more should not stay valid for a month.
    if (approvedBy !== undefined) await oauth.disconnect(approvedBy).catch(() => {});
    await logins.discard(pending.tokens);
    if (stopped.aborted) throw new Failure('cancelled', 'You are not signed in: it was stopped.');
    throw error;
  }
}

/** Every server has a public app for this program, and tells its id. */
async function cliClientId(server: string): Promise<string> {
  const url = new URL('/.well-known/oauth-authorization-server', server);
  const answer = await fetch(url, { signal: AbortSignal.timeout(10_000) }).catch((error: Error) => {
    const cause: NodeJS.ErrnoException = error.cause instanceof Error ? error.cause : error;
    const reason = cause.code ?? cause.message;
    throw new Failure('connection_failed', `No answer from ${server} (${reason}).`);
  });
  const metadata: unknown = await answer.json().catch(() => undefined);
  if (metadata !== null && typeof metadata === 'object' && 'namjai_cli_client_id' in metadata)
    return String(metadata.namjai_cli_client_id);
  throw new Failure('not_a_server', `${server} does not answer as a Namjai server.`);
}

async function instructions(code: DeviceCode, terminal: Terminal): Promise<string> {
  const { style } = terminal;
  const picture = await qrCode(code.verificationUriComplete, terminal);
  return [
    'Open this address in a browser, on any device:',
    '',
    `    ${style('bold', plainText(code.verificationUri))}`,
    '',
    'Enter this code there, and approve:',
    '',
    `    ${style('bold', plainText(code.userCode))}`,
    ...(picture ? ['', 'Or scan this with a phone:', '', picture] : []),
  ].join('\n');
}

/** Black on white, which readers expect. Nothing where there are no colours, or the terminal is too narrow. */
async function qrCode(text: string, { colours, columns, style }: Terminal): Promise<string> {
  if (!colours) return '';
  const { default: qrcode } = await import('qrcode');
  const picture = await qrcode.toString(text, { type: 'utf8', errorCorrectionLevel: 'L', margin: 2 });
  const lines = picture.split('\n').filter((line) => line !== '');
  if (lines.some((line) => line.length > columns)) return '';
  return lines.map((line) => style(['black', 'bgWhiteBright'], line)).join('\n');
}

async function whoami({ server }: ServerOption, { env, print }: Context): Promise<void> {
  const { createLogins } = await import('./logins.ts');
  const logins = createLogins(env);
  const login = await logins.require(server);
  const me = await logins.call(login, (client) => client.me());
  const [name, username] = [plainText(me.display_name), plainText(me.username)];
  const who = name === username ? username : `${username} (${name})`;
  print({ server: login.server, ...me }, `${who} at ${login.server}\nMay: ${plainText(me.scope)}`);
}

async function logout(
  { server, forget = false }: ServerOption & { forget?: boolean },
  context: Context,
): Promise<void> {
  const { createLogins, explain } = await import('./logins.ts');
  const logins = createLogins(context.env);
  const login = await logins.require(server);
  let revoked = true;
  try {
    await logins.end(login, true);
  } catch (error) {
    const reason = explain(error, login);
    if (!forget && reason instanceof Failure)
      throw new Failure(reason.code, `${reason.message} To forget the sign-in here alone: namjai logout --forget`);
    if (!forget) throw reason;
    revoked = false;
    await logins.end(login, false);
  }
  context.print(
    { server: login.server, username: login.username, revoked },
    revoked
      ? `Signed out at ${login.server}.`
      : `The sign-in at ${login.server} is forgotten here. The server could not be told: disconnect “Namjai CLI” on its page of connected apps.`,
  );
}
