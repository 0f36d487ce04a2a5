import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { makeApp, makeCreator, makePair, makePublicApp } from '../../../test/factories.ts';
import { approve, challengeOf, exchange, revoke, type TokenSet, tokensOf, verifier } from '../../../test/oauth.ts';
import { execute, executeAll } from '../../../test/sql.ts';
import { signedInVisitor } from '../../../test/visitor.ts';

const endedRows = ({ runtime }: TestApp, creatorId?: string) =>
  runtime.audit.list({ action: 'grant.ended', ...(creatorId ? { creatorId } : {}) }, { limit: 1000 });

/** An app of a developer that so many creators have connected, and one of them with a token. */
async function connectedApp(t: TestContext, count: number) {
  const app = await buildApp(t);
  const { runtime } = app;
  const developer = await makeCreator(runtime);
  const client = await makeApp(runtime, 'Goal Bot', developer.creatorId);
  const pair = await makePair(runtime, { app: client });
  for (let i = 1; i < count; i += 1) {
    const { creatorId } = await makeCreator(runtime);
    await execute(
      runtime.db,
      `INSERT INTO grants (creator_id, id, client_id, scope, created_at) VALUES ($1, $2, $3, 'tips.read', $4)`,
      [creatorId, runtime.newId('grt'), client.clientId, app.clock()],
    );
  }
  return { app, developer, client, pair };
}

test('an app that its developer deletes tells each of its creators that its grant ended, without the address', async (t) => {
  const { app, developer, client, pair } = await connectedApp(t, 3);
  const visitor = await signedInVisitor(app, developer.creatorId);
  await visitor.get(`/developers/apps/${client.clientId}`);
  assert.equal((await visitor.post(`/developers/apps/${client.clientId}/delete`)).headers.location, '/developers');
  const rows = await endedRows(app);
  assert.equal(new Set(rows.map(({ creator_id }) => creator_id)).size, 3);
  for (const { actor, address, client_id, details, request_id } of rows) {
    assert.deepEqual([actor, address, client_id], [client.clientId, null, client.clientId]);
    assert.deepEqual(details, { reason: 'app_deleted' });
    assert.match(request_id ?? '', /^req_/);
  }
  const creator = await signedInVisitor(app, pair.creatorId);
  assert.match(
    (await creator.get('/account/activity')).body,
    /An app can no longer act for you[\s\S]*Goal Bot[\s\S]*App [\s\S]*Goal Bot/,
  );
});

test('the grants of a deleted app end in batches, one row each, also if a process is killed between them', async (t) => {
  const { app, developer, client, pair } = await connectedApp(t, 250);
  const { grants } = app.runtime;
  const killed = grants.deleteApp(developer.creatorId, client.clientId, async () => {
    throw new Error('killed');
  });
  await assert.rejects(killed, { message: 'killed' });
  assert.equal((await endedRows(app)).length, 100);
  assert.equal((await app.http.inject({ url: '/v1/me', headers: pair.headers })).statusCode, 403);
  await grants.endGrantsOfDeletedApps();
  await grants.endGrantsOfDeletedApps();
  const rows = await endedRows(app);
  assert.equal(rows.length, 250);
  assert.equal(new Set(rows.map(({ creator_id }) => creator_id)).size, 250);
  const live = 'SELECT id FROM grants WHERE client_id = $1 AND ended_at IS NULL';
  assert.deepEqual(await app.runtime.db.all(live, [client.clientId]), []);
});

test('among many rows those of a sandbox, of a busy account and of one that leaves are as they are alone', async (t) => {
  const { app, developer, client, pair } = await connectedApp(t, 2);
  const { runtime, clock } = app;
  const { db, newId } = runtime;
  const trial = await runtime.sandbox.create(developer.creatorId, 'Trial');
  const [busy, leaving] = [await makeCreator(runtime), await makeCreator(runtime)];
  for (const creatorId of [trial.id, busy.creatorId, leaving.creatorId])
    await runtime.grants.addByOperator(creatorId, client.clientId, 'tips.read');
  const insert = `INSERT INTO audit (id, at, action, actor, creator_id, client_id, details, last_at)
    VALUES ($1, $2, 'grant.ended', 'clock', $4, $3, '{}', $2)`;
  const row = (): [string, (string | number)[]] => [insert, [newId('aud'), clock(), client.clientId, busy.creatorId]];
  await executeAll(db, ...Array.from({ length: 500 }, row));
  await execute(db, 'UPDATE creators SET removed_at = 1 WHERE id = $1', [leaving.creatorId]);
  const before = (await endedRows(app, busy.creatorId)).length;
  await runtime.grants.deleteApp(developer.creatorId, client.clientId);
  const detailsOf = async (creatorId: string) => (await endedRows(app, creatorId)).map(({ details }) => details);
  assert.deepEqual(await detailsOf(pair.creatorId), [{ reason: 'app_deleted' }]);
  assert.deepEqual(await detailsOf(developer.creatorId), [{ reason: 'app_deleted', sandbox: trial.id }]);
  assert.deepEqual(await detailsOf(leaving.creatorId), [{}]);
  const counted = await endedRows(app, busy.creatorId);
  assert.deepEqual([counted.length, Math.max(...counted.map(({ times }) => times))], [before, 2]);
});

test('an app that goes with the account of its developer tells its creators too; a live app keeps its grants', async (t) => {
  const { app, developer, client, pair } = await connectedApp(t, 2);
  const other = await makePair(app.runtime);
  await app.runtime.leaving.deleteNow(developer.creatorId);
  await app.runtime.grants.endGrantsOfDeletedApps();
  const [row, ...more] = await endedRows(app, pair.creatorId);
  assert.deepEqual([row?.client_id, row?.details, more], [client.clientId, { reason: 'app_deleted' }, []]);
  assert.equal((await endedRows(app)).length, 2);
  assert.equal((await app.http.inject({ url: '/v1/me', headers: other.headers })).statusCode, 200);
});

test('each device of a public app that is disconnected leaves one row', async (t) => {
  const app = await buildApp(t);
  const { http, runtime } = app;
  const creator = await makeCreator(runtime);
  const client = await makePublicApp(runtime);
  const connect = async (): Promise<TokenSet> => {
    const code = await approve(runtime, creator, client, {
      scope: 'tips.read',
      codeChallenge: challengeOf(verifier),
    });
    return tokensOf(await exchange(http, client, code, { code_verifier: verifier }));
  };
  const [one, two] = [await connect(), await connect()];
  await revoke(http, client, one.refresh_token);
  await revoke(http, client, one.refresh_token);
  const [row, ...more] = await endedRows(app, creator.creatorId);
  assert.deepEqual([row?.actor, row?.client_id, more], [client.clientId, client.clientId, []]);
  assert.equal(row?.details.reason, 'app');
  assert.match(row?.details.device, /^fam_/);
  const visitor = await signedInVisitor(app, creator.creatorId);
  assert.match((await visitor.get('/account/activity')).body, /One device; others stay connected/);
  app.clock.advance(1000);
  await revoke(http, client, two.refresh_token);
  const rows = await endedRows(app, creator.creatorId);
  assert.deepEqual(
    rows.map(({ details }) => [details.reason, details.device !== undefined]),
    [
      ['app', true],
      ['app', false],
    ],
  );
});
