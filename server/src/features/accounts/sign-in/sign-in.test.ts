import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../../test/build-app.ts';
import { makeCreator } from '../../../../test/factories.ts';
import { createVisitor, signedInVisitor } from '../../../../test/visitor.ts';

const password = 'correct horse battery';

test('someone signs up, is signed in, signs out and in again', async (t) => {
  const app = await buildApp(t);
  const visitor = createVisitor(app);
  await visitor.get('/signup?return_to=%2Fdevelopers');
  const joined = await visitor.post('/signup?return_to=%2Fdevelopers', {
    username: 'mali_99',
    display_name: 'มะลิ',
    password,
  });
  assert.equal(joined.statusCode, 303, joined.body);
  assert.equal(joined.headers.location, '/developers');
  assert.match((await visitor.get('/logout')).body, /มะลิ/);
  assert.equal((await visitor.post('/logout')).headers.location, '/login');
  assert.match((await visitor.get('/login')).body, /You are signed out/);
  const wrong = await visitor.post('/login', { username: 'mali_99', password: 'correct horse' });
  assert.equal(wrong.statusCode, 401);
  assert.match(wrong.body, /value="mali_99"[\s\S]*not right/);
  assert.doesNotMatch(wrong.body, /correct horse/);
  const back = await visitor.post('/login', { username: ' Mali_99', password });
  assert.equal(back.headers.location, '/dashboard');
  assert.equal((await visitor.get('/logout')).statusCode, 200);
});

test('no page is as long as what a program sent in a field', async (t) => {
  const visitor = createVisitor(await buildApp(t));
  await visitor.get('/login');
  const wrong = await visitor.post('/login', { username: '"'.repeat(20_000), password });
  assert.equal(wrong.statusCode, 401);
  assert.ok(wrong.body.length < 20_000, `${wrong.body.length}`);
});

test('sign-up names what is wrong beside its field and keeps what was typed', async (t) => {
  const app = await buildApp(t);
  await makeCreator(app.runtime, 'taken');
  const visitor = createVisitor(app, { language: 'th' });
  await visitor.get('/signup');
  const cases = [
    [{ username: 'Ma-li', password }, 'field-username-error', 'ยาว 3 ถึง 30 ตัว<'],
    [{ username: 'ab', password }, 'field-username-error', 'ยาว 3 ถึง 30 ตัว<'],
    [{ username: 'taken', password }, 'field-username-error', 'มีผู้ใช้ชื่อนี้แล้ว'],
    [{ username: 'mali', password: '123456789' }, 'field-password-error', '10 ถึง 200'],
    [{ username: 'mali', password: 'x'.repeat(201) }, 'field-password-error', '10 ถึง 200'],
    [{ username: 'mali', password, display_name: 'x'.repeat(41) }, 'field-display_name-error', '40'],
    [{ username: 'mali', password, display_name: 'a\u202eb' }, 'field-display_name-error', '40'],
  ] as const;
  for (const [fields, id, words] of cases) {
    const answer = await visitor.post('/signup', { display_name: 'คนเดิม', ...fields });
    assert.equal(answer.statusCode, 422);
    assert.match(answer.body, new RegExp(`id="${id}">[^<]*${words}`), JSON.stringify(fields));
    assert.ok(answer.body.includes(`value="${fields.username}"`));
    app.clock.advance(61_000);
  }
  const all = await visitor.post('/signup', { username: 'ab', password: 'short', display_name: 'x'.repeat(41) });
  for (const name of ['username', 'password', 'display_name'])
    assert.ok(all.body.includes(`id="field-${name}-error"`), `${name} is named together with the others`);
});

test('closed sign-up says so and makes nobody', async (t) => {
  const app = await buildApp(t, { SIGNUP: 'closed' });
  const visitor = createVisitor(app);
  assert.match((await visitor.get('/signup')).body, /Sign-up is closed/);
  assert.doesNotMatch((await visitor.get('/login')).body, /Create an account/);
  assert.equal((await visitor.post('/signup', { username: 'mali', password })).statusCode, 403);
  await assert.rejects(app.runtime.accounts.byUsername('mali'));
});

test('security 5: a page POST without this session’s CSRF token or from another Origin changes nothing', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creatorId);
  const other = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
  const theirs = /name="csrf" value="([^"]+)"/.exec((await other.get('/logout')).body)![1]!;
  const refused = [
    await visitor.post('/logout', { csrf: '' }),
    await visitor.post('/logout', { csrf: theirs }),
    await visitor.post('/logout', {}, { origin: 'https://evil.example' }),
    await visitor.post('/logout', {}, { origin: 'null' }),
    await visitor.post('/logout', {}, { origin: undefined }),
    await createVisitor(app).post('/login', { username: 'x', password }),
    await createVisitor(app).post('/signup', { username: 'forged', password }),
  ];
  for (const answer of refused) {
    assert.equal(answer.statusCode, 403);
    assert.match(answer.headers['content-type']!.toString(), /text\/html/);
  }
  assert.equal((await visitor.get('/logout')).statusCode, 200);
  await assert.rejects(app.runtime.accounts.byUsername('forged'));
});

test('security 7: the return address never leaves the origin', async (t) => {
  const app = await buildApp(t);
  await app.runtime.accounts.add({ username: 'mali', password });
  const bad = [
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    'https://evil.example/',
    'javascript:alert(1)',
    '/\t/evil.example',
    '/.//evil.example',
    '/..//evil.example',
    '/%2e//evil.example',
    'evil.example',
    '@evil.example',
    '',
  ];
  for (const address of bad) {
    const visitor = createVisitor(app);
    const query = `?return_to=${encodeURIComponent(address)}`;
    await visitor.get(`/login${query}`);
    const answer = await visitor.post(`/login${query}`, { username: 'mali', password });
    assert.equal(answer.headers.location, '/dashboard', address);
  }
  const visitor = createVisitor(app);
  const target = '/oauth/authorize?client_id=app_1&state=a%26b';
  await visitor.get('/login');
  const answer = await visitor.post(`/login?return_to=${encodeURIComponent(target)}`, { username: 'mali', password });
  assert.equal(answer.headers.location, target);
});

test('security 27: cookies by the setting, a new id at sign-in, sign-out ends a replayed cookie', async (t) => {
  const app = await buildApp(t);
  await app.runtime.accounts.add({ username: 'mali', password });
  const visitor = createVisitor(app);
  const first = await visitor.get('/login');
  const cookieOf = (answer: typeof first) =>
    [answer.headers['set-cookie']].flat().find((cookie) => /^(__Host-)?namjai=/.test(String(cookie)));
  assert.match(String(cookieOf(first)), /^namjai=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
  const before = visitor.cookies.get('namjai');
  const signedIn = await visitor.post('/login', { username: 'mali', password });
  assert.match(String(cookieOf(signedIn)), /^namjai=[\w-]{43}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/);
  const token = visitor.cookies.get('namjai')!;
  assert.notEqual(token, before);
  await visitor.get('/logout');
  await visitor.post('/logout');
  const replay = await app.http.inject({ url: '/logout', headers: { cookie: `namjai=${token}` } });
  assert.equal(replay.headers.location, '/login?return_to=%2Flogout');
});

test('security 27: with an https AUTH_URL the cookie is __Host- and Secure, whatever the request says', async (t) => {
  const app = await buildApp(t, {
    AUTH_URL: 'https://tips.example',
    BASE_URL: 'https://api.tips.example',
    SECRET_KEY: 'k'.repeat(40),
    NODE_ENV: 'production',
  });
  const answer = await app.http.inject({ url: '/login', headers: { host: 'api.tips.example' } });
  assert.match(
    String(answer.headers['set-cookie']),
    /^__Host-namjai=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
  );
  assert.equal(answer.headers['strict-transport-security'], 'max-age=31536000');
  const visitor = createVisitor(app);
  await visitor.get('/login');
  const foreign = await visitor.post('/login', { username: 'x', password }, { origin: 'https://api.tips.example' });
  assert.equal(foreign.statusCode, 403);
  assert.match(foreign.body, /https:\/\/tips\.example/);
});

test('a suspended creator is told so with the right password only, and an open session stops', async (t) => {
  const app = await buildApp(t);
  const { accounts, grants } = app.runtime;
  const { id } = await accounts.add({ username: 'mali', password });
  const visitor = await signedInVisitor(app, id);
  await grants.suspend('creator', id, 1);
  assert.equal((await visitor.get('/logout')).statusCode, 303);
  await visitor.get('/login');
  assert.equal((await visitor.post('/login', { username: 'mali', password })).statusCode, 403);
  assert.equal((await visitor.post('/login', { username: 'mali', password: 'wrong' })).statusCode, 401);
  await grants.suspend('creator', id, null);
  assert.equal((await visitor.post('/login', { username: 'mali', password })).statusCode, 303);
});

test('unknown pages are pages to a browser and envelopes to a program', async (t) => {
  const { http } = await buildApp(t);
  const page = await http.inject({ url: '/nowhere', headers: { accept: 'text/html', 'accept-language': 'th' } });
  assert.equal(page.statusCode, 404);
  assert.match(page.body, /ไม่พบหน้านี้/);
  assert.match(String(page.headers['content-security-policy']), /default-src 'none'/);
  for (const url of ['/nowhere', '/v1/nowhere'])
    assert.equal(
      (await http.inject({ url, headers: url === '/nowhere' ? {} : { accept: 'text/html' } })).json().error.code,
      'not_found',
    );
});
