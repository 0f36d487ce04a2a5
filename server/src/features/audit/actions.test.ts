import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { createAuthenticator } from '../../../test/authenticator.ts';
import { runCommand } from '../../../test/cli-process.ts';
import { basic } from '../../../test/factories.ts';
import { connect, exchange, post, redirectUri, refresh, revoke, tokensOf } from '../../../test/oauth.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { execute } from '../../../test/sql.ts';
import { createVisitor } from '../../../test/visitor.ts';
import { buildWebhooks } from '../../../test/webhooks.ts';
import { type AuditAction, auditActions } from '../../audit-actions.ts';
import type { AuditEntry } from './service.ts';

const day = 86_400_000;
const password = 'a long password';
const ticketIn = (body: string): string => /name="request" value="([^"]+)"/.exec(body)?.[1] ?? '';
const found = (pattern: RegExp, body: string): string => {
  const [, value] = pattern.exec(body) ?? [];
  assert.ok(value, `${pattern} is not in ${body.slice(0, 2000)}`);
  return value;
};

test('every action leaves exactly one row, in the name of who did it, about whom it concerns', async (t) => {
  const app = await buildWebhooks(t);
  const { http, runtime, env, clock, worker } = app;
  const rows = () => runtime.audit.list({}, { limit: 1000 });
  const known = new Set((await rows()).map(({ id }) => id));
  const seen = new Set<string>();
  const secrets: string[] = [password, env.SECRET_KEY ?? ''];
  let newest: AuditEntry[] = [];

  /** Does something, and returns its rows, which are of these actions. */
  async function leaves(expected: AuditAction[], act: () => Promise<unknown>): Promise<AuditEntry[]> {
    await act();
    await until(`there are ${expected}`, async () => {
      newest = (await rows()).filter(({ id }) => !known.has(id));
      return newest.length >= expected.length;
    });
    assert.deepEqual(newest.map(({ action }) => action).sort(), expected.toSorted());
    for (const { id, action } of newest) {
      known.add(id);
      seen.add(action);
    }
    return newest;
  }

  // An account by the pages.
  const from = '192.0.2.7';
  const owner = createVisitor(app, { address: from });
  await owner.get('/signup');
  const [signUp] = await leaves(['account.created', 'session.started'], () =>
    owner.post('/signup', { username: 'mali', password }, { 'user-agent': 'Firefox' }),
  );
  const creatorId = signUp?.creator_id ?? '';
  assert.match(creatorId, /^crt_/);
  const mine = ({ actor, creator_id, address, request_id }: AuditEntry) => {
    assert.deepEqual([actor, creator_id, address], [creatorId, creatorId, from]);
    assert.match(request_id ?? '', /^req_/);
  };
  newest.forEach(mine);
  await owner.get('/account');
  assert.ok(newest.some(({ details }) => details.user_agent === 'Firefox' && details.method === 'signup'));

  /** By the owner, on a page, about the own account. */
  async function page(expected: AuditAction, url: string, fields: Record<string, string> = {}) {
    let body = '';
    await leaves([expected], async () => {
      const answer = await owner.post(url, fields);
      body = answer.body;
      assert.ok(answer.statusCode < 400, `${url} ${answer.statusCode} ${body}`);
    });
    newest.forEach(mine);
    return body;
  }

  const stranger = createVisitor(app, { address: '198.51.100.9' });
  await stranger.get('/login');
  await leaves(['session.refused'], () => stranger.post('/login', { username: 'mali', password: 'a wrong password' }));
  assert.deepEqual([newest[0]?.actor, newest[0]?.creator_id], ['visitor', creatorId]);
  await leaves([], () => stranger.post('/login', { username: 'nobody', password: 'a wrong password' }));
  await leaves(['session.started'], () => stranger.post('/login', { username: 'mali', password }));
  assert.deepEqual([newest[0]?.actor, newest[0]?.address], [creatorId, '198.51.100.9']);
  await page('session.ended', '/account/sessions/end-others');
  await page('account.profile_changed', '/dashboard/profile', { display_name: 'Mali' });
  await page('account.profile_changed', '/dashboard/profile/avatar/remove');
  await page('account.password_changed', '/account/password', { password: 'another long one' });
  const codes = await page('recovery_codes.replaced', '/account/recovery-codes');
  const code = found(/<pre id="codes"[^>]*>(\S+)/, codes);
  secrets.push('another long one', code);

  const authenticator = createAuthenticator(runtime.config.authUrl);
  const { challenge } = (await owner.post('/account/passkeys/options')).json();
  await page('passkey.added', '/account/passkeys', { credential: authenticator.create(challenge), name: 'Phone' });
  const passkeyId = found(/passkeys\/(psk_\w+)\/name/, (await owner.get('/account')).body);
  await page('passkey.renamed', `/account/passkeys/${passkeyId}/name`, { name: 'Old phone' });
  await stranger.get('/login');
  const options = (await stranger.post('/login/passkey/options')).json();
  await leaves(['session.started'], () =>
    stranger.post('/login/passkey', { credential: authenticator.get(options.challenge) }),
  );
  await page('passkey.removed', `/account/passkeys/${passkeyId}/remove`);
  // The browser's older session ends as another one begins.
  await stranger.get('/login/recovery');
  await leaves(['account.recovered'], async () => {
    await stranger.post('/login/recovery', { username: 'mali', code, password: 'the third long one' });
  });
  secrets.push('the third long one');
  await owner.get('/login');
  await leaves(['session.started'], () => owner.post('/login', { username: 'mali', password: 'the third long one' }));
  newest.forEach(mine);
  await owner.get('/account');

  await leaves(['overlay_key.created'], () => owner.get('/dashboard/overlay'));
  newest.forEach(mine);
  await page('overlay_key.replaced', '/dashboard/overlay/replace');
  const links = await page('moderator_link.created', '/dashboard/live/moderators', { title: 'Nok' });
  secrets.push(found(/(njm_\w+)/, links));
  const linkId = found(/moderators\/(mod_\w+)\/revoke/, (await owner.get('/dashboard/live')).body);
  await page('moderator_link.revoked', `/dashboard/live/moderators/${linkId}/revoke`);
  const keyPage = await page('stream_key.created', '/dashboard/connections/keys', { name: 'Deck', minimum: '0' });
  secrets.push(found(/(njk_\w+)/, keyPage));
  const keyId = found(/keys\/(key_\w+)\/revoke/, (await owner.get('/dashboard/connections')).body);
  await page('stream_key.revoked', `/dashboard/connections/keys/${keyId}/revoke`);

  // Apps and grants.
  const details = { name: 'Goal Bot', redirect_uris: redirectUri };
  const registered = await page('app.created', '/developers/apps', details);
  const clientId = found(/(app_\w{26})/, registered);
  const clientSecret = found(/(njs_\w+)/, registered);
  secrets.push(clientSecret);
  const client = { clientId, clientSecret };
  const apps = `/developers/apps/${clientId}`;
  await page('app.changed', apps, { ...details, description: 'Goals on the screen' });
  await page('app.changed', `${apps}/logo/remove`);
  const consent = await owner.get(
    `/oauth/authorize?client_id=${clientId}&redirect_uri=${encodeURIComponent(redirectUri)}&state=x&scope=tips.read`,
  );
  let tokens = { access_token: '', refresh_token: '' };
  let authorizationCode = '';
  await leaves(['grant.approved'], async () => {
    const answer = await owner.post('/oauth/authorize', { request: ticketIn(consent.body), decision: 'approve' });
    authorizationCode = new URL(answer.headers.location ?? '').searchParams.get('code') ?? '';
  });
  newest.forEach(mine);
  assert.deepEqual([newest[0]?.client_id, newest[0]?.details], [clientId, { scope: 'tips.read' }]);
  await leaves(['grant.connected'], async () => {
    tokens = tokensOf(await exchange(http, client, authorizationCode));
  });
  secrets.push(authorizationCode, tokens.access_token, tokens.refresh_token);
  assert.deepEqual([newest[0]?.actor, newest[0]?.creator_id], [clientId, creatorId]);
  await leaves(['grant.ended'], () => revoke(http, client, tokens.access_token));
  assert.deepEqual([newest[0]?.actor, newest[0]?.details], [clientId, { reason: 'app' }]);
  await leaves([], () => revoke(http, client, tokens.access_token));
  await leaves(['grant.approved', 'grant.connected'], async () => {
    tokens = await connect(app, { creatorId, username: 'mali' }, client);
  });
  await leaves([], () => refresh(http, client, tokens.refresh_token));
  clock.advance(11_000);
  await leaves(['grant.reuse_detected'], () => refresh(http, client, tokens.refresh_token));
  assert.deepEqual([newest[0]?.actor, newest[0]?.creator_id, newest[0]?.client_id], [clientId, creatorId, clientId]);

  // A device, whose app is public: it proves itself by its code.
  const program = await runtime.apps.cliClientId();
  const device = (
    await post(http, '/v1/oauth/device_authorization', { client_id: program, scope: 'tips.read' })
  ).json();
  const asked = await owner.post('/device', { user_code: device.user_code });
  await page('grant.approved', '/device/decision', { request: ticketIn(asked.body), decision: 'approve' });
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
  await leaves(['grant.connected'], async () => {
    const { device_code } = device;
    tokens = tokensOf(await post(http, '/v1/oauth/token', { grant_type, client_id: program, device_code }));
  });
  secrets.push(device.device_code, tokens.refresh_token);
  assert.deepEqual([newest[0]?.actor, newest[0]?.creator_id], [program, creatorId]);
  await page('grant.ended', `/dashboard/apps/${program}/disconnect`);
  const made = await page('grant.token_made', `${apps}/token`, { 'scope.tips.read': 'on' });
  secrets.push(found(/(eyJ[\w.-]+)/, made));

  await page('sandbox.created', '/developers/sandbox', { name: 'Try out' });
  const sandboxId = found(/sandbox\/(crt_\w+)/, (await owner.get('/developers/sandbox')).body);
  await leaves(['overlay_key.created'], () => owner.get(`/developers/sandbox/${sandboxId}`));
  assert.deepEqual([newest[0]?.actor, newest[0]?.creator_id], [creatorId, creatorId]);
  await page('grant.token_made', `/developers/sandbox/${sandboxId}/connect`, {
    client_id: clientId,
    'scope.tips.read': 'on',
  });
  assert.equal(newest[0]?.details.sandbox, sandboxId, 'the developer sees what was done with it');
  await page('sandbox.renamed', `/developers/sandbox/${sandboxId}/name`, { name: 'Tried out' });
  const ended = await leaves(['sandbox.removed', 'grant.ended'], () =>
    owner.post(`/developers/sandbox/${sandboxId}/remove`),
  );
  ended.forEach(mine);

  // Webhooks by the app's own credentials: its owner sees them.
  const receiver = await startReceiver(t);
  const hook = (method: 'POST' | 'PATCH' | 'DELETE', path: string, payload?: object) =>
    http.inject({ method, url: `/v1/webhooks${path}`, headers: basic(client), ...(payload ? { payload } : {}) });
  let webhook = { id: '', secret: '' };
  await leaves(['webhook.created'], async () => {
    webhook = (await hook('POST', '', { url: receiver.url })).json();
  });
  assert.deepEqual([newest[0]?.actor, newest[0]?.creator_id, newest[0]?.client_id], [clientId, creatorId, clientId]);
  secrets.push(webhook.secret, new URL(receiver.url).host);
  await leaves(['webhook.changed'], () => hook('PATCH', `/${webhook.id}`, { description: 'x' }));
  await leaves(['webhook.secret_replaced'], async () => {
    secrets.push((await hook('POST', `/${webhook.id}/rotate-secret`)).json().secret);
  });
  // The receiver answers 410: the clock disables it.
  receiver.answer = (response) => response.writeHead(410).end();
  await hook('POST', `/${webhook.id}/ping`);
  await leaves(['webhook.disabled'], () => worker.pass());
  assert.deepEqual([newest[0]?.actor, newest[0]?.creator_id, newest[0]?.address], ['clock', creatorId, null]);
  await leaves(['webhook.changed'], () => hook('PATCH', `/${webhook.id}`, { enabled: true }));
  receiver.answer = (response) => response.writeHead(500).end();
  await hook('POST', `/${webhook.id}/ping`);
  await leaves([], () => worker.pass());
  clock.advance(6 * day);
  await leaves(['webhook.disabled'], () => runtime.webhooks.disableFailing());
  assert.deepEqual([newest[0]?.actor, newest[0]?.details.reason], ['clock', 'failing']);
  await leaves(['webhook.removed'], () => hook('DELETE', `/${webhook.id}`));
  await leaves([], () => hook('DELETE', `/${webhook.id}`));

  // Six days later the owner signs in again.
  await owner.get('/login');
  await leaves(['session.started', 'session.ended'], () =>
    owner.post('/login', { username: 'mali', password: 'the third long one' }),
  );
  await owner.get('/account');
  const discord = { label: 'Chat', url: receiver.url, minAmount: '0' };
  await page('connection.added', '/dashboard/connections/new/discord', discord);
  const connection = found(/connections\/(con_\w+)/, (await owner.get('/dashboard/connections')).body);
  await page('connection.changed', `/dashboard/connections/${connection}/pause`);
  await page('connection.removed', `/dashboard/connections/${connection}/remove`);
  const rotated = await page('app.secret_replaced', `${apps}/secret`);
  secrets.push(found(/(njs_\w+)/, rotated));

  // The operator.
  async function command(expected: AuditAction[], ...args: string[]) {
    await leaves(expected, async () => {
      const { code, err } = await runCommand(env, ...args);
      assert.equal(code, 0, err);
    });
    for (const { actor, actor_name, address } of newest) {
      assert.deepEqual([actor, address], ['operator', null]);
      assert.ok(actor_name, 'the user of the machine');
    }
  }
  await command(['account.created'], 'creator', 'add', '--username', 'somchai', '--password', 'from the operator');
  secrets.push('from the operator');
  await command(['account.password_changed'], 'creator', 'password', 'somchai');
  await command(['account.suspended_or_restored'], 'creator', 'suspend', 'somchai');
  assert.deepEqual(newest[0]?.details, { now: 'suspended' });
  await command(['account.suspended_or_restored'], 'creator', 'restore', 'somchai');
  await command(['app.suspended_or_restored'], 'app', 'suspend', clientId);
  assert.equal(newest[0]?.creator_id, creatorId, 'the owner sees it');
  await command(['app.suspended_or_restored'], 'app', 'restore', clientId);
  await command(
    ['grant.approved'],
    'grant',
    'add',
    '--creator',
    'somchai',
    '--client',
    clientId,
    '--scope',
    'tips.read',
  );
  await command(['grant.ended'], 'grant', 'revoke', '--creator', 'somchai', '--client', clientId);
  await command(['signing_key.created'], 'keys', 'rotate');
  await execute(app.runtime.db, 'UPDATE creator_heads SET last_at = $1', [Date.now() + 60_000]);
  await command(['account.clock_repaired'], 'creator', 'repair-clock', 'somchai');
  await command([], 'creator', 'repair-clock', 'somchai');
  await command([], 'creator', 'list');
  await leaves(['app.deleted', 'grant.ended'], () => owner.post(`${apps}/delete`));
  const [ownGrant] = newest.filter(({ action }) => action === 'grant.ended');
  assert.deepEqual(
    [ownGrant?.actor, ownGrant?.creator_id, ownGrant?.address, ownGrant?.details],
    [clientId, creatorId, null, { reason: 'app_deleted' }],
  );

  // The account leaves.
  await page('account.export_made', '/account/data/export');
  await page('account.deletion_asked', '/account/data/delete', { username: 'mali' });
  await command(['account.restored'], 'creator', 'restore', 'mali');
  await command(['account.deletion_asked', 'account.deleted'], 'creator', 'delete', 'mali', '--now', '--yes');

  assert.deepEqual(
    Object.keys(auditActions).filter((action) => !seen.has(action)),
    // audit.test.ts, each on a server of its own.
    ['secret_key.rotated', 'demo.removed'],
    'actions that nothing here has made',
  );
  const all = JSON.stringify(await rows());
  for (const secret of secrets) assert.ok(!all.includes(secret), secret);
});
