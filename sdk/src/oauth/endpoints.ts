import { NamjaiError } from '../error.ts';
import { fromBase64Url } from './encoding.ts';
import { OAuthError, oauthError } from './errors.ts';

/**
 * The server's OAuth endpoints. Credentials go to `baseUrl` and nowhere else, whatever the metadata say. No error holds a
 * part of a response: it could be part of a token.
 */

export interface OAuthEndpointsOptions {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly timeoutMs: number;
  readonly fetch: typeof fetch;
  readonly now: () => number;
}

/** What a token response brings, with the time of its arrival taken into account. */
export interface TokenSet {
  readonly creatorId: string;
  readonly accessToken: string;
  readonly refreshToken: string;
  /** When to refresh, by the clock of this process: a little before the token expires. */
  readonly refreshAt: number;
  readonly scope: string;
}

export interface Metadata {
  readonly issuer: string;
  readonly authorization_endpoint: string;
}

/** No answer, or one that asks to try again. `waitMs`: what `Retry-After` says. */
export class TransientFailure extends Error {
  readonly error: NamjaiError;
  readonly waitMs: number | undefined;
  /** Whether the server may still carry out the request. */
  readonly unanswered: boolean;

  constructor(error: NamjaiError, unanswered: boolean, waitMs?: number) {
    super(error.message, { cause: error });
    this.error = error;
    this.unanswered = unanswered;
    this.waitMs = waitMs;
  }
}

export type OAuthEndpoints = ReturnType<typeof createEndpoints>;

const METADATA_MS = 600_000;
const MAX_MARGIN_MS = 30_000;

export function createEndpoints(options: OAuthEndpointsOptions) {
  const { clientId, clientSecret, timeoutMs, now } = options;
  const base = secureUrl('baseUrl', options.baseUrl);
  let known: { metadata: Metadata; until: number } | undefined;

  /** A redirect is an error: credentials do not follow it. */
  async function send(path: string, init: RequestInit): Promise<Record<string, unknown>> {
    const url = new URL(path, base);
    let response: Response;
    let text: string;
    try {
      response = await options.fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
      text = await response.text();
    } catch (error) {
      const next = 'Check baseUrl, the network and whether the server runs, then call again.';
      throw new TransientFailure(NamjaiError.unanswered(url.origin, 1, next, error), true);
    }
    const body = parseObject(text);
    const seconds = response.headers.get('retry-after');
    const waitMs = seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) * 1000 : undefined;
    if (response.status === 429 || response.status >= 500 || (response.ok && body === undefined)) {
      const code = response.ok ? 'unknown_error' : textOf(body, 'error') || 'unknown_error';
      const error = new OAuthError(code, `${url.origin} answered ${response.status}.`, { status: response.status });
      // A gateway's 502 or 504 may come while the request is still being carried out behind it.
      throw new TransientFailure(error, response.status !== 429, waitMs);
    }
    if (!response.ok) {
      const code = textOf(body, 'error') || 'unknown_error';
      throw oauthError(
        code,
        textOf(body, 'error_description') || `The server answered ${response.status}`,
        response.status,
      );
    }
    return body ?? {};
  }

  /** One request, with the app's credentials. */
  function post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
    const credentials = { client_id: clientId, ...(clientSecret === undefined ? {} : { client_secret: clientSecret }) };
    return send(path, {
      method: 'POST',
      headers: { ...headers, accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ...credentials, ...fields }).toString(),
    });
  }

  return {
    async metadata(): Promise<Metadata> {
      if (known && known.until > now()) return known.metadata;
      const body = await send('/.well-known/oauth-authorization-server', { headers: { accept: 'application/json' } });
      const issuer = textOf(body, 'issuer');
      const endpoint = textOf(body, 'authorization_endpoint');
      if (!issuer || !endpoint || secureUrl('issuer', issuer).origin !== secureUrl('endpoint', endpoint).origin)
        throw new OAuthError('unknown_error', `${base.origin} does not describe a Namjai server. Check baseUrl.`);
      known = { metadata: { issuer, authorization_endpoint: endpoint }, until: now() + METADATA_MS };
      return known.metadata;
    },

    /** One request to the token endpoint. */
    async token(fields: Record<string, string>, headers?: Record<string, string>): Promise<TokenSet> {
      return readTokens(await post('/v1/oauth/token', fields, headers), now());
    },

    /** Tokens that came in another way. */
    read(response: Record<string, unknown>): TokenSet {
      try {
        return readTokens(response, now());
      } catch (error) {
        throw error instanceof TransientFailure ? error.error : error;
      }
    },

    /** Ends the connection that the token belongs to. */
    async revoke(token: string): Promise<void> {
      await post('/v1/oauth/revoke', { token });
    },

    deviceAuthorization: (scope: string) => post('/v1/oauth/device_authorization', { scope }),
  };
}

/** The creator's id is the subject of the access token (RFC 9068), which came directly from the server. */
function readTokens(body: Record<string, unknown>, now: number): TokenSet {
  const accessToken = textOf(body, 'access_token');
  const refreshToken = textOf(body, 'refresh_token');
  const lifeMs = Number(body.expires_in) * 1000;
  const creatorId = textOf(claimsOf(accessToken), 'sub');
  if (!refreshToken || !creatorId || !(lifeMs > 0))
    throw new TransientFailure(new OAuthError('unknown_error', 'The token response is incomplete.'), true);
  const refreshAt = now + lifeMs - Math.min(MAX_MARGIN_MS, lifeMs / 10);
  return { creatorId, accessToken, refreshToken, refreshAt, scope: textOf(body, 'scope') };
}

function claimsOf(token: string): Record<string, unknown> | undefined {
  try {
    return parseObject(new TextDecoder().decode(fromBase64Url(token.split('.')[1] ?? '')));
  } catch {
    return undefined;
  }
}

/** Nothing for what is not a JSON object. The parser's error would quote the text. */
function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

export function textOf(body: Record<string, unknown> | undefined, name: string): string {
  const value = body?.[name];
  return typeof value === 'string' ? value : '';
}

/** Secrets and codes cross the network: HTTPS, or this machine. */
function secureUrl(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const local = url?.protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  if (!url || (url.protocol !== 'https:' && !local))
    throw new TypeError(`${name} must be an https: address (http: only for localhost), not ${text}`);
  return url;
}
