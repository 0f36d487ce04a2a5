import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as client from 'openid-client';
import type { Page } from 'playwright-core';
import { launch, serveApp, skip } from './chromium.ts';
import { startThirdPartyApp } from './third-party-app.ts';

const password = 'a long enough password';

async function signUp(page: Page, address: string, username: string): Promise<void> {
  await page.goto(`${address}/signup`);
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Create an account' }).click();
  await page.waitForURL((url) => url.pathname !== '/signup');
}

async function registerApp(page: Page, address: string, redirectUri: string) {
  await page.goto(`${address}/developers`);
  await page.getByRole('link', { name: 'Register an app' }).click();
  await page.getByLabel('Name').fill('Goal Bot');
  await page.getByLabel('Redirect URIs').fill(redirectUri);
  await page.getByRole('button', { name: 'Register an app' }).click();
  return {
    clientId: await page.getByLabel('Client ID').inputValue(),
    clientSecret: await page.getByLabel('Client secret').inputValue(),
  };
}

for (const scripts of [true, false])
  test(`the whole journey in Chromium, scripts ${scripts ? 'on' : 'off'}`, { skip }, async (t) => {
    const { address } = await serveApp(t);
    const app = await startThirdPartyApp(t);
    const browser = await launch(t);
    const context = await browser.newContext({ locale: 'en-US', javaScriptEnabled: scripts });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (/security policy/i.test(message.text())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));

    const post = async (path: string, body: object) => {
      const answer = await fetch(address + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: answer.status, body: await answer.json() };
    };
    const me = (token: string) => fetch(`${address}/v1/me`, { headers: { authorization: `Bearer ${token}` } });

    await signUp(page, address, 'mali');
    const credentials = await registerApp(page, address, app.redirectUri);

    // Somebody who is not signed in is sent to sign in, and comes back to the very request.
    await page.goto(`${address}/logout`);
    await page.getByRole('main').getByRole('button', { name: 'Sign out' }).click();
    const state = 'two lines\nand น้ำใจ & more';
    const query = new URLSearchParams({
      client_id: credentials.clientId,
      redirect_uri: app.redirectUri,
      scope: 'profile.read tips.read',
      state,
    });
    await page.goto(`${address}/oauth/authorize?${query}`);
    await page.getByLabel('Username').fill('mali');
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Connect Goal Bot?' }).waitFor();
    await page.getByText(new URL(app.redirectUri).host).waitFor();
    await page.getByText('See your tips and totals').waitFor();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.waitForURL(app.home);
    const answer = Object.fromEntries(app.callbacks[0]?.searchParams ?? []);
    assert.equal(answer.state, state);
    assert.equal(answer.iss, address);

    const exchanged = await post('/v1/oauth/token', {
      grant_type: 'authorization_code',
      ...{ client_id: credentials.clientId, client_secret: credentials.clientSecret },
      code: answer.code,
      redirect_uri: app.redirectUri,
    });
    assert.equal(exchanged.status, 200, JSON.stringify(exchanged.body));
    assert.equal(exchanged.body.scope, 'profile.read tips.read');
    const identity = await me(exchanged.body.access_token);
    assert.equal(identity.status, 200);
    assert.equal((await identity.json()).username, 'mali');
    const refreshed = await post('/v1/oauth/token', {
      grant_type: 'refresh_token',
      ...{ client_id: credentials.clientId, client_secret: credentials.clientSecret },
      refresh_token: exchanged.body.refresh_token,
    });
    assert.equal(refreshed.status, 200);

    await page.goto(`${address}/dashboard/apps`);
    await page.getByText('Disconnect', { exact: true }).click();
    await page.getByRole('button', { name: 'Disconnect it now' }).click();
    await page.getByText('Goal Bot is disconnected.').waitFor();
    for (const { access_token } of [exchanged.body, refreshed.body]) {
      const refused = await me(access_token);
      assert.equal(refused.status, 403);
      assert.equal((await refused.json()).error.code, 'grant_unusable');
    }

    await page.goto(`${address}/oauth/authorize?${query}`);
    await page.getByRole('button', { name: 'Do not connect' }).click();
    await page.waitForURL(app.home);
    assert.equal(app.callbacks[1]?.searchParams.get('error'), 'access_denied');
    assert.deepEqual(complaints, []);
  });

test('openid-client completes the flow with PKCE while the browser approves', { skip }, async (t) => {
  const { address } = await serveApp(t);
  const app = await startThirdPartyApp(t);
  const browser = await launch(t);
  const page = await (await browser.newContext({ locale: 'en-US' })).newPage();
  await signUp(page, address, 'mali');
  const { clientId, clientSecret } = await registerApp(page, address, app.redirectUri);

  const config = await client.discovery(new URL(address), clientId, clientSecret, undefined, {
    algorithm: 'oauth2',
    execute: [client.allowInsecureRequests],
  });
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const expectedState = client.randomState();
  const start = client.buildAuthorizationUrl(config, {
    redirect_uri: app.redirectUri,
    scope: 'tips.read events.subscribe',
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: expectedState,
  });
  await page.goto(start.href);
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.waitForURL(app.home);
  const [callback] = app.callbacks;
  assert.ok(callback);
  const tokens = await client.authorizationCodeGrant(config, callback, { pkceCodeVerifier, expectedState });
  assert.equal(tokens.scope, 'tips.read events.subscribe');
  const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '');
  const answer = await client.fetchProtectedResource(
    config,
    refreshed.access_token,
    new URL(`${address}/v1/tips`),
    'GET',
  );
  assert.equal(answer.status, 200);

  await page.goto(start.href);
  await page.getByRole('button', { name: 'Do not connect' }).click();
  await page.waitForURL(app.home);
  await assert.rejects(
    client.authorizationCodeGrant(config, app.callbacks[1] ?? callback, { pkceCodeVerifier, expectedState }),
    { error: 'access_denied' },
  );
});
