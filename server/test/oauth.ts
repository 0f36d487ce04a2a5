import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { allScopes, knownScopes } from '../src/features/oauth/index.ts';
import type { Runtime } from '../src/runtime.ts';
import type { TestApp } from './build-app.ts';
import { makeApp, makeCreator } from './factories.ts';

/** The credentials of an app. */
export interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface Party {
  readonly creatorId: string;
  readonly username: string;
}

export const redirectUri = 'https://app.example/callback';
export const everything = allScopes.join(' ');
/** 43 characters, the shortest that is allowed. */
export const verifier = 'abcdefghijklmnopqrstuvwxyz-0123456789._~ABC';
export const challengeOf = (text: string) => createHash('sha256').update(text).digest('base64url');

/** What the consent page does when the creator approves. */
export function approve(
  { grants }: Runtime,
  { creatorId }: Pick<Party, 'creatorId'>,
  { clientId }: Pick<Client, 'clientId'>,
  options: { scope?: string; codeChallenge?: string | null; redirectUri?: string } = {},
): Promise<string> {
  const scopes = knownScopes(options.scope ?? everything);
  return grants.approve(creatorId, {
    clientId,
    scopes,
    redirectUri: options.redirectUri ?? redirectUri,
    codeChallenge: options.codeChallenge ?? null,
  });
}

export const post = (http: FastifyInstance, url: string, payload: object, headers: Record<string, string> = {}) =>
  http.inject({ method: 'POST', url, payload, headers });

const credentials = ({ clientId, clientSecret }: Client) => ({ client_id: clientId, client_secret: clientSecret });

export const exchange = (http: FastifyInstance, client: Client, code: string, more: object = {}) =>
  post(http, '/v1/oauth/token', {
    grant_type: 'authorization_code',
    ...credentials(client),
    code,
    redirect_uri: redirectUri,
    ...more,
  });

export const refresh = (
  http: FastifyInstance,
  client: Client,
  token: string,
  more: object = {},
  headers: Record<string, string> = {},
) =>
  post(
    http,
    '/v1/oauth/token',
    { grant_type: 'refresh_token', ...credentials(client), refresh_token: token, ...more },
    headers,
  );

export const revoke = (http: FastifyInstance, client: Client, token: string) =>
  post(http, '/v1/oauth/revoke', { ...credentials(client), token });

export const introspect = (http: FastifyInstance, client: Client, token: string) =>
  post(http, '/v1/oauth/introspect', { ...credentials(client), token });

export const callMe = (http: FastifyInstance, accessToken: string) =>
  http.inject({ url: '/v1/me', headers: { authorization: `Bearer ${accessToken}` } });

/** A creator and an app that know nothing of each other yet. */
export async function parties({ runtime }: TestApp): Promise<{ creator: Party; client: Client }> {
  return { creator: await makeCreator(runtime), client: await makeApp(runtime) };
}

export type TokenSet = { access_token: string; refresh_token: string; expires_in: number; scope: string };

/** The whole way to a first token. */
export async function connect(app: TestApp, creator: Party, client: Client, scope?: string): Promise<TokenSet> {
  const code = await approve(app.runtime, creator, client, scope === undefined ? {} : { scope });
  return tokensOf(await exchange(app.http, client, code));
}

type Answer = Awaited<ReturnType<typeof post>>;

export function tokensOf(answer: Answer): TokenSet {
  assert.equal(answer.statusCode, 200, answer.body);
  return answer.json();
}

/** The answer is this error, in the form of RFC 6749. */
export function assertRefused(answer: Answer, status: number, error: string): void {
  assert.deepEqual([answer.statusCode, answer.json().error], [status, error], answer.body);
  assert.match(answer.json().error_description, /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
  assert.deepEqual(Object.keys(answer.json()), ['error', 'error_description']);
  assert.equal(answer.headers['cache-control'], 'no-store');
}
