/**
 * Where the command line is signed in: one file of mode 0600 that names the servers, and one for each sign-in with its
 * tokens, which the SDK refreshes (`fileStore`).
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type Client, NamjaiError, ReauthorizationRequired } from '../../../sdk/src/index.ts';
import { createOAuth, fileStore, type OAuth } from '../../../sdk/src/oauth/index.ts';
import type { Environment } from '../config.ts';
import { isLoopbackHost } from '../platform/addresses.ts';
import { Failure, optionProblems } from './errors.ts';

export interface Login {
  readonly server: string;
  readonly clientId: string;
  readonly creatorId: string;
  readonly username: string;
  /** The name of the file with the tokens, and the key that they are encrypted with. */
  readonly tokens: string;
  readonly key: string;
}

const currentKey = 'current';

const folderOf = (env: Environment): string =>
  join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'namjai');

export function createLogins(env: Environment) {
  const folder = folderOf(env);
  const store = fileStore(join(folder, 'logins.json'));

  async function set(key: string, value: string): Promise<void> {
    while (!(await store.write(key, value, await store.read(key))));
  }

  /** The sign-in at this server, or the last one. */
  async function find(server: string | undefined): Promise<Login | undefined> {
    const origin = server ?? (await store.read(currentKey));
    const text = origin === null ? null : await store.read(origin);
    return text === null ? undefined : JSON.parse(text);
  }

  const oauthOf = ({ server, clientId, tokens, key }: Omit<Login, 'creatorId' | 'username'>, scope = ''): OAuth =>
    createOAuth({
      baseUrl: server,
      clientId,
      scope,
      store: fileStore(join(folder, tokens)),
      encryptionKey: Buffer.from(key, 'base64'),
      retries: 1,
    });

  return {
    /** Begins a sign-in, with a file for its tokens. The one before at this server works until `save`. */
    begin(server: string, clientId: string, scope: string) {
      const pending = {
        server,
        clientId,
        tokens: `tokens-${randomUUID()}.json`,
        key: randomBytes(32).toString('base64'),
      };
      return { pending, oauth: oauthOf(pending, scope) };
    },

    async save(login: Login): Promise<void> {
      const before = await find(login.server);
      await set(login.server, JSON.stringify(login));
      await set(currentKey, login.server);
      if (!before) return;
      // Best effort: the new sign-in stands, and what is left of the old one ends by itself.
      await oauthOf(before)
        .disconnect(before.creatorId)
        .catch(() => {});
      await rm(join(folder, before.tokens), { force: true });
    },

    /** Removes the tokens of a sign-in that was not completed. */
    discard: (tokens: string) => rm(join(folder, tokens), { force: true }),

    find,

    /** The sign-in at this server, as it was typed, or the last one. Throws if nobody is signed in there. */
    async require(typed: string | undefined): Promise<Login> {
      const server = typed === undefined ? undefined : readServer(typed);
      const login = await find(server);
      if (login) return login;
      throw new Failure(
        'not_signed_in',
        server
          ? `You are not signed in at ${server}. Sign in with: namjai login --server ${server}`
          : 'You are not signed in. Sign in with: namjai login --server URL',
      );
    },

    /** Calls the API as whoever is signed in. */
    async call<T>(login: Login, use: (client: Client) => Promise<T>): Promise<T> {
      try {
        return await use(oauthOf(login).as(login.creatorId));
      } catch (error) {
        throw explain(error, login);
      }
    },

    /** Ends the sign-in at the server, and forgets it. */
    async end(login: Login, revoke: boolean): Promise<void> {
      if (revoke) await oauthOf(login).disconnect(login.creatorId);
      await rm(join(folder, login.tokens), { force: true });
      await store.remove(login.server);
      if ((await store.read(currentKey)) === login.server) await store.remove(currentKey);
    },
  };
}

export const signInEnded = (server: string): Failure =>
  new Failure(
    'not_signed_in',
    `The sign-in at ${server} has ended. Sign in again with: namjai login --server ${server}`,
  );

export function explain(error: unknown, { server }: Pick<Login, 'server'>): unknown {
  if (error instanceof ReauthorizationRequired) return signInEnded(server);
  // What follows the first sentence is for programmers who use the SDK.
  if (error instanceof NamjaiError && error.status === 0)
    return new Failure(error.code, error.message.replace(/\. .*/, '.'));
  if (error instanceof NamjaiError && error.details.length > 0)
    return new Failure(error.code, optionProblems(error.details));
  return error;
}

/** The origin of a server's address. `tips.example` is `https://tips.example`. */
export function readServer(typed: string): string {
  const text = /^[a-z]+:\/\//i.test(typed)
    ? typed
    : `${isLoopbackHost(typed.replace(/[:/].*/, '')) ? 'http' : 'https'}://${typed}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname))) return url.origin;
  throw new Failure('url_invalid', `"${typed}" is not the address of a server, such as https://tips.example.`);
}
