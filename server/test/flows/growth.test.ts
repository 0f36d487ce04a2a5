import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../sdk/test/until.ts';
import { jobs } from '../../src/housekeeping.ts';
import { type TablePolicy, tables } from '../../src/platform/db/tables.ts';
import { createAuthenticator } from '../authenticator.ts';
import { buildApp } from '../build-app.ts';
import { makeCreator, makePair } from '../factories.ts';
import { approve, connect, refresh, tokensOf } from '../oauth.ts';
import { execute } from '../sql.ts';
import { signedInVisitor } from '../visitor.ts';

const day = 86_400_000;
const pruned = Object.entries<TablePolicy>(tables)
  .filter(([, policy]) => 'job' in policy.pruned)
  .map(([table]) => table);

test('everything that grows has an end: a year later the jobs leave none of it', async (t) => {
  const app = await buildApp(t);
  const { runtime, http, clock } = app;
  const { db, grants, webhooks, overlays } = runtime;
  const count = async (table: string) =>
    Number((await db.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))?.n ?? 0);
  const counts = async () => Object.fromEntries(await Promise.all(pruned.map(async (one) => [one, await count(one)])));

  const owner = await makeCreator(runtime);
  const app1 = await runtime.apps.add({
    name: 'Goal Bot',
    redirectUris: ['https://app.example/callback'],
    ownerId: owner.creatorId,
  });
  const pair = await makePair(runtime, { app: app1 });
  const { creatorId } = pair;
  // Tokens, codes, a use.
  const tokens = await connect(app, pair, app1);
  tokensOf(await refresh(http, app1, tokens.refresh_token));
  await approve(runtime, pair, app1);
  // A tip with a key, its event, a delivery.
  await webhooks.add(app1.clientId, { url: 'https://hooks.example/', types: null, description: null });
  const tip = { method: 'POST', url: '/v1/tips', payload: { amount: 20, name: 'SOMCHAI' } } as const;
  const headers = { ...pair.headers, 'idempotency-key': 'k1' };
  assert.equal((await http.inject({ ...tip, headers })).statusCode, 201);
  const [endpoint] = await webhooks.list(app1.clientId);
  await webhooks.deliveries.ping(app1.clientId, endpoint?.id ?? '');
  await runtime.lastUsed.flush();
  // A code that nobody types.
  const credentials = { client_id: app1.clientId, client_secret: app1.clientSecret };
  const device = await http.inject({ method: 'POST', url: '/v1/oauth/device_authorization', payload: credentials });
  assert.equal(device.statusCode, 200, device.body);
  // A request that fails.
  await http.inject({ url: '/v1/tips?limit=0', headers: pair.headers });
  await until('it is recorded', async () => {
    await runtime.failures.flush();
    return (await count('app_failures')) > 0;
  });
  // An overlay page, a test alert that it showed, and a node that held it.
  await http.inject({ method: 'POST', url: '/v1/alerts', headers: pair.headers });
  const page = `/overlay/${await overlays.key(creatorId)}`;
  const instance = `${'0'.repeat(8)}-0000-4000-8000-${'0'.repeat(12)}`;
  const acks = [1, 2].map((sequence) => ({ sequence, outcome: 'shown' }));
  const acknowledged = await http.inject({ method: 'POST', url: `${page}/ack`, payload: { instance, acks } });
  assert.equal(acknowledged.statusCode, 204, acknowledged.body);
  await execute(db, 'INSERT INTO overlay_presence (creator_id, node_id, connected, seen_at) VALUES ($1, $2, 1, $3)', [
    creatorId,
    'node',
    clock(),
  ]);
  await execute(db, 'INSERT INTO overlay_spans (creator_id, node_id, opened_at, seen_at) VALUES ($1, $2, $3, $3)', [
    creatorId,
    'node',
    clock(),
  ]);
  // Chaos, and a fault of it.
  await runtime.chaos.start({ creatorId, clientId: app1.clientId }, 'seed', 'limits');
  await execute(
    db,
    `INSERT INTO chaos_faults (creator_id, client_id, number, n, kind, at, subject) VALUES ($1, $2, 1, 1, 'slow', $3, '')`,
    [creatorId, app1.clientId, clock()],
  );
  // An account that was deleted, whose name nobody gets for a while.
  await runtime.leaving.deleteNow((await makeCreator(runtime)).creatorId);
  // A wrong sign-in, a session, a passkey's challenge, a second signing key.
  await runtime.signIn.withPassword('nobody', 'wrong password', { address: '192.0.2.1', userAgent: '' });
  const visitor = await signedInVisitor(app, creatorId);
  const { challenge } = (await visitor.post('/account/passkeys/options')).json();
  const credential = createAuthenticator(runtime.config.authUrl).create(challenge, {});
  await visitor.post('/account/passkeys', { credential, name: 'Phone' });
  await runtime.keys.rotate();

  assert.deepEqual(
    Object.entries(await counts()).filter(([, rows]) => rows === 0),
    [],
    'every table had a row',
  );
  await grants.deleteApp(owner.creatorId, app1.clientId);
  clock.advance(366 * day);
  for (const { run } of Object.values(jobs)) await run(runtime);
  // The key that signs now, and that this app once acted for this creator: one row each, however often it did.
  const kept = { signing_keys: 1, grants: 1, apps: 1 };
  assert.deepEqual(await counts(), { ...Object.fromEntries(pruned.map((table) => [table, 0])), ...kept });
});
