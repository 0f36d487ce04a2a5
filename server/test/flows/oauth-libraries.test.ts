import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { OAuth2Client } from '@badgateway/oauth2-client';
import * as oauth4webapi from 'oauth4webapi';
import * as openidClient from 'openid-client';
import { AuthorizationCode } from 'simple-oauth2';
import { buildApp } from '../build-app.ts';
import { makeApp, makeCreator } from '../factories.ts';
import { redirectUri } from '../oauth.ts';
import { freePort } from '../server-process.ts';
import { signedInVisitor } from '../visitor.ts';

/** OAuth clients that others wrote, unchanged, against the listening server: the whole way, once each. */
async function listening(t: Pick<TestContext, 'after'>) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const app = await buildApp(t, { PORT: String(port), BASE_URL: url, AUTH_URL: url });
  app.clock.set(Date.now());
  await app.http.listen({ host: '127.0.0.1', port });
  const creator = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creator.creatorId);
  return {
    url,
    ...(await makeApp(app.runtime)),
    state: randomBytes(16).toString('base64url'),
    /** The creator opens the page that the library made the address of, and approves. */
    async approve(address: string | URL): Promise<URL> {
      const { pathname, search } = new URL(address);
      const page = await visitor.get(`${pathname}${search}`);
      const request = /name="request" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
      const answer = await visitor.post('/oauth/authorize', { request, decision: 'approve' });
      return new URL(String(answer.headers.location));
    },
    async assertCalls(accessToken: unknown, status: number): Promise<void> {
      const answer = await fetch(`${url}/v1/profile`, { headers: { authorization: `Bearer ${accessToken}` } });
      assert.equal(answer.status, status, await answer.text());
    },
  };
}

const scope = 'profile.read tips.read';

test('openid-client: discovery, PKCE, exchange, refresh, introspection, revocation', async (t) => {
  const { url, clientId, clientSecret, state, approve, assertCalls } = await listening(t);
  const config = await openidClient.discovery(
    new URL(url),
    clientId,
    undefined,
    openidClient.ClientSecretBasic(clientSecret),
    { algorithm: 'oauth2', execute: [openidClient.allowInsecureRequests] },
  );
  const pkceCodeVerifier = openidClient.randomPKCECodeVerifier();
  const address = openidClient.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope,
    state,
    code_challenge: await openidClient.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  const back = await approve(address);
  const tokens = await openidClient.authorizationCodeGrant(config, back, { pkceCodeVerifier, expectedState: state });
  assert.equal(tokens.scope, scope);
  assert.equal(tokens.expires_in, 3600);
  await assertCalls(tokens.access_token, 200);
  const next = await openidClient.refreshTokenGrant(config, String(tokens.refresh_token));
  await assertCalls(next.access_token, 200);
  assert.equal((await openidClient.tokenIntrospection(config, next.access_token)).active, true);
  await openidClient.tokenRevocation(config, String(next.refresh_token));
  await assertCalls(next.access_token, 403);
  assert.equal((await openidClient.tokenIntrospection(config, next.access_token)).active, false);
  await assert.rejects(openidClient.refreshTokenGrant(config, String(next.refresh_token)), { error: 'invalid_grant' });
});

test('oauth4webapi: the same with the secret in the body, and the token verified by RFC 9068', async (t) => {
  const { url, clientId, clientSecret, state, approve, assertCalls } = await listening(t);
  const insecure = { [oauth4webapi.allowInsecureRequests]: true };
  const issuer = new URL(url);
  const as = await oauth4webapi.processDiscoveryResponse(
    issuer,
    await oauth4webapi.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
  );
  const client = { client_id: clientId };
  const secret = oauth4webapi.ClientSecretPost(clientSecret);
  const address = new URL(as.authorization_endpoint ?? '');
  address.search = String(
    new URLSearchParams({ response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope, state }),
  );
  const params = oauth4webapi.validateAuthResponse(as, client, await approve(address), state);
  const tokens = await oauth4webapi.processAuthorizationCodeResponse(
    as,
    client,
    await oauth4webapi.authorizationCodeGrantRequest(
      as,
      client,
      secret,
      params,
      redirectUri,
      oauth4webapi.nopkce,
      insecure,
    ),
  );
  const call = new Request(url, { headers: { authorization: `Bearer ${tokens.access_token}` } });
  const claims = await oauth4webapi.validateJwtAccessToken(as, call, url, insecure);
  assert.deepEqual([claims.client_id, claims.scope], [clientId, scope]);
  const next = await oauth4webapi.processRefreshTokenResponse(
    as,
    client,
    await oauth4webapi.refreshTokenGrantRequest(as, client, secret, String(tokens.refresh_token), insecure),
  );
  await assertCalls(next.access_token, 200);
  const introspect = async () =>
    oauth4webapi.processIntrospectionResponse(
      as,
      client,
      await oauth4webapi.introspectionRequest(as, client, secret, next.access_token, insecure),
    );
  assert.equal((await introspect()).active, true);
  await oauth4webapi.processRevocationResponse(
    await oauth4webapi.revocationRequest(as, client, secret, next.access_token, insecure),
  );
  assert.equal((await introspect()).active, false);
  await assertCalls(next.access_token, 403);
});

for (const authenticationMethod of [
  'client_secret_basic',
  'client_secret_basic_interop',
  'client_secret_post',
] as const)
  test(`@badgateway/oauth2-client: the whole way with ${authenticationMethod}`, async (t) => {
    const { url, clientId, clientSecret, state, approve, assertCalls } = await listening(t);
    const client = new OAuth2Client({
      server: url,
      discoveryEndpoint: '/.well-known/oauth-authorization-server',
      clientId,
      clientSecret,
      authenticationMethod,
    });
    const codeVerifier = randomBytes(32).toString('base64url');
    const request = { redirectUri, state, codeVerifier };
    const address = await client.authorizationCode.getAuthorizeUri({ ...request, scope: scope.split(' ') });
    const tokens = await client.authorizationCode.getTokenFromCodeRedirect((await approve(address)).href, request);
    await assertCalls(tokens.accessToken, 200);
    const next = await client.refreshToken(tokens);
    await assertCalls(next.accessToken, 200);
    assert.equal((await client.introspect(next)).active, true);
    await client.revoke(next);
    assert.equal((await client.introspect(next)).active, false);
    await assertCalls(next.accessToken, 403);
  });

for (const [authorizationMethod, bodyFormat] of [
  ['header', 'form'],
  ['body', 'json'],
] as const)
  test(`simple-oauth2: the whole way with credentials in the ${authorizationMethod} and ${bodyFormat} bodies`, async (t) => {
    const { url, clientId, clientSecret, state, approve, assertCalls } = await listening(t);
    const client = new AuthorizationCode({
      client: { id: clientId, secret: clientSecret },
      auth: { tokenHost: url, tokenPath: '/v1/oauth/token', revokePath: '/v1/oauth/revoke' },
      options: { authorizationMethod, bodyFormat },
    });
    const back = await approve(client.authorizeURL({ redirect_uri: redirectUri, scope, state }));
    assert.equal(back.searchParams.get('state'), state);
    const tokens = await client.getToken({ code: String(back.searchParams.get('code')), redirect_uri: redirectUri });
    await assertCalls(tokens.token.access_token, 200);
    assert.equal(tokens.expired(), false);
    const next = await tokens.refresh();
    await assertCalls(next.token.access_token, 200);
    await next.revokeAll();
    await assertCalls(next.token.access_token, 403);
  });
