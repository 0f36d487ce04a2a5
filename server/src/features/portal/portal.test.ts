import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator, makePair } from '../../../test/factories.ts';
import { signedInVisitor } from '../../../test/visitor.ts';

async function setup(t: Pick<TestContext, 'after'>, env: Record<string, string> = {}) {
  const app = await buildApp(t, env);
  const developer = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, developer.creatorId);
  return { ...app, developer, visitor };
}

const details = { name: 'Goal Bot', redirect_uris: 'https://app.example/callback\r\nhttps://app.example/other' };
const secretIn = (body: string) => /njs_\w{43}/.exec(body)?.[0];
const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, ' ');

async function registered(t: Pick<TestContext, 'after'>) {
  const app = await setup(t);
  const page = await app.visitor.post('/developers/apps', details);
  assert.equal(page.statusCode, 201, page.body);
  const [row] = await app.runtime.apps.ofOwner(app.developer.creatorId);
  assert.ok(row);
  return { ...app, page, clientId: row.id, url: `/developers/apps/${row.id}` };
}

const accepts = async (
  { runtime }: Awaited<ReturnType<typeof setup>>,
  clientId: string,
  clientSecret: string | undefined,
): Promise<boolean> => {
  return 'app' in (await runtime.apps.authenticate({ clientId, clientSecret: clientSecret ?? '' }, '127.0.0.1'));
};

test('an empty portal says what to do next', async (t) => {
  const { visitor } = await setup(t);
  const { body } = await visitor.get('/developers');
  assert.match(body, /href="\/developers\/apps\/new"/);
  assert.match(body.replaceAll('<wbr>', ''), /oauth\/authorize\?client_id&#61;CLIENT_ID/);
});

test('registering shows the client id and, once, a secret that works', async (t) => {
  const app = await registered(t);
  const secret = secretIn(app.page.body);
  assert.ok(app.page.body.includes(app.clientId));
  assert.equal(app.page.headers['cache-control'], 'no-store');
  assert.equal(await accepts(app, app.clientId, secret), true);
  const later = await app.visitor.get(app.url);
  assert.equal(later.statusCode, 200);
  assert.equal(secretIn(later.body), undefined);
  assert.match(later.body, /https:\/\/app\.example\/callback\nhttps:\/\/app\.example\/other/);
  assert.match((await app.visitor.get('/developers')).body, /Goal Bot/);
});

test('a public app is registered without a secret, and needs no redirect URI', async (t) => {
  const { visitor, runtime, developer } = await setup(t);
  const answer = await visitor.post('/developers/apps', { name: 'Deck', redirect_uris: '', public: 'on' });
  const url = String(answer.headers.location);
  const [row] = await runtime.apps.ofOwner(developer.creatorId);
  assert.ok(row);
  assert.deepEqual([answer.statusCode, url, row.public], [303, `/developers/apps/${row.id}`, 1]);
  const page = await visitor.get(url);
  assert.match(page.body, /has no secret/);
  assert.match(page.body, /device_authorization/);
  assert.equal(secretIn(page.body), undefined);
  assert.doesNotMatch(page.body, /\/webhooks/);
  for (const part of ['secret', 'webhooks']) assert.equal((await visitor.post(`${url}/${part}`)).statusCode, 404, part);
  // Editing cannot give it a secret either, and its redirect URIs are held to the rules of all apps.
  assert.equal((await visitor.post(url, { name: 'Deck 2', redirect_uris: '' })).statusCode, 303);
  const wrong = await visitor.post(url, { name: 'Deck 2', redirect_uris: 'http://app.example/' });
  assert.equal(wrong.statusCode, 422);
  assert.match(textOf(wrong.body), /must begin with https/);
  assert.equal((await runtime.apps.byId(row.id)).public, 1);
  assert.equal((await visitor.post('/developers/apps', { name: 'Web', redirect_uris: '' })).statusCode, 422);
});

test('security 2: a redirect URI that cannot be registered is refused with the reason beside the field', async (t) => {
  const { visitor, developer, runtime } = await setup(t, {
    NODE_ENV: 'production',
    SECRET_KEY: 'k'.repeat(32),
  });
  const refused: [string, RegExp][] = [
    ['http://app.example/callback', /must begin with https/],
    ['javascript:alert(1)', /must begin with https/],
    ['https://app.example/callback#top', /must not have a fragment/],
    ['https://app.example/*', /must not contain a wildcard/],
    ['https://*.example/callback', /must not contain a wildcard|not an absolute address/],
    ['https://me:pw@app.example/', /must not contain a user name/],
    ['https://@app.example/', /must not contain a user name/],
    ['/callback', /is not an absolute address/],
    ['https:app.example', /must begin with https/],
    ['https://app.example/a b', /spaces/],
    ['https://app.example/\\evil', /spaces, backslashes/],
    ['https://app.example/กลับ', /outside ASCII/],
    ['http://localhost:3000/callback', /only on a server in development/],
    [`https://app.example/${'x'.repeat(2048)}`, /longer than 2,048/],
    ['', /at least one redirect URI/],
    [Array.from({ length: 21 }, (_, i) => `https://app.example/${i}`).join('\n'), /at most 20/],
  ];
  for (const [redirect_uris, reason] of refused) {
    const page = await visitor.post('/developers/apps', { name: 'My <b>app', redirect_uris });
    assert.equal(page.statusCode, 422, redirect_uris);
    const error = /id="field-redirect_uris-error">([^<]*)</.exec(page.body)?.[1] ?? '';
    assert.match(error, reason, redirect_uris);
    // What was typed stays, as text.
    assert.match(page.body, /value="My &(lt|#60);b&(gt|#62);app"/);
  }
  assert.equal((await runtime.apps.ofOwner(developer.creatorId)).length, 0);
});

test('loopback redirects can be registered in development, with a port', async (t) => {
  const { visitor } = await setup(t);
  const register = (redirect_uris: string) => visitor.post('/developers/apps', { name: 'Local', redirect_uris });
  assert.equal((await register('http://localhost:3000/callback\nhttp://127.0.0.1:3000/')).statusCode, 201);
  assert.equal((await register('http://localhost/callback')).statusCode, 422);
  assert.equal((await register('http://127.0.0.2:3000/callback')).statusCode, 422);
});

test('a name that is empty, long or hides characters is refused beside its field, in Thai too', async (t) => {
  const { visitor } = await setup(t);
  for (const name of ['', '   ', '\u200b', 'x'.repeat(61), 'bank\u202eevil', 'a\u0007b']) {
    const page = await visitor.post('/developers/apps', { ...details, name });
    assert.equal(page.statusCode, 422, JSON.stringify(name));
    assert.match(page.body, /id="field-name-error"/);
  }
  const thai = await visitor.post('/developers/apps', { ...details, name: '' }, { 'accept-language': 'th' });
  assert.match(thai.body, /กรุณาตั้งชื่อที่มองเห็นได้ ความยาว 1 ถึง 60 ตัวอักษร/);
});

test('an account has at most 20 apps; a deleted one makes room', async (t) => {
  const { visitor, runtime, developer } = await setup(t);
  for (let i = 0; i < 20; i++) assert.equal((await visitor.post('/developers/apps', details)).statusCode, 201);
  const refused = await visitor.post('/developers/apps', details);
  assert.equal(refused.statusCode, 422);
  assert.match(refused.body, /at most 20 apps/);
  const [first] = await runtime.apps.ofOwner(developer.creatorId);
  await visitor.post(`/developers/apps/${first?.id}/delete`);
  assert.equal((await visitor.post('/developers/apps', details)).statusCode, 201);
});

test('a developer who registers and deletes apps without end leaves 60 an hour', async (t) => {
  const app = await setup(t);
  const { visitor, runtime, developer, clock } = app;
  for (let i = 0; i < 60; i++) {
    assert.equal((await visitor.post('/developers/apps', details)).statusCode, 201, `app ${i + 1}`);
    const [only] = await runtime.apps.ofOwner(developer.creatorId);
    await visitor.post(`/developers/apps/${only?.id}/delete`);
  }
  const over = await visitor.post('/developers/apps', details);
  assert.deepEqual([over.statusCode, over.headers['retry-after']], [429, '3600']);
  assert.deepEqual(await runtime.apps.ofOwner(developer.creatorId), []);
  clock.advance(3_600_000);
  const later = await signedInVisitor(app, developer.creatorId);
  assert.equal((await later.post('/developers/apps', details)).statusCode, 201);
});

test('name and redirect URIs can be edited; a wrong edit changes nothing and keeps what was typed', async (t) => {
  const { visitor, runtime, clientId, url } = await registered(t);
  const wrong = await visitor.post(url, { name: 'New', redirect_uris: 'ftp://app.example/' });
  assert.equal(wrong.statusCode, 422);
  assert.match(wrong.body, /ftp:\/\/app\.example\//);
  assert.equal((await runtime.apps.byId(clientId)).name, 'Goal Bot');
  const saved = await visitor.post(url, { name: ' New ', redirect_uris: 'https://app.example/new' });
  assert.equal(saved.headers.location, url);
  const { name, redirect_uris } = await runtime.apps.byId(clientId);
  assert.deepEqual({ name, redirect_uris }, { name: 'New', redirect_uris: '["https://app.example/new"]' });
});

test('security 30: making a secret needs a recent sign-in; the old one works for 24 hours', async (t) => {
  const app = await registered(t);
  const { visitor, clientId, clock, url } = app;
  const first = secretIn(app.page.body);
  clock.advance(11 * 60_000);
  const refused = await visitor.post(`${url}/secret`, {}, { referer: `http://localhost:8080${url}` });
  assert.equal(refused.headers.location, `/login?return_to=${encodeURIComponent(url)}`);
  for (const answer of [await visitor.get('/developers/apps/new'), await visitor.post('/developers/apps', details)])
    assert.match(String(answer.headers.location), /^\/login\?/);
  assert.equal((await app.runtime.apps.ofOwner(app.developer.creatorId)).length, 1);
  assert.equal((await visitor.get(url)).statusCode, 200);

  const recent = await signedInVisitor(app, app.developer.creatorId);
  const made = await recent.post(`${url}/secret`);
  const second = secretIn(made.body);
  assert.notEqual(second, first);
  assert.match(textOf(made.body), /works until\s+16 Nov 2026/);
  assert.equal(secretIn((await recent.get(url)).body), undefined);
  for (const secret of [first, second]) assert.equal(await accepts(app, clientId, secret), true);
  clock.advance(24 * 3_600_000 + 1);
  assert.equal(await accepts(app, clientId, first), false);
  assert.equal(await accepts(app, clientId, second), true);
});

test('a new secret for an app that is deleted meanwhile is not made, and the form does not fail', async (t) => {
  const { runtime, developer, clientId } = await registered(t);
  const change = runtime.apps.newSecretFor(await runtime.apps.byId(clientId));
  assert.equal(await runtime.grants.deleteApp(developer.creatorId, clientId), true);
  assert.equal(await runtime.apps.changeSecret(clientId, change), false);
});

test('security 23: another developer’s app is a 404 for everything, and unchanged', async (t) => {
  const app = await registered(t);
  const before = await app.runtime.apps.byId(app.clientId);
  const other = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
  assert.equal((await other.get(app.url)).statusCode, 404);
  assert.ok(!(await other.get('/developers')).body.includes(app.clientId));
  for (const path of ['', '/secret', '/delete'])
    assert.equal((await other.post(app.url + path, { ...details, name: 'Stolen' })).statusCode, 404, path);
  assert.deepEqual(await app.runtime.apps.byId(app.clientId), before);
});

test('security 5: a post of the portal without the CSRF token or from another origin changes nothing', async (t) => {
  const app = await registered(t);
  const before = await app.runtime.apps.byId(app.clientId);
  for (const path of ['/developers/apps', app.url, `${app.url}/secret`, `${app.url}/delete`]) {
    assert.equal((await app.visitor.post(path, { ...details, name: 'x', csrf: 'wrong' })).statusCode, 403);
    const foreign = await app.visitor.post(path, { ...details, name: 'x' }, { origin: 'https://evil.example' });
    assert.equal(foreign.statusCode, 403);
  }
  assert.deepEqual(await app.runtime.apps.byId(app.clientId), before);
  assert.equal((await app.runtime.apps.ofOwner(app.developer.creatorId)).length, 1);
});

test('deleting an app ends its grants and codes at once; tips keep its name', async (t) => {
  const app = await registered(t);
  const { runtime, http, clientId } = app;
  const secret = secretIn(app.page.body) ?? '';
  const pair = await makePair(runtime, { app: { clientId, clientSecret: secret } });
  const tip = await http.inject({
    method: 'POST',
    url: '/v1/tips',
    headers: pair.headers,
    payload: { amount: 20, name: 'NOK' },
  });
  assert.equal(tip.statusCode, 201);
  // What this app says: the programs of other tests may share its Redis.
  const publish = t.mock.method(runtime.hub, 'publish');
  const removed = await app.visitor.post(`${app.url}/delete`);
  assert.equal(removed.headers.location, '/developers');
  const said = publish.mock.calls.map((call) => call.arguments);
  assert.deepEqual(
    said.filter(([topic]) => topic === 'access'),
    [['access', '*']],
  );
  assert.equal((await http.inject({ url: '/v1/me', headers: pair.headers })).statusCode, 403);
  assert.equal((await app.visitor.get(app.url)).statusCode, 404);
  assert.equal(await accepts(app, clientId, secret), false);
  const grant = await runtime.db.get('SELECT ended_reason FROM grants WHERE client_id = $1', [clientId]);
  assert.deepEqual({ ...(grant as object) }, { ended_reason: 'app_deleted' });
  const other = await makePair(runtime, { creator: { creatorId: pair.creatorId, username: pair.username } });
  const tips = await http.inject({ url: '/v1/tips', headers: other.headers });
  assert.equal(tips.json().data[0].source.app_name, 'Goal Bot');
});

test('security 26: an app named <script> is text on every page', async (t) => {
  const { visitor, runtime, developer } = await setup(t);
  const name = '<script>alert(1)</script>';
  const page = await visitor.post('/developers/apps', { ...details, name });
  const [row] = await runtime.apps.ofOwner(developer.creatorId);
  await runtime.grants.addByOperator(developer.creatorId, row?.id ?? '', 'tips.read');
  const bodies = [page.body];
  for (const url of ['/developers', `/developers/apps/${row?.id}`, '/dashboard/apps'])
    bodies.push((await visitor.get(url)).body);
  for (const body of bodies) {
    assert.ok(!body.includes(name));
    assert.match(body, /&(lt|#60);script&(gt|#62);alert/);
  }
});
