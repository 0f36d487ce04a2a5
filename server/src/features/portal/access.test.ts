import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeApp, makeCreator, makePair } from '../../../test/factories.ts';
import { execute } from '../../../test/sql.ts';
import { signedInVisitor } from '../../../test/visitor.ts';

async function setup(t: Pick<TestContext, 'after'>) {
  const app = await buildApp(t);
  const developer = await makeCreator(app.runtime);
  const client = await makeApp(app.runtime, 'Goal Bot', developer.creatorId);
  const visitor = await signedInVisitor(app, developer.creatorId);
  const url = `/developers/apps/${client.clientId}`;
  const call = async (token: string | undefined, path: string) =>
    app.http.inject({ url: path, headers: { authorization: `Bearer ${token}` } });
  const grant = async () => (await app.runtime.grants.connections(developer.creatorId))[0];
  return { ...app, developer, client, visitor, url, call, grant };
}

const tokenIn = (body: string) => /eyJ[\w-]+\.[\w-]+\.[\w-]+/.exec(body)?.[0];
const scopeFields = (...scopes: string[]) => Object.fromEntries(scopes.map((scope) => [`scope.${scope}`, 'on']));
const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

test('one click makes a token for the own account that may do what was ticked, shown once and marked', async (t) => {
  const { visitor, url, call, clock, developer, client } = await setup(t);
  assert.match((await visitor.get(url)).body, /name="scope\.tips\.read"[^>]* checked/);
  const page = await visitor.post(`${url}/token`, scopeFields('tips.read', 'profile.read'));
  assert.equal(page.statusCode, 201);
  assert.equal(page.headers['cache-control'], 'no-store');
  const token = tokenIn(page.body);
  const me = (await call(token, '/v1/me')).json();
  assert.equal(me.id, developer.creatorId);
  assert.equal(me.app.client_id, client.clientId);
  assert.equal(me.scope, 'profile.read tips.read');
  assert.equal((await call(token, '/v1/tips')).statusCode, 200);
  assert.equal((await call(token, '/v1/events')).json().error.code, 'insufficient_scope');
  assert.equal(tokenIn((await visitor.get(url)).body), undefined, 'shown once');
  assert.match(textOf((await visitor.get('/dashboard/apps')).body), /By you, for your own app/);
  assert.match(textOf((await visitor.get(`${url}/creators`)).body), /Your own token/);
  clock.advance(3_600_000);
  assert.equal((await call(token, '/v1/me')).json().error.code, 'token_expired');
});

test('it cannot be refreshed, and nothing of it is left a month after it has expired', async (t) => {
  const { visitor, url, runtime, clock } = await setup(t);
  const page = await visitor.post(`${url}/token`, scopeFields('tips.read'));
  assert.doesNotMatch(page.body, /njr_/);
  clock.advance(3_600_001 + 30 * 86_400_000);
  await runtime.grants.pruneEnded();
  assert.deepEqual(await runtime.db.all('SELECT id FROM families'), []);
  assert.deepEqual(await runtime.db.all('SELECT hash FROM refresh_tokens'), []);
});

test('what is ticked replaces what the app may do for the own account; approving on the consent page removes the mark', async (t) => {
  const { visitor, url, runtime, developer, client, call, grant } = await setup(t);
  const before = await makePair(runtime, { creator: developer, app: client });
  const page = await visitor.get(url);
  assert.match(textOf(page.body), /What you tick replaces what it may do there/);
  const token = tokenIn((await visitor.post(`${url}/token`, scopeFields('tips.read'))).body);
  assert.equal((await grant())?.scope, 'tips.read');
  assert.doesNotMatch((await visitor.get(url)).body, /name="scope\.profile\.read"[^>]* checked/);
  for (const each of [token, before.accessToken])
    assert.equal((await call(each, '/v1/profile')).json().error.code, 'insufficient_scope');
  const nothing = tokenIn((await visitor.post(`${url}/token`)).body);
  assert.equal((await call(nothing, '/v1/me')).json().scope, '');
  assert.deepEqual([(await grant())?.by_owner, (await grant())?.by_operator], [1, 0]);
  const request = { clientId: client.clientId, scopes: [], redirectUri: 'https://app.example/', codeChallenge: null };
  await runtime.grants.approve(developer.creatorId, request);
  assert.equal((await grant())?.by_owner, 0);
  await visitor.post(`/dashboard/apps/${client.clientId}/disconnect`);
  assert.equal((await call(nothing, '/v1/me')).json().error.code, 'grant_unusable');
});

test('of a public app, too: the token is a device of its own and leaves the others as they were', async (t) => {
  const { visitor, runtime, developer, call } = await setup(t);
  const { clientId } = await runtime.apps.addPublic({ name: 'Deck', redirectUris: [], ownerId: developer.creatorId });
  const device = await makePair(runtime, { creator: developer, app: { clientId, clientSecret: '' } });
  const page = await visitor.get(`/developers/apps/${clientId}`);
  assert.doesNotMatch(textOf(page.body), /What you tick replaces/);
  const token = tokenIn((await visitor.post(`/developers/apps/${clientId}/token`, scopeFields('tips.read'))).body);
  assert.equal((await call(token, '/v1/me')).json().scope, 'tips.read');
  assert.equal((await call(device.accessToken, '/v1/profile')).statusCode, 200);
});

test('security 5, 23, 30: a token needs the form’s CSRF token, a recent sign-in and an own app that is not suspended', async (t) => {
  const app = await setup(t);
  const { visitor, url, runtime, clock, developer, client } = app;
  const grants = async () => (await runtime.db.all('SELECT id FROM grants')).length;
  assert.equal((await visitor.post(`${url}/token`, { csrf: 'wrong' })).statusCode, 403);
  assert.equal((await visitor.post(`${url}/token`, {}, { origin: 'https://evil.example' })).statusCode, 403);
  const other = await signedInVisitor(app, (await makeCreator(runtime)).creatorId);
  assert.equal((await other.post(`${url}/token`)).statusCode, 404);
  const operators = await makeApp(runtime);
  assert.equal((await visitor.post(`/developers/apps/${operators.clientId}/token`)).statusCode, 404);
  assert.equal(await runtime.grants.issueToOwner(developer.creatorId, operators.clientId, []), undefined);
  await runtime.grants.suspend('app', client.clientId, 1);
  assert.doesNotMatch((await visitor.get(url)).body, /\/token"/);
  assert.equal((await visitor.post(`${url}/token`)).headers.location, url);
  assert.match(textOf((await visitor.get(url)).body), /No token was made/);
  await runtime.grants.suspend('app', client.clientId, null);
  clock.advance(11 * 60_000);
  assert.match(String((await visitor.post(`${url}/token`)).headers.location), /^\/login\?/);
  assert.equal(await grants(), 0);
});

test('a developer makes at most 20 tokens an hour, over all apps', async (t) => {
  const { visitor, url, runtime, developer } = await setup(t);
  const second = await makeApp(runtime, 'Other', developer.creatorId);
  for (let i = 0; i < 20; i++) assert.equal((await visitor.post(`${url}/token`)).statusCode, 201);
  const refused = await visitor.post(`/developers/apps/${second.clientId}/token`);
  assert.equal(refused.statusCode, 429);
  assert.ok(Number(refused.headers['retry-after']) > 0);
  assert.equal((await runtime.db.all('SELECT id FROM families')).length, 20);
});

test('connected creators are listed with names, scopes and since when, in pages, newest first', async (t) => {
  const { visitor, url, runtime, client, clock } = await setup(t);
  assert.match(textOf((await visitor.get(`${url}/creators`)).body), /No creator has connected this app yet/);
  const names: string[] = [];
  for (let i = 0; i < 26; i++) {
    const creator = await makeCreator(runtime, `supporter_${String(i).padStart(2, '0')}`);
    names.unshift(creator.username);
    await runtime.grants.addByOperator(creator.creatorId, client.clientId, i === 0 ? '' : 'tips.read profile.read');
    clock.advance(1000);
  }
  const neighbour = await makePair(runtime);
  const [ended, suspended] = [await makeCreator(runtime, 'ended_one'), await makeCreator(runtime, 'suspended_one')];
  for (const { creatorId } of [ended, suspended])
    await runtime.grants.addByOperator(creatorId, client.clientId, 'tips.read');
  await runtime.grants.revoke(ended.creatorId, client.clientId, 'creator');
  await runtime.grants.suspend('creator', suspended.creatorId, 1);

  const listed = (body: string) => [...body.matchAll(/@(\w+)<\/span>/g)].map(([, name]) => name);
  const first = await visitor.get(`${url}/creators`);
  assert.deepEqual(listed(first.body), names.slice(0, 25));
  assert.match(textOf(first.body), /supporter_25 @supporter_25 By the operator profile\.read tips\.read 15 Nov 2026/);
  const next = /href="([^"]*\?before[^"]*)"/.exec(first.body)?.[1]?.replaceAll('&#61;', '=') ?? '';
  const second = await visitor.get(next);
  assert.deepEqual(listed(second.body), names.slice(25));
  assert.match(textOf(second.body), /GET \/v1\/me only/);
  assert.doesNotMatch(second.body, /creators\?before/);
  for (const { body } of [first, second])
    assert.doesNotMatch(body, new RegExp(`ended_one|suspended_one|${neighbour.username}`));
  for (const bad of ['?before=x', '?before=grt_', '?before=a&before=b', '?before=%00'])
    assert.equal((await visitor.get(`${url}/creators${bad}`)).statusCode, 422, bad);
});

test('security 23, 26: nobody else sees the creators of an app, and names are text', async (t) => {
  const app = await setup(t);
  const { visitor, url, runtime, client } = app;
  const creator = await makeCreator(runtime, 'mali');
  await execute(runtime.db, 'UPDATE creators SET display_name = $2 WHERE id = $1', [
    creator.creatorId,
    '<b>\u202eevil',
  ]);
  await runtime.grants.addByOperator(creator.creatorId, client.clientId, 'tips.read');
  const { body } = await visitor.get(`${url}/creators`);
  assert.match(body, /<bdi class="written">&(lt|#60);b&(gt|#62);evil<\/bdi>/);
  const other = await signedInVisitor(app, creator.creatorId);
  assert.equal((await other.get(`${url}/creators`)).statusCode, 404);
});
