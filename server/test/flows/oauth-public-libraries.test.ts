import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as oauth4webapi from 'oauth4webapi';
import * as openidClient from 'openid-client';
import { buildApp } from '../build-app.ts';
import { makeCreator, makePublicApp } from '../factories.ts';
import { freePort } from '../free-port.ts';
import { redirectUri } from '../oauth.ts';
import { signedInVisitor } from '../visitor.ts';

const scope = 'profile.read tips.read';

/** OAuth clients that others wrote, unchanged, as apps without a secret: PKCE and the device flow, once each. */
async function listening(t: Pick<TestContext, 'after'>) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const app = await buildApp(t, { PORT: String(port), BASE_URL: url, AUTH_URL: url });
  app.clock.set(Date.now());
  await app.http.listen({ host: '127.0.0.1', port });
  const creator = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creator.creatorId);
  const ticketIn = (body: string) => /name="request" value="([^"]+)"/.exec(body)?.[1] ?? '';
  return {
    url,
    ...(await makePublicApp(app.runtime)),
    state: randomBytes(16).toString('base64url'),
    clock: app.clock,
    /** The creator opens the page that the library made the address of, and approves. */
    async approve(address: string | URL): Promise<URL> {
      const { pathname, search } = new URL(address);
      const request = ticketIn((await visitor.get(`${pathname}${search}`)).body);
      const answer = await visitor.post('/oauth/authorize', { request, decision: 'approve' });
      return new URL(String(answer.headers.location));
    },
    async approveDevice(userCode: string): Promise<void> {
      const request = ticketIn((await visitor.post('/device', { user_code: userCode })).body);
      const done = await visitor.post('/device/decision', { request, decision: 'approve' });
      assert.equal(done.statusCode, 200, done.body);
    },
    async assertCalls(accessToken: unknown, status: number): Promise<void> {
      const answer = await fetch(`${url}/v1/profile`, { headers: { authorization: `Bearer ${accessToken}` } });
      assert.equal(answer.status, status, await answer.text());
    },
  };
}

test('openid-client without a secret: PKCE, refresh, revocation, and a device', async (t) => {
  const { url, clientId, state, approve, approveDevice, assertCalls } = await listening(t);
  const config = await openidClient.discovery(new URL(url), clientId, undefined, openidClient.None(), {
    algorithm: 'oauth2',
    execute: [openidClient.allowInsecureRequests],
  });
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
  const next = await openidClient.refreshTokenGrant(config, String(tokens.refresh_token));
  await assertCalls(next.access_token, 200);

  const device = await openidClient.initiateDeviceAuthorization(config, { scope });
  await approveDevice(device.user_code);
  // It would wait for the interval before it asks the first time.
  const others = await openidClient.pollDeviceAuthorizationGrant(config, { ...device, interval: 0.01 });
  assert.equal(others.scope, scope);
  await assertCalls(others.access_token, 200);
  await openidClient.tokenRevocation(config, String(next.refresh_token));
  await assertCalls(next.access_token, 403);
  await assertCalls(others.access_token, 200);
});

test('oauth4webapi without a secret: PKCE, refresh, revocation, and a device that has to wait', async (t) => {
  const { url, clientId, state, clock, approve, approveDevice, assertCalls } = await listening(t);
  const insecure = { [oauth4webapi.allowInsecureRequests]: true };
  const issuer = new URL(url);
  const as = await oauth4webapi.processDiscoveryResponse(
    issuer,
    await oauth4webapi.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
  );
  const client = { client_id: clientId };
  const none = oauth4webapi.None();
  const verifier = oauth4webapi.generateRandomCodeVerifier();
  const address = new URL(as.authorization_endpoint ?? '');
  address.search = String(
    new URLSearchParams({
      ...{ response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope, state },
      code_challenge: await oauth4webapi.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }),
  );
  const params = oauth4webapi.validateAuthResponse(as, client, await approve(address), state);
  const exchange = oauth4webapi.authorizationCodeGrantRequest(
    as,
    client,
    none,
    params,
    redirectUri,
    verifier,
    insecure,
  );
  const tokens = await oauth4webapi.processAuthorizationCodeResponse(as, client, await exchange);
  const refresh = oauth4webapi.refreshTokenGrantRequest(as, client, none, String(tokens.refresh_token), insecure);
  const next = await oauth4webapi.processRefreshTokenResponse(as, client, await refresh);
  await assertCalls(next.access_token, 200);

  const asked = await oauth4webapi.deviceAuthorizationRequest(as, client, none, { scope }, insecure);
  const device = await oauth4webapi.processDeviceAuthorizationResponse(as, client, asked);
  const poll = async () =>
    oauth4webapi.processDeviceCodeResponse(
      as,
      client,
      await oauth4webapi.deviceCodeGrantRequest(as, client, none, device.device_code, insecure),
    );
  await assert.rejects(poll(), { error: 'authorization_pending' });
  await assert.rejects(poll(), { error: 'slow_down' });
  await approveDevice(device.user_code.toLowerCase());
  clock.advance(10_000);
  const others = await poll();
  await assertCalls(others.access_token, 200);
  await assert.rejects(poll(), { error: 'invalid_grant' });
  await oauth4webapi.processRevocationResponse(
    await oauth4webapi.revocationRequest(as, client, none, String(others.refresh_token), insecure),
  );
  await assertCalls(others.access_token, 403);
  await assertCalls(next.access_token, 200);
});

/** Debian's own, where another Python comes first in the path. */
const python = ['python3', '/usr/bin/python3'].find(
  (command) => spawnSync(command, ['-c', 'import authlib, requests']).status === 0,
);

test('authlib without a secret: PKCE, refresh, revocation, and a device', {
  skip: python === undefined && 'Python has no authlib (Debian: python3-authlib and python3-requests)',
}, async (t) => {
  const { url, clientId, approve, approveDevice } = await listening(t);
  const script = fileURLToPath(new URL('../fixtures/authlib_client.py', import.meta.url));
  const child = spawn(python ?? '', [script, url, url, clientId, redirectUri, scope], {
    env: { ...process.env, AUTHLIB_INSECURE_TRANSPORT: '1' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  t.after(() => child.kill());
  let errors = '';
  child.stderr.on('data', (text) => (errors += text));
  const results: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const [what = '', word = ''] = line.split(' ');
    if (what === 'open') child.stdin.write(`${await approve(word)}\n`);
    else if (what === 'type') {
      await approveDevice(word);
      child.stdin.write('approved\n');
    } else results.push(line);
  }
  const each = [`tokens ${scope}`, 'me 200', 'revoked 403'];
  assert.deepEqual(results, [...each, ...each], errors);
});
