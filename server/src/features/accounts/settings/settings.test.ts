import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../../test/build-app.ts';
import { makeCreator } from '../../../../test/factories.ts';
import { createVisitor, signedInVisitor } from '../../../../test/visitor.ts';

const password = 'correct horse battery';
const minute = 60_000;

test('security 27: a new password ends the other sessions and keeps this one', async (t) => {
  const app = await buildApp(t);
  const { id } = await app.runtime.accounts.add({ username: 'mali', password });
  const [here, there] = [await signedInVisitor(app, id), await signedInVisitor(app, id)];
  const short = await here.post('/account/password', { password: 'short' });
  assert.equal(short.statusCode, 422);
  assert.match(short.body, /id="field-password-error">Use 10 to 200/);
  assert.equal((await there.get('/account')).statusCode, 200);
  const changed = await here.post('/account/password', { password: 'another good one' });
  assert.equal(changed.headers.location, '/account');
  assert.match((await here.get('/account')).body, /Your password is changed/);
  assert.equal((await there.get('/account')).statusCode, 303);
  const visitor = createVisitor(app);
  await visitor.get('/login');
  assert.equal((await visitor.post('/login', { username: 'mali', password })).statusCode, 401);
  assert.equal((await visitor.post('/login', { username: 'mali', password: 'another good one' })).statusCode, 303);
});

test('security 27: a password set from the command line ends every session', async (t) => {
  const app = await buildApp(t);
  const { id } = await app.runtime.accounts.add({ username: 'mali', password });
  const visitor = await signedInVisitor(app, id);
  const { main } = await import('../../../cli/main.ts');
  const ignored = { write: () => {} };
  const args = ['creator', 'password', 'mali', '--password', 'from the operator'];
  assert.equal(await main(args, { env: app.env, stdout: ignored, stderr: ignored }), 0);
  assert.equal((await visitor.get('/account')).statusCode, 303);
  await visitor.get('/login');
  assert.equal((await visitor.post('/login', { username: 'mali', password: 'from the operator' })).statusCode, 303);
});

test('security 30: what makes a secret needs a sign-in within ten minutes; the rest does not', async (t) => {
  const app = await buildApp(t);
  const { id } = await app.runtime.accounts.add({ username: 'mali', password });
  const visitor = await signedInVisitor(app, id);
  app.clock.advance(10 * minute + 1);
  const page = await visitor.get('/account');
  assert.match(page.body, /Sign in once more/);
  assert.doesNotMatch(page.body, /action="\/account\/(password|recovery-codes|passkeys")/);
  const referer = { referer: `${app.runtime.config.authUrl}/account` };
  for (const action of ['password', 'recovery-codes', 'passkeys', 'passkeys/options', 'passkeys/psk_x/remove']) {
    const answer = await visitor.post(`/account/${action}`, { password: 'another good one' }, referer);
    assert.equal(answer.headers.location, '/login?return_to=%2Faccount', action);
  }
  assert.equal(await app.runtime.recovery.left(id), 0);
  assert.equal((await visitor.post('/account/sessions/end-others')).headers.location, '/account');
  const again = await visitor.get('/login?return_to=%2Faccount');
  assert.match(again.body, /press the button once more/);
  assert.match(again.body, /sign in once more[\s\S]*value="mali"/);
  const signedIn = await visitor.post('/login?return_to=%2Faccount', { username: 'mali', password });
  assert.equal(signedIn.headers.location, '/account');
  assert.match((await visitor.get('/account')).body, /action="\/account\/recovery-codes"/);
  assert.equal((await app.runtime.sessions.list(id)).length, 1, 'the old session is replaced');
});

test('sessions are listed and ended one by one or all others, and never another creator’s', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const stranger = await makeCreator(app.runtime);
  const [here, second, third] = [
    await signedInVisitor(app, creatorId),
    await signedInVisitor(app, creatorId),
    await signedInVisitor(app, creatorId),
  ];
  const theirs = await signedInVisitor(app, stranger.creatorId);
  const [theirSession] = await app.runtime.sessions.list(stranger.creatorId);
  const page = await here.get('/account');
  const ids = [...page.body.matchAll(/sessions\/(ses_\w+)\/end"/g)].map((match) => match[1]!);
  assert.equal(ids.length, 2);
  assert.equal((await here.post(`/account/sessions/${theirSession!.id}/end`)).statusCode, 404);
  assert.equal((await theirs.get('/account')).statusCode, 200);
  await here.post(`/account/sessions/${ids[0]}/end`);
  const left = [await second.get('/account'), await third.get('/account')].map(({ statusCode }) => statusCode);
  assert.deepEqual(left.sort(), [200, 303]);
  await here.post('/account/sessions/end-others');
  assert.equal((await second.get('/account')).statusCode, 303);
  assert.equal((await third.get('/account')).statusCode, 303);
  assert.equal((await here.get('/account')).statusCode, 200);
});

test('an account has a hundred sessions at most: another sign-in ends the one seen longest ago', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const other = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
  const visitors = [];
  for (let i = 0; i < 101; i++) {
    visitors.push(await signedInVisitor(app, creatorId));
    app.clock.advance(1000);
  }
  const statuses = await Promise.all(visitors.map(async (visitor) => (await visitor.get('/account')).statusCode));
  assert.deepEqual(statuses, [303, ...Array.from({ length: 100 }, () => 200)]);
  assert.equal((await other.get('/account')).statusCode, 200);
});

test('a session ends after thirty days without a visit, and after half a year in any case', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const [idle, busy] = [await signedInVisitor(app, creatorId), await signedInVisitor(app, creatorId)];
  const day = 24 * 60 * minute;
  for (let days = 0; days < 29; days++) {
    app.clock.advance(day);
    assert.equal((await busy.get('/account')).statusCode, 200);
  }
  app.clock.advance(day);
  assert.equal((await idle.get('/account')).statusCode, 303);
  for (let days = 30; days < 179; days++) {
    app.clock.advance(day);
    assert.equal((await busy.get('/account')).statusCode, 200);
  }
  app.clock.advance(day);
  assert.equal((await busy.get('/account')).statusCode, 303);
  await app.runtime.sessions.prune();
  const rows = await app.runtime.db.all('SELECT id FROM sessions');
  assert.deepEqual(rows, []);
});

test('what a form shows once has no link that loses it, and its address opened again leads to the page above', async (t) => {
  const app = await buildApp(t);
  const { id } = await app.runtime.accounts.add({ username: 'mali', password });
  const owner = await signedInVisitor(app, id);
  assert.match((await owner.get('/account')).body, /hreflang="th"/);
  assert.doesNotMatch((await owner.post('/account/recovery-codes')).body, /hreflang=/);
  assert.match((await owner.post('/account/password', { password: 'short' })).body, /hreflang="th"/);
  const again = await owner.get('/account/recovery-codes?lang=th');
  assert.equal(again.statusCode, 303);
  assert.equal(again.headers.location, '/account?lang=th');
  assert.equal((await owner.get('/developers/apps')).headers.location, '/developers');
  const program = await app.http.inject({ url: '/account/recovery-codes', headers: { accept: 'application/json' } });
  assert.equal(program.statusCode, 405);
});

test('a recovery code sets a new password once, ends every session and signs in', async (t) => {
  const app = await buildApp(t);
  const { id } = await app.runtime.accounts.add({ username: 'mali', password });
  const owner = await signedInVisitor(app, id);
  const shown = await owner.post('/account/recovery-codes');
  const codes = shown.body.match(/\b[0-9a-z]{4}(-[0-9a-z]{4}){3}\b/g)!;
  assert.equal(new Set(codes).size, 10);
  assert.match((await owner.get('/account')).body, /Unused codes: 10/);

  const lost = createVisitor(app, { address: '192.0.2.1' });
  await lost.get('/login/recovery');
  const use = (code: string, fresh = 'a new password') =>
    lost.post('/login/recovery', { username: 'mali', code, password: fresh });
  assert.equal((await use(codes[0]!, 'short')).statusCode, 422);
  assert.equal((await use('0000-0000-0000-0000')).statusCode, 401);
  const typed = codes[0]!.toUpperCase().replaceAll('-', ' ').replaceAll('0', 'O').replaceAll('1', 'l');
  assert.equal((await use(typed)).headers.location, '/dashboard');
  assert.match((await lost.get('/account')).body, /Unused codes: 9/);
  assert.equal((await owner.get('/account')).statusCode, 303);
  assert.equal((await use(codes[0]!)).statusCode, 401, 'used before');

  await t.test('new codes replace the old ones', async () => {
    await lost.get('/account');
    await lost.post('/account/recovery-codes');
    const other = createVisitor(app, { address: '192.0.2.2' });
    await other.get('/login/recovery');
    const old = await other.post('/login/recovery', { username: 'mali', code: codes[1]!, password });
    assert.equal(old.statusCode, 401);
  });

  await t.test('uses of one code at once: one wins', async () => {
    const [code] = await app.runtime.recovery.renew(id);
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        app.runtime.recovery.signIn('mali', code!, 'yet another one', { address: `192.0.2.${i}`, userAgent: '' }),
      ),
    );
    assert.equal(results.filter(({ outcome }) => outcome === 'ok').length, 1);
  });

  await t.test('security 28: guessing codes is slowed down like guessing passwords', async () => {
    const guesser = createVisitor(app, { address: '192.0.2.99' });
    await guesser.get('/login/recovery');
    const statuses = [];
    for (let i = 0; i < 14; i++)
      statuses.push(
        (await guesser.post('/login/recovery', { username: 'mali', code: 'x', password: 'a new password' })).statusCode,
      );
    assert.deepEqual([statuses.slice(0, 13).every((status) => status === 401), statuses[13]], [true, 429]);
  });
});

test('security 5: every settings form is refused without this session’s CSRF token', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creatorId);
  await signedInVisitor(app, creatorId);
  const actions = [
    '/account/password',
    '/account/recovery-codes',
    '/account/passkeys',
    '/account/passkeys/options',
    '/account/sessions/end-others',
    '/login/recovery',
    '/login/passkey',
    '/login/passkey/options',
    '/dashboard/test-alert',
  ];
  for (const action of actions) {
    assert.equal((await visitor.post(action, { csrf: 'x' })).statusCode, 403, action);
    assert.equal((await visitor.post(action, {}, { origin: 'https://evil.example' })).statusCode, 403, action);
  }
  assert.equal((await app.runtime.sessions.list(creatorId)).length, 2);
});
