import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator, makePair } from '../../../test/factories.ts';
import { executeAll } from '../../../test/sql.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { StorageUnavailable, type Value } from '../../platform/db/database.ts';

async function setup(t: Pick<TestContext, 'after'>) {
  const app = await buildApp(t);
  const creator = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creator.creatorId);
  return { ...app, creator, visitor };
}

const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

test('without apps the page says what will stand there', async (t) => {
  const { visitor } = await setup(t);
  assert.match(textOf((await visitor.get('/dashboard/apps')).body), /No app is connected/);
});

test('an app is listed with what it may do, since when, last use and who connected it', async (t) => {
  const { visitor, creator, runtime, http, clock } = await setup(t);
  const { headers } = await makePair(runtime, { creator, scope: 'tips.read' });
  const before = textOf((await visitor.get('/dashboard/apps')).body);
  assert.match(before, /Connected by the operator/);
  assert.match(before, /Connected 15 Nov 2026, 11:00 Last used Not yet/);
  assert.match(before, /See who you are See your tips and totals/);
  assert.doesNotMatch(before, /Record tips for you/);
  clock.advance(1_800_000);
  assert.equal((await http.inject({ url: '/v1/me', headers })).statusCode, 200);
  assert.match(textOf((await visitor.get('/dashboard/apps')).body), /Last used 15 Nov 2026, 11:30/);
});

test('a use is written at most once a minute, and leaves remembered grants alone', async (t) => {
  const { runtime, creator, http, clock } = await setup(t);
  const { headers } = await makePair(runtime, { creator });
  const usedAt = async () => {
    await runtime.lastUsed.flush();
    return (await runtime.grants.connections(creator.creatorId))[0]?.used_at;
  };
  const version = runtime.db.version(['grants', 'families', 'apps', 'creators']);
  const first = clock();
  await http.inject({ url: '/v1/me', headers });
  assert.equal(await usedAt(), first);
  clock.advance(59_999);
  await http.inject({ url: '/v1/me', headers });
  assert.equal(await usedAt(), first);
  clock.advance(1);
  await http.inject({ url: '/v1/me', headers });
  assert.equal(await usedAt(), first + 60_000);
  assert.equal(runtime.db.version(['grants', 'families', 'apps', 'creators']), version);
});

test('uses of many grants are all written, and a node whose clock is behind sets none of them back', async (t) => {
  const { runtime, env } = await setup(t);
  const late = await buildApp(t, env);
  late.clock.set(runtime.clock() - 30_000);
  const sql = 'INSERT INTO grants (creator_id, id, client_id, scope, created_at) VALUES ($1, $2, $2, $3, $4)';
  const ids = Array.from({ length: 1_001 }, (_, i) => `grt_${i}`);
  await executeAll(runtime.db, ...ids.map((id): [string, Value[]] => [sql, ['crt_x', id, '', 0]]));
  for (const { lastUsed } of [runtime, late.runtime]) {
    for (const grantId of ids) lastUsed.record({ creatorId: 'crt_x', grantId });
    lastUsed.record({ creatorId: 'crt_x', grantId: 'grt_deleted' });
    await lastUsed.flush();
  }
  const written = await runtime.db.get('SELECT COUNT(*) AS count, MIN(used_at) AS first FROM grant_uses');
  assert.deepEqual(written, { count: 1_001, first: runtime.clock() });
});

test('security 34: while the storage can only be read the page is shown, and no use is lost', async (t) => {
  const { visitor, runtime, creator, clock } = await setup(t);
  await makePair(runtime, { creator });
  const grant = await runtime.db.get<{ id: string }>('SELECT id FROM grants');
  const use = { creatorId: creator.creatorId, grantId: grant?.id ?? '' };
  runtime.lastUsed.record(use);
  // Long enough since the session was seen, so that this visit would be written too.
  clock.advance(6 * 60_000);
  const refuse = () => Promise.reject(new StorageUnavailable('disk full'));
  const write = t.mock.method(runtime.db, 'write', refuse);
  const page = await visitor.get('/dashboard/apps');
  assert.equal(page.statusCode, 200);
  assert.match(textOf(page.body), /Last used Not yet/);
  assert.ok(write.mock.callCount() >= 2, 'both were tried');
  write.mock.restore();
  assert.match(textOf((await visitor.get('/dashboard/apps')).body), /Last used 15 Nov 2026, 11:00/);

  // A use that is recorded while an older one cannot be written.
  runtime.lastUsed.record(use);
  const late = t.mock.method(runtime.db, 'write', () => {
    clock.advance(60_000);
    runtime.lastUsed.record(use);
    return refuse();
  });
  await runtime.lastUsed.flush();
  late.mock.restore();
  assert.match(textOf((await visitor.get('/dashboard/apps')).body), /Last used 15 Nov 2026, 11:07/);
});

test('disconnecting stops the app at once, for this creator alone', async (t) => {
  const { visitor, creator, runtime, http } = await setup(t);
  const { headers, clientId, clientSecret } = await makePair(runtime, { creator });
  const neighbour = await makePair(runtime, { app: { clientId, clientSecret } });
  const url = `/dashboard/apps/${clientId}/disconnect`;
  assert.equal((await visitor.post(url, { csrf: 'wrong' })).statusCode, 403);
  assert.equal((await visitor.post(url, {}, { origin: 'https://evil.example' })).statusCode, 403);
  assert.equal((await http.inject({ url: '/v1/me', headers })).statusCode, 200);

  const answer = await visitor.post(url);
  assert.equal(answer.headers.location, '/dashboard/apps');
  assert.equal((await http.inject({ url: '/v1/me', headers })).json().error.code, 'grant_unusable');
  assert.equal((await http.inject({ url: '/v1/me', headers: neighbour.headers })).statusCode, 200);
  assert.match(textOf((await visitor.get('/dashboard/apps')).body), /is disconnected/);
  assert.equal((await visitor.post(url)).statusCode, 404);
});
