import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { buildApp, type TestApp } from '../../../../test/build-app.ts';
import { basic, makeApp, makeCreator, makePublicApp } from '../../../../test/factories.ts';
import {
  assertRefused,
  type Client,
  callMe,
  type Party,
  post,
  refresh,
  revoke,
  type TokenSet,
  tokensOf,
} from '../../../../test/oauth.ts';
import { signedInVisitor, type Visitor } from '../../../../test/visitor.ts';

const grantType = 'urn:ietf:params:oauth:grant-type:device_code';
const minute = 60_000;

interface Request {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
}

const ask = (http: TestApp['http'], { clientId, clientSecret }: Client, scope = 'tips.read') =>
  post(http, '/v1/oauth/device_authorization', { client_id: clientId, client_secret: clientSecret, scope });

const poll = (http: TestApp['http'], { clientId, clientSecret }: Client, { device_code }: Request) =>
  post(http, '/v1/oauth/token', {
    grant_type: grantType,
    client_id: clientId,
    client_secret: clientSecret,
    device_code,
  });

async function setup(t: TestContext, env: Record<string, string> = {}) {
  const app = await buildApp(t, env);
  const creator = await makeCreator(app.runtime);
  const client = await makePublicApp(app.runtime);
  const visitor = await signedInVisitor(app, creator.creatorId);
  const begin = async (scope?: string): Promise<Request> => (await ask(app.http, client, scope)).json();
  return { ...app, app, creator, client, visitor, begin };
}

const ticketIn = (body: string): string => /name="request" value="([^"]+)"/.exec(body)?.[1] ?? '';

/** The creator types the code and decides. */
async function decide(visitor: Visitor, { user_code }: Request, decision: 'approve' | 'deny') {
  const page = await visitor.post('/device', { user_code });
  assert.equal(page.statusCode, 200, page.body);
  return visitor.post('/device/decision', { request: ticketIn(page.body), decision });
}

const grantScope = async ({ runtime }: TestApp, { creatorId }: Party) =>
  (await runtime.grants.connections(creatorId))[0]?.scope;

test('the whole way: codes, a creator who approves, tokens once', async (t) => {
  const { app, http, client, creator, visitor, clock } = await setup(t);
  const answer = await ask(http, client, 'tips.read profile.read tips.read');
  assert.equal(answer.statusCode, 200, answer.body);
  assert.equal(answer.headers['cache-control'], 'no-store');
  const request: Request & { expires_in: number; interval: number } = answer.json();
  const { authUrl } = app.runtime.config;
  assert.match(request.device_code, /^njd_[A-Za-z0-9]{43}$/);
  assert.match(request.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  assert.deepEqual(
    [request.verification_uri, request.verification_uri_complete, request.expires_in, request.interval],
    [`${authUrl}/device`, `${authUrl}/device?user_code=${request.user_code}`, 600, 5],
  );
  assertRefused(await poll(http, client, request), 400, 'authorization_pending');
  assert.match((await decide(visitor, request, 'approve')).body, /is connected/);
  clock.advance(5000);
  const tokens = tokensOf(await poll(http, client, request));
  assert.equal(tokens.scope, 'profile.read tips.read');
  assert.equal((await callMe(http, tokens.access_token)).statusCode, 200);
  assertRefused(await poll(http, client, request), 400, 'invalid_grant');
  // A second use ends nothing.
  clock.advance(minute);
  assertRefused(await poll(http, client, request), 400, 'invalid_grant');
  tokensOf(await refresh(http, client, tokens.refresh_token));
  assert.equal(await grantScope(app, creator), 'profile.read tips.read');
});

test('an app with a secret connects a device with it, by form and HTTP Basic too', async (t) => {
  const { app, http, visitor } = await setup(t);
  const client = await makeApp(app.runtime);
  assertRefused(await ask(http, { ...client, clientSecret: '' }), 400, 'invalid_request');
  assertRefused(await ask(http, { ...client, clientSecret: 'njs_wrong' }), 401, 'invalid_client');
  const answer = await http.inject({
    method: 'POST',
    url: '/v1/oauth/device_authorization',
    headers: { ...basic(client), 'content-type': 'application/x-www-form-urlencoded' },
    payload: 'scope=tips.read',
  });
  const request: Request = answer.json();
  await decide(visitor, request, 'approve');
  assertRefused(await poll(http, { ...client, clientSecret: '' }, request), 400, 'invalid_request');
  tokensOf(await poll(http, client, request));
});

test('an unknown scope, app or field is refused', async (t) => {
  const { http, client } = await setup(t);
  assertRefused(await ask(http, client, 'tips.read more'), 400, 'invalid_scope');
  assertRefused(await ask(http, { ...client, clientSecret: 'njs_x' }), 401, 'invalid_client');
  assertRefused(await ask(http, { clientId: `app_${'0'.repeat(26)}`, clientSecret: '' }), 400, 'invalid_request');
  assertRefused(await post(http, '/v1/oauth/device_authorization', {}), 400, 'invalid_request');
  const noCode = { grant_type: grantType, client_id: client.clientId };
  assertRefused(await post(http, '/v1/oauth/token', noCode), 400, 'invalid_request');
  const none = await ask(http, client, '');
  assert.equal(none.statusCode, 200);
});

test('slow_down: asked sooner than the interval after the last time, which grows by five seconds', async (t) => {
  const { http, client, clock, begin } = await setup(t);
  const request = await begin();
  const asked = async (afterMs: number) => {
    clock.advance(afterMs);
    return (await poll(http, client, request)).json().error;
  };
  assert.equal(await asked(0), 'authorization_pending');
  assert.equal(await asked(5000), 'authorization_pending');
  assert.equal(await asked(4999), 'slow_down');
  assert.equal(await asked(9999), 'slow_down');
  assert.equal(await asked(15_000), 'authorization_pending');
  assert.equal(await asked(14_999), 'slow_down');
  assert.equal(await asked(20_000), 'authorization_pending');
});

test('security 49: waiting writes nothing, whatever the device asks', async (t) => {
  const { http, runtime, client, begin, visitor } = await setup(t);
  const [waiting, denied] = [await begin(), await begin()];
  await decide(visitor, denied, 'deny');
  const dump = async () => JSON.stringify(await runtime.db.all('SELECT * FROM device_codes ORDER BY hash'));
  const before = await dump();
  const { write } = runtime.db;
  let written = 0;
  Object.assign(runtime.db, {
    write: (...args: Parameters<typeof write>) => {
      written += 1;
      return write.apply(runtime.db, args);
    },
  });
  const unknown = { ...waiting, device_code: `njd_${'x'.repeat(43)}` };
  for (const request of [waiting, denied, unknown])
    await Promise.all(Array.from({ length: 20 }, () => poll(http, client, request)));
  Object.assign(runtime.db, { write });
  assert.deepEqual([written, await dump()], [0, before]);
});

test('security 49: denied is access_denied until it expires, then expired_token, at last unknown', async (t) => {
  const { http, client, clock, begin, visitor, runtime } = await setup(t);
  const denied = await begin();
  const waiting = await begin();
  const approved = await begin();
  assert.match((await decide(visitor, denied, 'deny')).body, /was not connected/);
  await decide(visitor, approved, 'approve');
  assertRefused(await poll(http, client, denied), 400, 'access_denied');
  clock.advance(10 * minute - 1);
  assertRefused(await poll(http, client, denied), 400, 'access_denied');
  assertRefused(await poll(http, client, waiting), 400, 'authorization_pending');
  clock.advance(1);
  for (const request of [denied, waiting, approved])
    assertRefused(await poll(http, client, request), 400, 'expired_token');
  const late = await visitor.post('/device', { user_code: waiting.user_code });
  assert.equal(late.statusCode, 422);
  await runtime.devices.prune();
  assertRefused(await poll(http, client, waiting), 400, 'expired_token');
  clock.advance(60 * minute + 1);
  await runtime.devices.prune();
  assertRefused(await poll(http, client, waiting), 400, 'invalid_grant');
  assert.deepEqual(await runtime.db.all('SELECT hash FROM device_codes'), []);
});

test('security 49: another client’s code is invalid_grant and stays good for its own', async (t) => {
  const { http, runtime, client, begin, visitor } = await setup(t);
  const stranger = await makePublicApp(runtime);
  const request = await begin();
  assertRefused(await poll(http, stranger, request), 400, 'invalid_grant');
  await decide(visitor, request, 'approve');
  assertRefused(await poll(http, stranger, request), 400, 'invalid_grant');
  tokensOf(await poll(http, client, request));
});

test('security 49: fifty polls at once after approval, on two servers: one set of tokens', async (t) => {
  const { app, http, client, begin, visitor } = await setup(t);
  const other = await buildApp(t, app.env);
  const request = await begin();
  await decide(visitor, request, 'approve');
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) => poll(i % 2 ? http : other.http, client, request)),
  );
  const won = answers.filter(({ statusCode }) => statusCode === 200);
  assert.equal(won.length, 1);
  for (const answer of answers) if (answer !== won[0]) assertRefused(answer, 400, 'invalid_grant');
  const [tokens] = won.map(tokensOf);
  assert.ok(tokens);
  assert.equal((await callMe(http, tokens.access_token)).statusCode, 200);
  assert.equal((await app.runtime.db.all('SELECT id FROM families')).length, 1);
});

test('security 49: approved twice, and approved and denied at once: the first decision counts', async (t) => {
  const { app, http, client, begin, visitor, creator, runtime } = await setup(t);
  const rival = await makeCreator(runtime);
  const other = await signedInVisitor(app, rival.creatorId);
  const request = await begin();
  const tickets = [visitor, other].map(async (who) =>
    ticketIn((await who.post('/device', { user_code: request.user_code })).body),
  );
  const [mine = '', theirs = ''] = await Promise.all(tickets);
  assert.equal((await other.post('/device/decision', { request: mine, decision: 'approve' })).statusCode, 403);
  await visitor.post('/device/decision', { request: mine, decision: 'approve' });
  for (const decision of ['approve', 'deny']) {
    const late = await other.post('/device/decision', { request: theirs, decision });
    assert.equal(late.statusCode, 422);
    assert.match(late.body, /expired or was used/);
  }
  assert.equal((await visitor.post('/device/decision', { request: mine, decision: 'approve' })).statusCode, 422);
  assert.equal((await visitor.post('/device', { user_code: request.user_code })).statusCode, 422);
  const tokens = tokensOf(await poll(http, client, request));
  const me = await callMe(http, tokens.access_token);
  assert.equal(me.json().id, creator.creatorId);
  assert.deepEqual(await runtime.grants.connections(rival.creatorId), []);

  for (let round = 0; round < 5; round++) {
    const raced = await begin();
    const request = ticketIn((await visitor.post('/device', { user_code: raced.user_code })).body);
    const pages = await Promise.all(
      ['approve', 'deny', 'approve'].map((decision) => visitor.post('/device/decision', { request, decision })),
    );
    const decided = pages.filter(({ statusCode }) => statusCode === 200);
    assert.equal(decided.length, 1);
    const answer = await poll(http, client, raced);
    if (/is connected/.test(decided[0]?.body ?? '')) tokensOf(answer);
    else assertRefused(answer, 400, 'access_denied');
  }
});

test('security 49: five wrong codes of an account, then 429 even for a right one, over two servers', async (t) => {
  const { app, begin, visitor, clock, creator } = await setup(t);
  const { user_code } = await begin();
  const wrong = ['AAAA-AAAA', 'BCDFGHJK', 'x', 'BBBB-BBBB', 'ZZZZZZZZ'];
  for (const code of wrong) {
    const page = await visitor.post('/device', { user_code: code });
    assert.equal(page.statusCode, 422);
    assert.ok(page.body.includes(code), 'what was typed is kept');
    clock.advance(1000);
  }
  const refused = await visitor.post('/device', { user_code });
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '595']);
  const elsewhere = await signedInVisitor(app, creator.creatorId);
  assert.equal((await elsewhere.post('/device', { user_code })).statusCode, 429);
  const neighbour = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
  assert.equal((await neighbour.post('/device', { user_code })).statusCode, 200);
  clock.advance(595_000);
  const next = await begin();
  assert.equal((await visitor.post('/device', { user_code: next.user_code })).statusCode, 200);
});

test('right codes are not counted', async (t) => {
  const { begin, visitor } = await setup(t);
  const { user_code } = await begin();
  for (let i = 0; i < 30; i++) assert.equal((await visitor.post('/device', { user_code })).statusCode, 200);
});

test('security 49: twenty wrong codes of an address, whoever they are of, then 429', async (t) => {
  const { app, begin } = await setup(t);
  const { user_code } = await begin();
  for (let account = 0; account < 4; account++) {
    const visitor = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
    for (let i = 0; i < 5; i++)
      assert.equal((await visitor.post('/device', { user_code: `BBBB-BBB${'BCDFG'[i]}` })).statusCode, 422);
  }
  const fresh = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
  assert.equal((await fresh.post('/device', { user_code })).statusCode, 429);
});

test('security 49: of sixty guesses at once five are judged, and a right one after them is refused', async (t) => {
  const { begin, visitor } = await setup(t);
  const { user_code } = await begin();
  const guesses = Array.from({ length: 60 }, (_, i) => (i < 59 ? `BBBB-BB${'BCDFGHJK'[i % 8]}B` : user_code));
  const answers = await Promise.all(guesses.map((code) => visitor.post('/device', { user_code: code })));
  const statuses = answers.map(({ statusCode }) => statusCode);
  assert.equal(statuses.filter((status) => status === 422).length, 5);
  assert.equal(statuses.at(-1), 429, 'the right one came too late');
});

test('security 49: ten requests a minute of an address, then 429; refused ones store nothing', async (t) => {
  const { http, runtime, client, clock } = await setup(t);
  for (let i = 0; i < 10; i++) assert.equal((await ask(http, client)).statusCode, 200);
  const refused = await ask(http, client);
  assertRefused(refused, 429, 'too_many_requests');
  assert.equal(refused.headers['retry-after'], '60');
  assert.equal((await runtime.db.all('SELECT hash FROM device_codes')).length, 10);
  clock.advance(minute);
  assert.equal((await ask(http, client)).statusCode, 200);
});

test('a link only fills in the field, and the code is read in any case, with or without the dash', async (t) => {
  const { app, begin, visitor } = await setup(t);
  const { user_code, verification_uri_complete } = await begin();
  const { pathname, search } = new URL(verification_uri_complete);
  const page = await visitor.get(pathname + search);
  assert.equal(page.statusCode, 200);
  assert.ok(page.body.includes(`value="${user_code}"`));
  assert.equal(ticketIn(page.body), '', 'nothing can be approved yet');
  for (const typed of [user_code.toLowerCase(), user_code.replace('-', ''), ` ${user_code.replace('-', ' – ')} `])
    assert.equal((await visitor.post('/device', { user_code: typed })).statusCode, 200, typed);
  assert.equal((await visitor.post('/device', { user_code: ' ' })).statusCode, 422);
  const hostile = await visitor.get(`/device?user_code=${encodeURIComponent('"><script>')}`);
  assert.doesNotMatch(hostile.body, /"><script>/);
  const stranger = await app.http.inject({ url: pathname + search, headers: { accept: 'text/html' } });
  assert.equal(stranger.headers.location, `/login?return_to=${encodeURIComponent(pathname + search)}`);
});

test('the page shows the app, its scopes, the code and from where the device asked, in both languages', async (t) => {
  const { app, http, runtime, client, creator, visitor } = await setup(t, { TRUST_PROXY: '127.0.0.1' });
  const from = async (address: string): Promise<Request> => {
    const payload = { client_id: client.clientId, scope: 'tips.create' };
    const headers = { 'x-forwarded-for': address };
    return (await post(http, '/v1/oauth/device_authorization', payload, headers)).json();
  };
  const elsewhere = await from('198.51.99.9');
  const page = await visitor.post('/device', { user_code: elsewhere.user_code });
  const { name } = await runtime.apps.byId(client.clientId);
  for (const part of [name, elsewhere.user_code, '198.51.99.9', 'not the same as yours', 'Record tips', 'cannot prove'])
    assert.ok(page.body.includes(part), part);
  assert.match(String(page.headers['content-security-policy']), /frame-ancestors 'none'/);
  assert.equal(page.headers['cache-control'], 'no-store');
  const here = { 'x-forwarded-for': '198.51.99.9' };
  const near = await visitor.post('/device', { user_code: (await from('198.51.99.9')).user_code }, here);
  assert.match(near.body, /is the same as yours/);
  // Behind a proxy that is not trusted everybody has the proxy's address.
  const proxied = await visitor.post('/device', { user_code: (await from('10.0.0.1')).user_code });
  assert.match(proxied.body, /10\.0\.0\.1/);
  assert.doesNotMatch(proxied.body, /the same as yours/);
  const thai = await signedInVisitor(app, creator.creatorId);
  const thaiPage = await thai.post('/device', { user_code: elsewhere.user_code }, { 'accept-language': 'th' });
  assert.match(thaiPage.body, /ไม่ตรงกับของคุณ/);
});

test('security 5: a decision needs the page, this session, its CSRF token and our origin', async (t) => {
  const { http, client, begin, visitor } = await setup(t);
  const request = await begin();
  const ticket = ticketIn((await visitor.post('/device', { user_code: request.user_code })).body);
  const form = { request: ticket, decision: 'approve' };
  assert.equal((await visitor.post('/device/decision', { ...form, csrf: 'x' })).statusCode, 403);
  assert.equal((await visitor.post('/device/decision', form, { origin: 'https://evil.example' })).statusCode, 403);
  assert.equal((await visitor.post('/device/decision', { ...form, request: `x${ticket}` })).statusCode, 403);
  assert.equal((await visitor.post('/device/decision', { ...form, decision: '' })).statusCode, 400);
  assertRefused(await poll(http, client, request), 400, 'authorization_pending');
});

test('what the creator or operator ends before the device has its tokens stays ended', async (t) => {
  const { http, runtime, client, creator, clock, begin, visitor } = await setup(t);
  const disconnected = await begin();
  await decide(visitor, disconnected, 'approve');
  await runtime.grants.revoke(creator.creatorId, client.clientId, 'creator');
  assertRefused(await poll(http, client, disconnected), 400, 'invalid_grant');
  const paused = await begin();
  await decide(visitor, paused, 'approve');
  await runtime.grants.suspend('creator', creator.creatorId, clock());
  assertRefused(await poll(http, client, paused), 400, 'invalid_grant');
  await runtime.grants.suspend('creator', creator.creatorId, null);
  await runtime.grants.suspend('app', client.clientId, clock());
  assertRefused(await poll(http, client, paused), 401, 'invalid_client');
  assertRefused(await ask(http, client), 401, 'invalid_client');
  await runtime.grants.suspend('app', client.clientId, null);
  tokensOf(await poll(http, client, paused));
});

test('security 48: connecting and revoking one device leaves the other as it was', async (t) => {
  const { app, http, client, creator, begin, visitor } = await setup(t);
  const connect = async (scope: string): Promise<TokenSet> => {
    const request = await begin(scope);
    await decide(visitor, request, 'approve');
    return tokensOf(await poll(http, client, request));
  };
  const one = await connect('tips.read');
  const two = await connect('profile.read');
  assert.equal(await grantScope(app, creator), 'profile.read tips.read');
  // The third is approved and not connected yet when the other two go.
  const three = await begin('alerts.create');
  await decide(visitor, three, 'approve');
  await revoke(http, client, one.refresh_token);
  assert.equal((await callMe(http, two.access_token)).statusCode, 200);
  await revoke(http, client, two.refresh_token);
  tokensOf(await poll(http, client, three));
  assert.equal(await grantScope(app, creator), 'alerts.create');
});

test('security 24: neither code of a device is in the database in clear', async (t) => {
  const { runtime, begin } = await setup(t);
  const { device_code, user_code } = await begin();
  const rows = JSON.stringify(await runtime.db.all('SELECT * FROM device_codes'));
  for (const secret of [device_code, user_code, user_code.replace('-', '')]) assert.ok(!rows.includes(secret));
});
