import { randomText, sameText, sha256 } from './encoding.ts';
import type { Metadata } from './endpoints.ts';
import { OAuthError, oauthError } from './errors.ts';
import type { SealedStore } from './sealed-store.ts';
import { SESSION_PREFIX } from './store.ts';

/**
 * Sign-ins between the redirect to the server and the callback (RFC 6749, 4.1; RFC 7636; RFC 9207).
 *
 * - The state is kept under the session that began the sign-in, so a callback address that somebody else's session
 *   began is refused (RFC 9700, 4.7).
 * - A state is removed by compare and set before its code is used: of two callbacks with one state, one goes on.
 * - The server's issuer is kept with the state: a code of another server is never sent to this one (RFC 9700, 4.4).
 * - A session can have a few sign-ins at once, because people open two tabs.
 */
interface Pending {
  readonly state: string;
  readonly verifier: string;
  readonly issuer: string;
  readonly expiresAt: number;
}

interface SignInOptions {
  readonly sealed: SealedStore;
  readonly namespace: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scope: string;
  readonly now: () => number;
}

/** What the exchange needs. */
interface Approval {
  readonly code: string;
  readonly verifier: string;
}

const LIFE_MS = 3_600_000;
const MAX_PENDING = 5;

export function createSignIn({ sealed, namespace, clientId, redirectUri, scope, now }: SignInOptions) {
  /** The session id may be the secret of a cookie: only its hash is stored. */
  async function keyOf(sessionId: string): Promise<string> {
    if (typeof sessionId !== 'string' || sessionId === '')
      throw new TypeError('sessionId must identify the session of the browser that is signed in to your app');
    return `${SESSION_PREFIX}${namespace}/${await sha256(sessionId)}`;
  }

  /** A value that cannot be decrypted counts as none: it was worth an hour at most. */
  const live = (pending: Pending[] = []): Pending[] => pending.filter(({ expiresAt }) => expiresAt > now());

  /** Removes the sign-in with this state and returns it; nothing if this session has none. */
  async function take(key: string, state: string): Promise<Pending | undefined> {
    let found: Pending | undefined;
    let rest: Pending[] = [];
    await sealed.update<Pending[]>(key, (pending) => {
      [found] = live(pending).filter((each) => sameText(each.state, state));
      rest = live(pending).filter((each) => each !== found);
      return found && rest;
    });
    // A sign-in that begins in this instant is lost with the key, and has to be begun again.
    if (found && rest.length === 0) await sealed.remove(key);
    return found;
  }

  return {
    async begin(sessionId: string, { issuer, authorization_endpoint }: Metadata): Promise<URL> {
      const key = await keyOf(sessionId);
      const sent: Pending = { state: randomText(), verifier: randomText(), issuer, expiresAt: now() + LIFE_MS };
      await sealed.update<Pending[]>(key, (pending) => [...live(pending), sent].slice(-MAX_PENDING));
      const url = new URL(authorization_endpoint);
      const query = {
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        scope,
        state: sent.state,
        code_challenge: await sha256(sent.verifier),
        code_challenge_method: 'S256',
      };
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      return url;
    },

    async finish(sessionId: string, address: string | URL): Promise<Approval> {
      const { searchParams } = new URL(address, redirectUri);
      const key = await keyOf(sessionId);
      const begun = await take(key, single(searchParams, 'state') ?? '');
      if (!begun)
        throw new OAuthError(
          'state_invalid',
          'This session has no such sign-in: begin again. (Was the page loaded twice?)',
        );
      if (single(searchParams, 'iss') !== begun.issuer)
        throw new OAuthError('issuer_mismatch', `The response is not from ${begun.issuer}. It was not used.`);
      const error = single(searchParams, 'error');
      if (error !== undefined) throw oauthError(error, searchParams.get('error_description'));
      const code = single(searchParams, 'code');
      if (code === undefined) throw new OAuthError('invalid_request', 'The callback has neither a code nor an error.');
      return { code, verifier: begun.verifier };
    },
  };
}

/** A parameter that is there once; one that is repeated means nothing. */
function single(params: URLSearchParams, name: string): string | undefined {
  const [value, ...more] = params.getAll(name);
  return more.length === 0 && value ? value : undefined;
}
