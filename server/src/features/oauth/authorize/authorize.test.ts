import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { type TestContext, test } from 'node:test';
import { buildApp } from '../../../../test/build-app.ts';
import { makeCreator } from '../../../../test/factories.ts';
import { execute } from '../../../../test/sql.ts';
import { createVisitor, signedInVisitor, type Visitor } from '../../../../test/visitor.ts';

const redirectUri = 'https://app.example/callback';

async function setup(t: Pick<TestContext, 'after'>, options: { name?: string } = {}) {
  const app = await buildApp(t);
  const creator = await makeCreator(app.runtime);
  const owner = await makeCreator(app.runtime);
  const { clientId, clientSecret } = await app.runtime.apps.add({
    name: options.name ?? 'Goal Bot',
    redirectUris: [redirectUri, 'https://app.example/second?from=namjai', 'http://localhost:3000/callback'],
    ownerId: owner.creatorId,
  });
  const visitor = await signedInVisitor(app, creator.creatorId);
  return { ...app, creator, owner, clientId, clientSecret, visitor };
}

type Params = Record<string, string | undefined>;

function authorizeUrl(clientId: string, params: Params = {}): string {
  const all = { client_id: clientId, redirect_uri: redirectUri, state: 's1', ...params };
  const query = new URLSearchParams(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return `/oauth/authorize?${query}`;
}

const answerIn = (location: unknown) => Object.fromEntries(new URL(String(location)).searchParams);
const ticketIn = (body: string) => /name="request" value="([^"]+)"/.exec(body)?.[1] ?? '';

async function decide(
  visitor: Visitor,
  url: string,
  decision: 'approve' | 'deny',
  fields: Record<string, string> = {},
) {
  const page = await visitor.get(url);
  assert.equal(page.statusCode, 200, page.body);
  return visitor.post('/oauth/authorize', { request: ticketIn(page.body), decision, ...fields });
}

const countOf = async (runtime: Awaited<ReturnType<typeof buildApp>>['runtime'], table: string) =>
  Number((await runtime.db.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))?.n);

test('security 1: a bad client_id or redirect_uri gets a 400 page and no redirect', async (t) => {
  const app = await setup(t);
  const { visitor, clientId } = app;
  const other = (uri: string) => authorizeUrl(clientId, { redirect_uri: uri });
  const urls = {
    'no parameters': '/oauth/authorize',
    'unknown client': authorizeUrl('app_00000000000000000000000000'),
    'missing client': authorizeUrl(''),
    'client sent twice': `${authorizeUrl(clientId)}&client_id=${clientId}`,
    missing: authorizeUrl(clientId, { redirect_uri: undefined }),
    empty: other(''),
    'sent twice': `${authorizeUrl(clientId)}&redirect_uri=${encodeURIComponent(redirectUri)}`,
    unregistered: other('https://evil.example/callback'),
    slash: other(`${redirectUri}/`),
    case: other('https://app.example/Callback'),
    'case of host': other('https://APP.example/callback'),
    port: other('https://app.example:443/callback'),
    'other port': other('https://app.example:8443/callback'),
    query: other(`${redirectUri}?a=b`),
    'empty query': other(`${redirectUri}?`),
    fragment: other(`${redirectUri}#f`),
    'user info': other('https://me@app.example/callback'),
    '%2e': other('https://app.example/%2e/callback'),
    'dot segments': other('https://app.example/x/../callback'),
    'encoded letter': other('https://app.example/%63allback'),
    scheme: other('http://app.example/callback'),
    space: other(` ${redirectUri}`),
    list: other(`${redirectUri} https://app.example/second?from=namjai`),
  };
  for (const [what, url] of Object.entries(urls)) {
    for (const who of [visitor, createVisitor(app)]) {
      const answer = await who.get(url);
      assert.equal(answer.statusCode, 400, what);
      assert.equal(answer.headers.location, undefined, what);
      assert.match(String(answer.headers['content-type']), /text\/html/);
    }
  }
});

test('a loopback redirect matches in development only, also one registered then', async (t) => {
  const redirect_uri = 'http://localhost:3000/callback';
  const development = await setup(t);
  assert.equal((await development.visitor.get(authorizeUrl(development.clientId, { redirect_uri }))).statusCode, 200);

  const app = await buildApp(t, { NODE_ENV: 'production', SECRET_KEY: 'k'.repeat(32) });
  const { apps, db } = app.runtime;
  const { clientId } = await apps.add({ name: 'Goal Bot', redirectUris: [redirectUri], ownerId: null });
  await execute(db, 'UPDATE apps SET redirect_uris = $1', [JSON.stringify([redirectUri, redirect_uri])]);
  const visitor = createVisitor(app);
  assert.equal((await visitor.get(authorizeUrl(clientId, { redirect_uri }))).statusCode, 400);
  assert.equal((await visitor.get(authorizeUrl(clientId))).statusCode, 303);
});

/** Requests with something wrong that the app is told by redirect, and the error. */
const wrongRequests: readonly [Params, string][] = [
  [{ scope: 'tips.read tips.delete' }, 'invalid_scope'],
  [{ scope: 'TIPS.READ' }, 'invalid_scope'],
  [{ scope: 'tips.read\ttips.create' }, 'invalid_scope'],
  [{ response_type: 'token' }, 'unsupported_response_type'],
  [{ response_type: 'code token' }, 'unsupported_response_type'],
  [{ code_challenge: 'a'.repeat(43) }, 'invalid_request'],
  [{ code_challenge: 'a'.repeat(43), code_challenge_method: 'plain' }, 'invalid_request'],
  [{ code_challenge: 'a'.repeat(42), code_challenge_method: 'S256' }, 'invalid_request'],
  [{ code_challenge: `${'a'.repeat(42)}=`, code_challenge_method: 'S256' }, 'invalid_request'],
  [{ code_challenge_method: 'S256' }, 'invalid_request'],
  [{ state: 'x'.repeat(2049) }, 'invalid_request'],
];

test('security 3: other errors go back to the app with error, description, state and iss', async (t) => {
  const { visitor, clientId, runtime } = await setup(t);
  for (const [params, error] of wrongRequests) {
    const answer = await visitor.get(authorizeUrl(clientId, params));
    assert.equal(answer.statusCode, 303);
    assert.ok(String(answer.headers.location).startsWith(`${redirectUri}?`));
    const { error_description, ...rest } = answerIn(answer.headers.location);
    assert.deepEqual(rest, { error, state: params.state ?? 's1', iss: runtime.config.authUrl });
    // RFC 6749, section 4.1.2.1
    assert.match(error_description ?? '', /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
  }
});

test('security 50: signed out, no error redirects anywhere: sign-in comes first, then the app is told', async (t) => {
  const app = await setup(t);
  await app.runtime.accounts.add({ username: 'mali', password: 'correct horse' });
  const urls = wrongRequests.map(([params]) => authorizeUrl(app.clientId, params));
  urls.push(authorizeUrl(app.clientId, { state: undefined }), `${authorizeUrl(app.clientId)}&scope=a&scope=b`);
  const stranger = createVisitor(app);
  const cookie = `namjai=${'x'.repeat(43)}`;
  for (const url of urls) {
    const signIn = `/login?return_to=${encodeURIComponent(url)}`;
    for (const method of ['GET', 'HEAD'] as const)
      for (const headers of [{}, { cookie }, { referer: redirectUri }]) {
        const answer = await app.http.inject({ method, url, headers });
        assert.deepEqual([answer.statusCode, answer.headers.location], [303, signIn]);
      }
    const posted = await stranger.post(url, { decision: 'deny' });
    assert.ok(!String(posted.headers.location ?? '').startsWith('https:'));
  }
  await app.runtime.grants.suspend('app', app.clientId, app.clock());
  const suspended = await stranger.get(authorizeUrl(app.clientId));
  assert.match(String(suspended.headers.location), /^\/login\?/);
  await app.runtime.grants.suspend('app', app.clientId, null);

  const [url = ''] = urls;
  const { location } = (await stranger.get(url)).headers;
  await stranger.get(String(location));
  const signedIn = await stranger.post(String(location), { username: 'mali', password: 'correct horse' });
  assert.equal(signedIn.headers.location, url);
  assert.equal(answerIn((await stranger.get(url)).headers.location).error, 'invalid_scope');
});

test('security 3: a repeated parameter is refused, an empty or unknown one ignored', async (t) => {
  const { visitor, clientId } = await setup(t);
  for (const name of ['scope', 'response_type', 'code_challenge', 'code_challenge_method']) {
    const answer = await visitor.get(`${authorizeUrl(clientId)}&${name}=&${name}=`);
    assert.deepEqual(answerIn(answer.headers.location).error, 'invalid_request', name);
  }
  const fine = authorizeUrl(clientId, { response_type: '', scope: '', code_challenge: '', prompt: 'none' });
  assert.equal((await visitor.get(fine)).statusCode, 200);
  assert.equal((await visitor.get(authorizeUrl(clientId, { response_type: 'code' }))).statusCode, 200);
});

test('security 3: scopes joined by + or %20 are the same, duplicates collapse, order is the table’s', async (t) => {
  const { visitor, clientId, creator, runtime } = await setup(t);
  for (const scope of ['tips.read+profile.read+tips.read', 'profile.read%20tips.read', '+tips.read++profile.read+']) {
    const answer = await decide(visitor, `${authorizeUrl(clientId)}&scope=${scope}`, 'approve');
    assert.equal(answer.statusCode, 303);
    const [connection] = await runtime.grants.connections(creator.creatorId);
    assert.equal(connection?.scope, 'profile.read tips.read');
    assert.equal(connection?.by_operator, 0);
  }
});

test('security 4: state comes back equal, with no extra header; missing is invalid_request', async (t) => {
  const { visitor, clientId } = await setup(t);
  const states = [
    'a&b=c;d?e#f/%41+ ',
    'line\r\nSet-Cookie: evil=1\r\n\r\nbody',
    'น้ำใจ 🙏',
    'x'.repeat(2000),
    'ก'.repeat(2048),
    '"><script>alert(1)</script>',
    '\u0000\u2028',
  ];
  for (const state of states) {
    for (const decision of ['approve', 'deny'] as const) {
      const answer = await decide(visitor, authorizeUrl(clientId, { state }), decision);
      const { location } = answer.headers;
      assert.equal(answer.statusCode, 303);
      assert.equal(answerIn(location).state, state);
      assert.match(String(location), /^[\x21-\x7e]+$/);
      // Also for an app that decodes without turning + into a space.
      assert.equal(decodeURIComponent(/[?&]state=([^&]*)/.exec(String(location))?.[1] ?? ''), state);
      assert.equal(answer.headers['set-cookie'], undefined);
    }
  }
  for (const params of [{ state: undefined }, { state: '' }]) {
    const answer = await visitor.get(authorizeUrl(clientId, params));
    assert.deepEqual(
      { ...answerIn(answer.headers.location), error_description: undefined },
      { error: 'invalid_request', error_description: undefined, iss: 'http://localhost:8080' },
    );
  }
  const twice = await visitor.get(`${authorizeUrl(clientId)}&state=s2`);
  assert.equal(answerIn(twice.headers.location).state, undefined);
  assert.equal(answerIn(twice.headers.location).error, 'invalid_request');
});

test('security 4: the longest state fits through a real socket, also on the way through sign-in', async (t) => {
  const app = await setup(t);
  const address = await app.http.listen({ port: 0, host: '127.0.0.1' });
  const url = authorizeUrl(app.clientId, { state: '🙏'.repeat(2048) });
  const visit = async (path: string) => {
    // Node's own client takes only 16 KiB of headers unless told otherwise; browsers take more.
    const [answer] = await once(request(address + path, { maxHeaderSize: 65_536 }).end(), 'response');
    answer.resume();
    return { status: answer.statusCode, location: answer.headers.location };
  };
  const answer = await visit(url);
  assert.equal(answer.status, 303);
  assert.equal((await visit(answer.location)).status, 200);
});

test('security 5: GET and HEAD change nothing; approving makes one code for what was shown', async (t) => {
  const { visitor, clientId, creator, http, runtime } = await setup(t);
  const url = authorizeUrl(clientId, { scope: 'tips.read', state: 'here' });
  await visitor.get(url);
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  assert.equal((await http.inject({ method: 'HEAD', url, headers: { cookie } })).statusCode, 200);
  assert.equal(await countOf(runtime, 'grants'), 0);
  assert.equal(await countOf(runtime, 'authorization_codes'), 0);

  // Whatever else the form is made to say, what the page showed counts.
  const answer = await decide(visitor, url, 'approve', { scope: 'tips.create', redirect_uri: 'https://evil.example/' });
  assert.equal(answer.statusCode, 303);
  const { code, ...rest } = answerIn(answer.headers.location);
  assert.match(String(code), /^njc_\w{43}$/);
  assert.deepEqual(rest, { state: 'here', iss: runtime.config.authUrl });
  assert.ok(String(answer.headers.location).startsWith(`${redirectUri}?code=`));
  assert.equal(await countOf(runtime, 'authorization_codes'), 1);
  assert.equal((await runtime.grants.connections(creator.creatorId))[0]?.scope, 'tips.read');
});

test('security 5: no approval without this session’s CSRF token, our origin and this session’s page', async (t) => {
  const app = await setup(t);
  const { visitor, clientId, runtime } = app;
  const page = await visitor.get(authorizeUrl(clientId));
  const request = ticketIn(page.body);
  const other = await signedInVisitor(app, (await makeCreator(runtime)).creatorId);
  const foreign = ticketIn((await other.get(authorizeUrl(clientId))).body);
  const altered = (request.startsWith('A') ? 'B' : 'A') + request.slice(1);
  const fields = { request, decision: 'approve' };
  const refused = {
    'no token': await visitor.post('/oauth/authorize', { ...fields, csrf: '' }),
    'another origin': await visitor.post('/oauth/authorize', fields, { origin: 'https://evil.example' }),
    'no origin': await visitor.post('/oauth/authorize', fields, { origin: undefined }),
    'another session’s page': await visitor.post('/oauth/authorize', { ...fields, request: foreign }),
    'a page of the same person’s older session': await (await signedInVisitor(app, app.creator.creatorId)).post(
      '/oauth/authorize',
      fields,
    ),
    'an altered page': await visitor.post('/oauth/authorize', { ...fields, request: altered }),
    'no page': await visitor.post('/oauth/authorize', { ...fields, request: '' }),
    'a short page': await visitor.post('/oauth/authorize', { ...fields, request: 'AAAA' }),
  };
  for (const [what, answer] of Object.entries(refused)) {
    assert.equal(answer.statusCode, 403, what);
    assert.equal(answer.headers.location, undefined, what);
  }
  assert.equal((await visitor.post('/oauth/authorize', { request })).statusCode, 400);
  assert.equal(await countOf(runtime, 'grants'), 0);
  assert.equal((await visitor.post('/oauth/authorize', fields)).statusCode, 303);
});

test('security 5: a page that is no longer true is shown again, or refused, instead of being acted on', async (t) => {
  const { visitor, clientId, owner, runtime, clock } = await setup(t);
  const shown = async () => ({
    request: ticketIn((await visitor.get(authorizeUrl(clientId))).body),
    decision: 'approve',
  });
  const edit = (name: string, uri: string) =>
    runtime.apps.edit(owner.creatorId, clientId, { name, redirectUris: [uri] });

  let page = await shown();
  await edit('Another name', redirectUri);
  const renamed = await visitor.post('/oauth/authorize', page);
  assert.match(String(renamed.headers.location), /^\/oauth\/authorize\?client_id=app_/);
  assert.match((await visitor.get(String(renamed.headers.location))).body, /Another name/);

  page = await shown();
  clock.advance(3_600_001);
  assert.match(String((await visitor.post('/oauth/authorize', page)).headers.location), /^\/oauth\/authorize\?/);

  page = await shown();
  await runtime.grants.suspend('app', clientId, clock());
  const suspended = await visitor.post('/oauth/authorize', page);
  assert.equal(answerIn(suspended.headers.location).error, 'unauthorized_client');
  await runtime.grants.suspend('app', clientId, null);

  page = await shown();
  await edit('Another name', 'https://app.example/moved');
  const moved = await visitor.post('/oauth/authorize', page);
  assert.equal(moved.statusCode, 400);
  assert.equal(moved.headers.location, undefined);
  assert.equal(await countOf(runtime, 'grants'), 0);
});

test('denying answers access_denied and changes nothing; a query of the redirect URI is kept', async (t) => {
  const { visitor, clientId, runtime } = await setup(t);
  const url = authorizeUrl(clientId, { redirect_uri: 'https://app.example/second?from=namjai' });
  const answer = await decide(visitor, url, 'deny');
  const { error_description, ...rest } = answerIn(answer.headers.location);
  assert.deepEqual(rest, { from: 'namjai', error: 'access_denied', state: 's1', iss: runtime.config.authUrl });
  assert.ok(error_description);
  assert.equal(await countOf(runtime, 'grants'), 0);
});

test('approving again replaces the scopes of the same grant, and says so before', async (t) => {
  const { visitor, clientId, creator, runtime } = await setup(t);
  await runtime.grants.addByOperator(creator.creatorId, clientId, 'tips.read tips.create');
  assert.match((await visitor.get(authorizeUrl(clientId))).body, /already connected/);
  await decide(visitor, authorizeUrl(clientId, { scope: 'alerts.create' }), 'approve');
  const connections = await runtime.grants.connections(creator.creatorId);
  assert.deepEqual(
    connections.map(({ scope, by_operator }) => ({ scope, by_operator })),
    [{ scope: 'alerts.create', by_operator: 0 }],
  );
});

test('security 6 and 26: the consent page is unframeable, unstored, and shows names as text', async (t) => {
  const name = '<script>alert(1)</script>';
  const { visitor, clientId, owner } = await setup(t, { name });
  const page = await visitor.get(authorizeUrl(clientId, { scope: 'tips.read events.subscribe' }));
  assert.equal(page.headers['cache-control'], 'no-store');
  const policy = String(page.headers['content-security-policy']);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.match(policy, /form-action 'self' https:(;|$)/);
  assert.ok(!page.body.includes(name));
  assert.match(page.body, /Connect &lt;script&gt;alert\(1\)&lt;\/script&gt;\?|Connect &#60;script&#62;/);
  for (const shown of [`@${owner.username}`, 'app.example', 'See your tips and totals', 'Hear about tips'])
    assert.ok(page.body.includes(shown), shown);
  assert.ok(!page.body.includes('Record tips for you'));
  const thai = await visitor.get(authorizeUrl(clientId, { scope: 'tips.read' }), { 'accept-language': 'th' });
  assert.match(thai.body, /ดูทิปและยอดรวมของคุณ/);
});

test('security 7: sign-in on the way comes back to the very request, and never leads elsewhere', async (t) => {
  const app = await setup(t);
  const visitor = createVisitor(app);
  const url = authorizeUrl(app.clientId, { scope: 'tips.read', state: 'a&b\nน้ำใจ' });
  const answer = await visitor.get(url);
  assert.equal(answer.statusCode, 303);
  const login = new URL(String(answer.headers.location), 'http://localhost:8080');
  assert.equal(login.pathname, '/login');
  assert.equal(login.searchParams.get('return_to'), url);

  await app.runtime.accounts.add({ username: 'mali', password: 'correct horse' });
  await visitor.get(login.pathname + login.search);
  const signedIn = await visitor.post(login.pathname + login.search, { username: 'mali', password: 'correct horse' });
  assert.equal(signedIn.headers.location, url);
  const approved = await decide(visitor, url, 'approve');
  assert.equal(answerIn(approved.headers.location).state, 'a&b\nน้ำใจ');

  // “Use another account” signs out and comes back, to us only.
  const elsewhere = await visitor.post(`/logout?return_to=${encodeURIComponent('//evil.example')}`);
  assert.equal(elsewhere.headers.location, '/login');
  await visitor.get('/login');
  const again = await visitor.post(`/logout?return_to=${encodeURIComponent(url)}`);
  assert.equal(again.headers.location, `/login?return_to=${encodeURIComponent(url)}`);
});

test('a suspended app is turned away by redirect, a deleted one by a page', async (t) => {
  const { visitor, clientId, owner, runtime, clock } = await setup(t);
  await runtime.grants.suspend('app', clientId, clock());
  const answer = await visitor.get(authorizeUrl(clientId));
  assert.equal(answerIn(answer.headers.location).error, 'unauthorized_client');
  await runtime.grants.deleteApp(owner.creatorId, clientId);
  assert.equal((await visitor.get(authorizeUrl(clientId))).statusCode, 400);
});
