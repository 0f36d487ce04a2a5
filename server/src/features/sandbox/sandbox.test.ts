import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeApp, makeCreator, makePair } from '../../../test/factories.ts';
import { execute } from '../../../test/sql.ts';
import { createVisitor, signedInVisitor } from '../../../test/visitor.ts';
import { OwnerGone } from '../../platform/db/database.ts';
import { creatorTables } from '../../platform/db/tables.ts';
import { allScopes } from '../oauth/index.ts';

async function setup(t: Pick<TestContext, 'after'>) {
  const app = await buildApp(t);
  const { sandbox } = app.runtime;
  const developer = await makeCreator(app.runtime);
  const client = await makeApp(app.runtime, 'Goal Bot', developer.creatorId);
  const creator = await sandbox.create(developer.creatorId, 'Sandbox One');
  const connect = async () => {
    const tokens = await sandbox.connect(developer.creatorId, creator.id, client.clientId, allScopes);
    assert.ok(tokens);
    return { ...tokens, headers: { authorization: `Bearer ${tokens.access_token}` } };
  };
  return { ...app, sandbox, developer, client, creator, connect };
}

test('a developer has up to five sandbox creators, however many are asked for at once', async (t) => {
  const { runtime, sandbox, developer, creator } = await setup(t);
  const { creatorId } = developer;
  assert.match(creator.username, /^sandbox_[0-9a-z]{12}$/);
  const asked = Array.from({ length: 10 }, (_, n) => sandbox.create(creatorId, `More ${n}`));
  const refused = (await Promise.allSettled(asked)).filter(({ status }) => status === 'rejected');
  assert.equal(refused.length, 6);
  assert.equal((await sandbox.list(creatorId)).length, 5);
  assert.deepEqual(
    (await sandbox.list(creatorId)).filter(({ id }) => id === creator.id),
    [creator],
  );
  assert.deepEqual(await sandbox.list((await makeCreator(runtime)).creatorId), [], 'of another developer');
});

test('it is told from a real creator, and belongs to its developer alone', async (t) => {
  const { runtime, sandbox, developer, creator } = await setup(t);
  const other = await makeCreator(runtime);
  for (const _ of ['read', 'cached']) {
    assert.equal(await runtime.accounts.sandboxOf(creator.id), developer.creatorId);
    assert.equal(await runtime.accounts.sandboxOf(developer.creatorId), null);
    assert.equal(await runtime.accounts.sandboxOf('crt_nobody'), null);
  }
  const owned = { ...creator, developerId: developer.creatorId };
  assert.deepEqual(await sandbox.requireOwned(developer.creatorId, creator.id), owned);
  await assert.rejects(sandbox.requireOwned(other.creatorId, creator.id), { code: 'not_found' });
  assert.equal(await sandbox.rename(other.creatorId, creator.id, 'Mine'), false);
  assert.equal(await sandbox.remove(other.creatorId, creator.id), false);
  // A real creator is none.
  await assert.rejects(sandbox.requireOwned(developer.creatorId, other.creatorId), { code: 'not_found' });
  assert.equal(await sandbox.remove(developer.creatorId, developer.creatorId), false);
  assert.equal(await sandbox.rename(developer.creatorId, creator.id, ' Two '), true);
  assert.equal((await sandbox.requireOwned(developer.creatorId, creator.id)).display_name, 'Two');
  await assert.rejects(sandbox.create(developer.creatorId, 'Namjai'), { code: 'display_name_reserved' });
});

test('one click connects an app of the developer, with tokens that work and can be refreshed, and marks the grant', async (t) => {
  const { http, runtime, developer, client, creator, connect } = await setup(t);
  const tokens = await connect();
  const me = await http.inject({ url: '/v1/me', headers: tokens.headers });
  assert.equal(me.json().id, creator.id);
  assert.equal(me.json().scope, allScopes.join(' '));
  const refreshed = await http.inject({
    method: 'POST',
    url: '/v1/oauth/token',
    payload: {
      grant_type: 'refresh_token',
      client_id: client.clientId,
      client_secret: client.clientSecret,
      refresh_token: tokens.refresh_token,
    },
  });
  assert.equal(refreshed.statusCode, 200, refreshed.body);
  const [grant] = await runtime.grants.connections(creator.id);
  assert.equal(grant?.by_owner, 1);
  assert.deepEqual(await runtime.grants.connectedCreators(client.clientId, null, 10), [], 'not among real creators');
  assert.equal((await runtime.operator.app(client.clientId)).connected_creators, 0);
  const operators = (await runtime.operator.creators({})).data.map(({ id }) => id);
  assert.deepEqual(operators, [developer.creatorId]);
  const listed = await runtime.grants.connectedSandboxes(developer.creatorId, client.clientId);
  assert.deepEqual(
    listed.map(({ creator_id }) => creator_id),
    [creator.id],
  );
});

test('only apps of its own developer are connected, by whatever way', async (t) => {
  const { runtime, sandbox, developer, client, creator } = await setup(t);
  const other = await makeCreator(runtime);
  const foreign = await makeApp(runtime, 'Foreign', other.creatorId);
  const { creatorId } = developer;
  assert.equal(await sandbox.connect(creatorId, creator.id, foreign.clientId, allScopes), undefined);
  assert.equal(await sandbox.connect(other.creatorId, creator.id, foreign.clientId, allScopes), undefined);
  assert.equal(await sandbox.connect(other.creatorId, creator.id, client.clientId, allScopes), undefined);
  assert.equal(await sandbox.connect(creatorId, other.creatorId, client.clientId, allScopes), undefined);
  const operator = runtime.grants.addByOperator(creator.id, foreign.clientId, 'tips.read');
  await assert.rejects(operator, { code: 'app_not_of_developer' });
  assert.deepEqual(await runtime.grants.connections(creator.id), []);
});

test('nobody signs in as one: no password, no recovery code, no session, and no public page', async (t) => {
  const app = await setup(t);
  const { runtime, creator, http } = app;
  await assert.rejects(runtime.accounts.setPassword(creator.id, 'a long password'), { code: 'creator_is_sandbox' });
  const visitor = createVisitor(app);
  await visitor.get('/login');
  const answer = await visitor.post('/login', { username: creator.username, password: 'a long password' });
  assert.equal(answer.statusCode, 401);
  // Even with a session row, whoever made it.
  const intruder = await signedInVisitor(app, creator.id);
  assert.equal((await intruder.get('/dashboard')).headers.location, '/login?return_to=%2Fdashboard');
  assert.equal((await http.inject({ url: `/@${creator.username}` })).statusCode, 404);
});

test('suspending the developer pauses its sandbox creators, restoring revives them', async (t) => {
  const { http, runtime, sandbox, developer, client, creator, connect } = await setup(t);
  const { headers } = await connect();
  const status = async () => (await http.inject({ url: '/v1/me', headers })).statusCode;
  await runtime.grants.suspend('creator', developer.creatorId, runtime.clock());
  assert.equal(await status(), 403);
  assert.equal(await sandbox.connect(developer.creatorId, creator.id, client.clientId, allScopes), undefined);
  await runtime.grants.suspend('creator', developer.creatorId, null);
  assert.equal(await status(), 200);
});

test('one that the operator has suspended is listed as such, and nothing can be done with it', async (t) => {
  const { http, runtime, sandbox, developer, creator, connect } = await setup(t);
  const { headers } = await connect();
  await runtime.grants.suspend('creator', creator.id, runtime.clock());
  assert.equal((await http.inject({ url: '/v1/me', headers })).statusCode, 403);
  await assert.rejects(sandbox.requireOwned(developer.creatorId, creator.id), { code: 'not_found' });
  assert.equal((await sandbox.list(developer.creatorId))[0]?.suspended_at, runtime.clock());
  await runtime.grants.suspend('creator', creator.id, null);
  const owned = { ...creator, developerId: developer.creatorId };
  assert.deepEqual(await sandbox.requireOwned(developer.creatorId, creator.id), owned);
});

test('deleting the app ends its grant', async (t) => {
  const { http, runtime, developer, client, connect } = await setup(t);
  const { headers } = await connect();
  await runtime.grants.deleteApp(developer.creatorId, client.clientId);
  assert.equal((await http.inject({ url: '/v1/me', headers })).statusCode, 403);
});

test('removing one leaves nothing of it but the notice to the app, and touches nobody else', async (t) => {
  const { http, runtime, sandbox, developer, client, creator, connect } = await setup(t);
  const { db, tips, webhooks } = runtime;
  await webhooks.add(client.clientId, { url: 'https://app.example/hook', types: null, description: null });
  const { headers } = await connect();
  const other = await makePair(runtime, { app: client });
  const payload = { amount: 10, name: 'SOMEBODY' };
  for (const [to, key] of [
    [headers, 'a'],
    [headers, 'b'],
    [other.headers, 'a'],
  ] as const)
    await http.inject({ method: 'POST', url: '/v1/tips', headers: { ...to, 'idempotency-key': key }, payload });
  await runtime.overlays.get(creator.id);
  assert.equal(await sandbox.remove(developer.creatorId, creator.id), true);
  // Uses are written a second later.
  await runtime.lastUsed.flush();
  for (const { table, column } of creatorTables) {
    const left = await db.all(`SELECT * FROM ${table} WHERE ${column} = $1`, [creator.id]);
    assert.equal(left.length, 0, table);
  }
  const notices = await db.all<{ body: string }>(
    `SELECT body FROM webhook_deliveries WHERE event_type = 'grant.revoked'`,
  );
  assert.deepEqual(
    notices.map(({ body }) => JSON.parse(body).data),
    [{ creator_id: creator.id, reason: 'account_deleted' }],
  );
  assert.equal((await http.inject({ url: '/v1/me', headers })).statusCode, 403);
  assert.deepEqual(await sandbox.list(developer.creatorId), []);
  assert.equal(await sandbox.remove(developer.creatorId, creator.id), false);
  const left = await tips.stats(other.creatorId);
  assert.equal(left.all_time.count, 1);
  assert.equal((await http.inject({ url: '/v1/me', headers: other.headers })).statusCode, 200);
});

test('a removal that was interrupted is finished later, and nothing can be done as the creator meanwhile', async (t) => {
  const { http, runtime, sandbox, developer, creator, client, connect } = await setup(t);
  const { db, clock } = runtime;
  const { headers } = await connect();
  await http.inject({ method: 'POST', url: '/v1/tips', headers, payload: { amount: 10, name: 'SOMEBODY' } });
  // As if the process had died right after the first commit.
  const removed = 'UPDATE creators SET removed_at = $2, suspended_at = $2 WHERE id = $1';
  await execute(db, removed, [creator.id, clock()]);
  await runtime.grants.suspend('creator', developer.creatorId, null);
  assert.equal((await http.inject({ url: '/v1/me', headers })).statusCode, 403, 'restoring revives none');
  await assert.rejects(sandbox.requireOwned(developer.creatorId, creator.id), { code: 'not_found' });
  assert.equal(await sandbox.connect(developer.creatorId, creator.id, client.clientId, allScopes), undefined);
  await sandbox.finishRemovals();
  assert.deepEqual(await db.all('SELECT id FROM creators WHERE id = $1', [creator.id]), []);
  assert.deepEqual(await db.all('SELECT id FROM tips WHERE creator_id = $1', [creator.id]), []);
});

test('requests that were under way when the creator was removed are refused, and none fails', async (t) => {
  const { http, runtime, creator, connect } = await setup(t);
  const { headers } = await connect();
  const tip = { method: 'POST', url: '/v1/tips', headers, payload: { amount: 10, name: 'SOMEBODY' } } as const;
  const { id } = (await http.inject(tip)).json();
  const key = await runtime.overlays.key(creator.id);
  const input = { title: 'x', targetMinor: 100_000, startsAt: 0, endsAt: null };
  const goal = await runtime.goals.add(creator.id, input);
  assert.ok(goal);
  // What such a request finds: the guard has read the grant before the head of the log was deleted.
  await execute(runtime.db, 'DELETE FROM creator_heads WHERE creator_id = $1', [creator.id]);
  for (const request of [
    tip,
    { ...tip, headers: { ...headers, 'idempotency-key': 'once' } },
    { method: 'POST', url: '/v1/alerts', headers, payload: {} },
    { url: '/v1/tips/stats', headers },
  ] as const) {
    const answer = await http.inject(request);
    assert.equal(answer.statusCode, 403, request.url);
    assert.equal(answer.json().error.code, 'grant_unusable');
  }
  await assert.rejects(
    runtime.screening.change(creator.id, (rules) => rules),
    { code: 'grant_unusable' },
  );
  await assert.rejects(runtime.goals.add(creator.id, input), { code: 'grant_unusable' });
  // Of these the write finds it out.
  const acks = { instance: crypto.randomUUID(), acks: [{ sequence: 1, outcome: 'shown' }] };
  for (const request of [
    { method: 'POST', url: `/v1/tips/${id}/void`, headers, payload: {} },
    { method: 'POST', url: `/overlay/${key}/ack`, payload: acks },
  ] as const)
    assert.equal((await http.inject(request)).statusCode, 404, request.url);
  await assert.rejects(runtime.erasure.one(creator.id, id), OwnerGone);
  await assert.rejects(runtime.goals.end(creator.id, goal.id), OwnerGone);
  const left = 'SELECT id, alert_status, voided_at, erased_at FROM tips WHERE creator_id = $1';
  assert.deepEqual(
    await runtime.db.all(left, [creator.id]),
    [{ id, alert_status: 'queued', voided_at: null, erased_at: null }],
    'nothing is recorded',
  );
});

test('more rows than one batch are removed too', async (t) => {
  const { runtime, sandbox, developer, creator } = await setup(t);
  const { db, tips } = runtime;
  const tip = { creatorId: creator.id, app: null, amount: 1, name: 'MANY', displayName: null, message: null };
  await Promise.all(Array.from({ length: 1100 }, () => tips.record(tip)));
  assert.equal(await sandbox.remove(developer.creatorId, creator.id), true);
  for (const table of ['tips', 'events'])
    assert.deepEqual(await db.all(`SELECT 1 FROM ${table} WHERE creator_id = $1`, [creator.id]), [], table);
});

test('the sandbox creators of the demo go with it', async (t) => {
  const { runtime } = await buildApp(t);
  const { demo, sandbox, db } = runtime;
  await demo.ensure();
  const world = await demo.world();
  assert.ok(world);
  const { id } = await sandbox.create(world.creatorId, 'Sandbox');
  await demo.remove();
  assert.deepEqual(await db.all('SELECT id FROM creators WHERE id = $1', [id]), []);
});
