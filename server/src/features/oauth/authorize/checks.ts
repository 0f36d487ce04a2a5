/**
 * GET /oauth/authorize as a list of named checks (RFC 6749, section 4.1.1; contract, Authorize).
 *
 * - Before the client and its redirect URI are verified nothing is redirected: `Unredirectable` becomes a page.
 * - After that, errors go to the app: `AuthorizeError` becomes a redirect, once somebody is signed in.
 * - A parameter without a value counts as absent. One that is sent twice is refused (RFC 6749, section 3.1).
 */
import { AppError, type AppRow, type Apps } from '../../apps/index.ts';
import { parseScopes, type Scope } from '../scopes.ts';
import { AuthorizeError, Unredirectable } from './errors.ts';

export interface AuthorizeRequest {
  readonly app: AppRow;
  readonly redirectUri: string;
  readonly state: string;
  readonly scopes: readonly Scope[];
  readonly codeChallenge: string | null;
}

export async function checkAuthorize(query: URLSearchParams, apps: Apps): Promise<AuthorizeRequest> {
  const app = await checkClient(query, apps);
  const redirectUri = checkRedirectUri(query, app, apps);
  try {
    checkActive(app);
    checkResponseType(query);
    const state = checkState(query);
    const scopes = checkScope(query);
    const codeChallenge = checkChallenge(query, app);
    return { app, redirectUri, state, scopes, codeChallenge };
  } catch (error) {
    throw error instanceof AuthorizeError ? error.withTarget({ redirectUri, state: returnableState(query) }) : error;
  }
}

async function checkClient(query: URLSearchParams, apps: Apps): Promise<AppRow> {
  const [clientId, ...more] = query.getAll('client_id');
  if (!clientId || more.length > 0) throw new Unredirectable('client_id');
  try {
    return await apps.byId(clientId);
  } catch (error) {
    throw error instanceof AppError ? new Unredirectable('client_id') : error;
  }
}

function checkRedirectUri(query: URLSearchParams, app: AppRow, apps: Apps): string {
  const [uri, ...more] = query.getAll('redirect_uri');
  if (!uri || more.length > 0 || !apps.redirectsTo(app, uri)) throw new Unredirectable('redirect_uri');
  return uri;
}

function checkActive(app: AppRow): void {
  if (app.suspended_at !== null) throw new AuthorizeError('unauthorized_client', 'This app is suspended.');
}

function checkResponseType(query: URLSearchParams): void {
  const type = single(query, 'response_type');
  if (type !== undefined && type !== 'code')
    throw new AuthorizeError('unsupported_response_type', 'response_type must be code or left out.');
}

const maxState = 2048;

function checkState(query: URLSearchParams): string {
  const state = single(query, 'state');
  if (state === undefined) throw new AuthorizeError('invalid_request', 'state is required.');
  if ([...state].length > maxState)
    throw new AuthorizeError('invalid_request', `state must have at most ${maxState} characters.`);
  return state;
}

function checkScope(query: URLSearchParams): Scope[] {
  const { scopes, unknown } = parseScopes(single(query, 'scope') ?? '');
  if (unknown.length > 0) throw new AuthorizeError('invalid_scope', 'scope names a scope that does not exist.');
  return scopes;
}

/** PKCE (RFC 7636). An absent method means `plain`, which is not supported. A public app has no other proof. */
function checkChallenge(query: URLSearchParams, app: AppRow): string | null {
  const challenge = single(query, 'code_challenge');
  const method = single(query, 'code_challenge_method');
  if (challenge === undefined && app.public === 1)
    throw new AuthorizeError('invalid_request', 'code_challenge is required of a public app.');
  if (challenge === undefined && method === undefined) return null;
  if (method !== 'S256') throw new AuthorizeError('invalid_request', 'code_challenge_method must be S256.');
  if (challenge === undefined || !/^[A-Za-z0-9_-]{43}$/.test(challenge))
    throw new AuthorizeError('invalid_request', 'code_challenge must be the 43 characters of an S256 challenge.');
  return challenge;
}

function single(query: URLSearchParams, name: string): string | undefined {
  const [value, ...more] = query.getAll(name);
  if (more.length > 0) throw new AuthorizeError('invalid_request', `${name} was sent more than once.`);
  return value || undefined;
}

/** The state for an error response, which may come before `state` is checked. */
function returnableState(query: URLSearchParams): string | undefined {
  const [state, ...more] = query.getAll('state');
  return more.length > 0 ? undefined : state || undefined;
}
