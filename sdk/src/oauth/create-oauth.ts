import { type Client, createClient } from '../client.ts';
import { NamjaiError, ReauthorizationRequired } from '../error.ts';
import { createConnections } from './connections.ts';
import { authorizeDevice, type DeviceOptions } from './device.ts';
import { createEndpoints } from './endpoints.ts';
import { repeat } from './repeat.ts';
import { createSealedStore, type EncryptionKey } from './sealed-store.ts';
import { createSignIn } from './sign-in.ts';
import type { Store } from './store.ts';

export interface OAuthOptions {
  /** The API's base URL, without `/v1`. */
  baseUrl: string;
  clientId: string;
  /** None for a public app. */
  clientSecret?: string | undefined;
  /** As it is registered; needed for `authorize` and `callback`. */
  redirectUri?: string | undefined;
  /** All scopes that the app needs, separated by spaces. */
  scope: string;
  store: Store;
  /** At least 32 random bytes. To replace one, give a list: the first encrypts, all of them decrypt. */
  encryptionKey: EncryptionKey;
  /** How long one request may take. Default 10 seconds. */
  timeoutMs?: number;
  /** How often a request is tried again. Default 3, and 10 for `tips.create`. */
  retries?: number;
  fetch?: typeof fetch;
  sleep?: (ms: number) => Promise<void>;
  random?: () => number;
  now?: () => number;
}

/** A creator who has connected the app. */
export interface Connected {
  creatorId: string;
  /** What the app may do, separated by spaces. */
  scope: string;
}

/** Tokens as the token endpoint answers them, in the names of this SDK. */
export interface AdoptedTokens {
  accessToken: string;
  refreshToken: string;
  /** Seconds from now. */
  expiresIn: number;
  scope: string;
}

export interface OAuth {
  /** Begins a sign-in: redirect the browser to `url`. `sessionId` identifies the browser's session at your app. */
  authorize(sessionId: string): Promise<{ url: string }>;
  /**
   * Ends a sign-in, at `redirectUri`. `url`: the address that was called, or its path and query. Throws `AccessDenied`
   * if the creator said no, and an `OAuthError` for everything else that is no success.
   */
  callback(sessionId: string, url: string | URL): Promise<Connected>;
  /**
   * Connects a creator by tokens that your app got in another way: by one click in the portal for a sandbox creator, or
   * from `startNamjai` in a test.
   */
  adopt(tokens: AdoptedTokens): Promise<Connected>;
  /** The API on behalf of a connected creator. Its calls throw `ReauthorizationRequired` once they have disconnected. */
  as(creatorId: string): Client;
  /** Connects a device without a browser: show the code, then wait for the creator. */
  device(options: DeviceOptions): Promise<Connected>;
  /** Ends the connection on both sides. */
  disconnect(creatorId: string): Promise<void>;
}

export function createOAuth(options: OAuthOptions): OAuth {
  const { baseUrl, clientId, clientSecret, redirectUri, scope } = options;
  const { timeoutMs = 10_000, retries = 3, random = Math.random, now = Date.now } = options;
  if (!clientId) throw new TypeError('clientId is missing');
  if (clientSecret === '') throw new TypeError('clientSecret is empty; leave it out for a public app');
  const send: typeof fetch = options.fetch ?? ((input, init) => fetch(input, init));
  const sleep = options.sleep ?? ((ms) => new Promise<void>((resolve) => setTimeout(resolve, ms)));
  const sealed = createSealedStore(options.store, options.encryptionKey);
  const endpoints = createEndpoints({ baseUrl, clientId, clientSecret, timeoutMs, fetch: send, now });
  // Apps of several servers can share a store: the tokens of one server are never sent to another.
  const namespace = `${new URL(baseUrl).host}/${clientId}`;
  const repeating = { retries, sleep, random };
  const connections = createConnections({ sealed, endpoints, namespace, timeoutMs, now, ...repeating });

  function signIn() {
    if (!redirectUri) throw new TypeError('redirectUri is missing');
    return { redirectUri, ...createSignIn({ sealed, namespace, clientId, redirectUri, scope, now }) };
  }

  /**
   * A grant that was ended answers 403 while the access token lives. Refreshing tells whether the creator has
   * disconnected, and remembers it.
   */
  function fetchAs(creatorId: string): typeof fetch {
    return async (input, init) => {
      const response = await send(input, init);
      if (response.status !== 403) return response;
      const { code } = await NamjaiError.from(response.clone());
      if (code !== 'grant_unusable') return response;
      const refused = new Headers(init?.headers).get('authorization')?.replace(/^Bearer /, '');
      await connections.accessToken(creatorId, refused).catch((error) => {
        if (error instanceof ReauthorizationRequired) throw error;
      });
      return response;
    };
  }

  return {
    async authorize(sessionId) {
      const { begin } = signIn();
      const metadata = await repeat(repeating, endpoints.metadata);
      return { url: (await begin(sessionId, metadata)).href };
    },

    async callback(sessionId, url) {
      const { finish, redirectUri } = signIn();
      const { code, verifier } = await finish(sessionId, url);
      const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
      return connections.add(await repeat(repeating, () => endpoints.token(fields)));
    },

    adopt: async ({ accessToken, refreshToken, expiresIn, scope }) =>
      connections.add(
        endpoints.read({ access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn, scope }),
      ),

    as: (creatorId) =>
      createClient({
        baseUrl,
        accessToken: (refused) => connections.accessToken(creatorId, refused),
        fetch: fetchAs(creatorId),
        ...repeating,
        retries: options.retries,
      }),

    device: async (device) => connections.add(await authorizeDevice({ endpoints, scope, now, sleep }, device)),

    disconnect: (creatorId) => connections.remove(creatorId),
  };
}
